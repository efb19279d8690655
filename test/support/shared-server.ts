import { type SourceServer, startSource } from './extractions.ts';
import { newCustomer } from './requests.ts';
import { startSamplingServer } from './reviews.ts';
import { startServer, type RunningServer } from './server.ts';

/** Servers that many test files ask in turn: a start takes longer than most of what is asked. */

export type SharedServer = Pick<RunningServer, 'url' | 'dataDir' | 'secretKey' | 'publicKey' | 'stdout' | 'stderr'>;
/** `release` and `targets` of it are shared as well: words of searches that are held differ between files. */
export type SharedSource = Pick<SourceServer, 'url' | 'targets' | 'release'>;

const running = new Map<string, Promise<RunningServer>>();
let source: Promise<SourceServer> | null = null;

/**
 * A server of this transport, which may reach this machine and extract from a source on it, and a customer of its own on it. It may
 * have answered other tests of this process before and is left running: for tests that look at nothing that is the whole server's.
 */
export async function sharedServer(transport: 'uws' | 'node' = 'uws'): Promise<SharedServer> {
  return withCustomer(await runningServer(transport, () => start(transport)));
}

/** The same for a server whose policy copies every decision to the shadow review queue. */
export async function sharedSamplingServer(): Promise<SharedServer> {
  return withCustomer(await runningServer('sampling', () => startSamplingServer()));
}

async function withCustomer(server: RunningServer): Promise<SharedServer> {
  const { url, dataDir } = server;
  const { secretKey, publicKey } = await newCustomer(url, dataDir);
  return { url, dataDir, secretKey, publicKey, stdout: () => server.stdout(), stderr: () => server.stderr() };
}

/** The source from which shared servers extract books; `targets` are those that were asked for from now on. */
export async function sharedSource(): Promise<SharedSource> {
  source ??= startSource();
  const shared = await source;
  const from = shared.targets.length;
  return {
    url: shared.url,
    get targets() {
      return shared.targets.slice(from);
    },
    release: (word) => shared.release(word),
  };
}

function runningServer(name: string, begin: () => Promise<RunningServer>): Promise<RunningServer> {
  const known = running.get(name);
  if (known !== undefined) return known;
  const started = begin();
  running.set(name, started);
  // One that did not come up is no reason for the next file to fail.
  started.catch(() => running.delete(name));
  return started;
}

async function start(transport: string): Promise<RunningServer> {
  const { url } = await sharedSource();
  return await startServer({
    env: {
      GATEHOUSE_TRANSPORT: transport,
      GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8',
      GATEHOUSE_CONNECTOR_BASE_OPENLIBRARY: url,
      GATEHOUSE_EXTRACT_HOST_GAP_MS: '0',
    },
  });
}
