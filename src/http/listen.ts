import { type AddressInfo, createServer } from 'node:net';
import { type HttpThreadsWanted, listenInThreads } from './http-threads.ts';
import { loadUws } from './load-uws.ts';
import { listenNode } from './node.ts';
import type { Transport, TransportOptions } from './transport.ts';
import { listenUws } from './uws.ts';

export type TransportChoice = 'auto' | 'uws' | 'node';

export type Listening =
  | { readonly kind: 'listening'; readonly transport: Transport; readonly detail: string }
  | { readonly kind: 'unavailable'; readonly detail: string }
  /** The address cannot be bound. `code` is the system's error code, for example EADDRINUSE; '' if it could not be determined. */
  | { readonly kind: 'refused'; readonly code: string };

/**
 * Serves with uWebSockets.js if available, else with `node:http`. `detail` explains why `node:http` was chosen. With `threads`, threads of
 * that number serve, with uWebSockets.js only. Rejects only for invalid TLS files.
 */
export async function listen(
  choice: TransportChoice,
  options: TransportOptions,
  threads: HttpThreadsWanted | null = null,
): Promise<Listening> {
  if (choice === 'node') return byNode(options, 'chosen by setting');
  const loaded = loadUws(options.dataDir);
  if (loaded.kind === 'loaded') {
    const transport = threads === null ? await listenUws(loaded.uws, options) : await listenAlone(options, threads);
    if (transport === null) return { kind: 'refused', code: (await tryToBind(options)).code };
    return { kind: 'listening', transport, detail: '' };
  }
  return choice === 'uws' ? loaded : byNode(options, loaded.detail);
}

/**
 * Null if another process has the address: several threads can listen on a port only in a way that would share it with that process too.
 * For the same reason the library shares no port that it chooses itself.
 */
async function listenAlone(options: TransportOptions, threads: HttpThreadsWanted): Promise<Transport | null> {
  const { code, port } = await tryToBind(options);
  return code === '' ? listenInThreads({ ...options, port }, threads) : null;
}

async function byNode(options: TransportOptions, detail: string): Promise<Listening> {
  try {
    return { kind: 'listening', transport: await listenNode(options), detail };
  } catch (error) {
    const code = codeOf(error);
    if (code === '' || !isSystemCode(code)) throw error;
    return { kind: 'refused', code };
  }
}

/**
 * Binds the address with Node.js for a moment. Returns the port, and the system's error code if that fails, which uWebSockets.js does not
 * report; '' if it does not.
 */
function tryToBind({ host, port }: TransportOptions): Promise<{ readonly code: string; readonly port: number }> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error) => resolve({ code: codeOf(error), port }));
    probe.listen({ host, port, exclusive: true }, () => {
      const bound = (probe.address() as AddressInfo).port;
      probe.close(() => resolve({ code: '', port: bound }));
    });
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Accepts `EADDRINUSE` and `EAI_AGAIN`, but not `ERR_INVALID_ARG_TYPE`. */
function isSystemCode(code: string): boolean {
  return /^E(?!RR_)[A-Z0-9_]+$/.test(code);
}
