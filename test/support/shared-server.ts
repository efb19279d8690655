import { type SourceServer, startSource } from './extractions.ts';
import { newCustomer } from './requests.ts';
import { startSamplingServer } from './reviews.ts';
import { startServer, type RunningServer } from './server.ts';

/** Servers that are shared by many test files: a start takes longer than most tests. */

export type SharedServer = Pick<RunningServer, 'url' | 'dataDir' | 'secretKey' | 'publicKey' | 'stdout' | 'stderr'>;
/** `release` and `targets` are shared as well, so different files must use different words for held searches. */
export type SharedSource = Pick<SourceServer, 'url' | 'targets' | 'release'>;

const running = new Map<string, Promise<RunningServer>>();
let source: Promise<SourceServer> | null = null;

/**
 * Returns a running server of this transport, which may access this machine and extract from a source on it, with a new customer. Other
 * tests of this process may have used it before, and it keeps running: suitable for tests that do not check the state of the whole server.
 */
export async function sharedServer(transport: 'uws' | 'node' = 'uws'): Promise<SharedServer> {
  return withCustomer(await runningServer(transport, () => start(transport)));
}

/** Like `sharedServer`, with a policy that copies every decision to the shadow review queue. */
export async function sharedSamplingServer(): Promise<SharedServer> {
  return withCustomer(await runningServer('sampling', () => startSamplingServer()));
}

async function withCustomer(server: RunningServer): Promise<SharedServer> {
  const { url, dataDir } = server;
  const { secretKey, publicKey } = await newCustomer(url, dataDir);
  return { url, dataDir, secretKey, publicKey, stdout: () => server.stdout(), stderr: () => server.stderr() };
}

/** The source that shared servers extract books from; `targets` contains the requests from now on. */
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
  // A failed start is not cached, so that the next file tries again.
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
