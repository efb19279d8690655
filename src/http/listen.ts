import { createServer } from 'node:net';
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
 * Serves with uWebSockets.js if available, else with `node:http`. `detail` explains why `node:http` was chosen. Rejects only for invalid
 * TLS files.
 */
export async function listen(choice: TransportChoice, options: TransportOptions): Promise<Listening> {
  if (choice === 'node') return byNode(options, 'chosen by setting');
  const loaded = loadUws(options.dataDir);
  if (loaded.kind === 'loaded') {
    const transport = await listenUws(loaded.uws, options);
    if (transport === null) return { kind: 'refused', code: await refusalCode(options) };
    return { kind: 'listening', transport, detail: '' };
  }
  return choice === 'uws' ? loaded : byNode(options, loaded.detail);
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

/** Binds the address again with Node.js, because uWebSockets.js does not report why it failed. */
function refusalCode({ host, port }: TransportOptions): Promise<string> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error) => resolve(codeOf(error)));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve('')));
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Accepts `EADDRINUSE` and `EAI_AGAIN`, but not `ERR_INVALID_ARG_TYPE`. */
function isSystemCode(code: string): boolean {
  return /^E(?!RR_)[A-Z0-9_]+$/.test(code);
}
