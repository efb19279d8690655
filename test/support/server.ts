import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { geoFolderOfTests } from './geo-databases.ts';

/** The built server in a separate process, as an operator runs it. Requires a build, as `npm test` does. */
export interface ServerOptions {
  /**
   * Settings of this server; none are inherited from the test's environment. By default the velocity store is small and the location
   * database is that of `geoFolderOfTests`, so that the server starts quickly.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** A folder that outlives the server. By default a new folder is created, and `stop` removes it. */
  readonly dataDir?: string;
  /** Options of the command `serve`. */
  readonly words?: readonly string[];
  /** `dist/app/main.js` of another installation. */
  readonly main?: string;
  /** Options of Node.js. */
  readonly nodeFlags?: readonly string[];
}

/** Settings for a server with the installed location databases. */
export const INSTALLED_LOCATIONS = { GATEHOUSE_GEOIP_DIR: '', GATEHOUSE_GEOIP_PACKAGES: '1' } as const;

export interface RunningServer {
  readonly url: string;
  readonly dataDir: string;
  /** Keys of the demo customer; `''` unless this was the first start on its folder. */
  readonly secretKey: string;
  readonly publicKey: string;
  readonly pid: number;
  /** Everything written so far: stdout has the log lines, stderr the greeting. */
  stdout(): string;
  stderr(): string;
  /**
   * Stops the server and returns its exit code, or null when the signal terminated it. Idempotent. The default signal is SIGTERM for a
   * server whose folder outlives it, otherwise SIGKILL, because nothing reads what a graceful shutdown would save.
   */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

const MAIN = fileURLToPath(new URL('../../dist/app/main.js', import.meta.url));
/** Choice: a start takes less than 1 s, but longer on a machine that builds or tests at the same time. */
const START_MS = 90_000;
const STOP_MS = 15_000;

/** Clean-up functions for a test process that exits early or is terminated. */
const atEnd = new Set<() => void>();
function leaveNothing(): void {
  for (const leave of atEnd) leave();
  atEnd.clear();
}
process.once('exit', leaveNothing);
process.once('SIGTERM', () => {
  leaveNothing();
  process.kill(process.pid, 'SIGTERM');
});

/**
 * The environment of a server on a virtual clock whose velocity store hashes alike in every run, because the master key is fixed. With a
 * random key the store sometimes takes two members of a set for one (1 in 32,767), which fails a test now and then.
 */
export const REPEATABLE_ENV = {
  GATEHOUSE_SIMULATED_TIME: '1',
  GATEHOUSE_MASTER_KEY: '74657374'.repeat(8),
} as const;

/**
 * Starts the built server on a free port. Throws with its output when it does not start. With `npm run test:cluster` the tests get
 * several nodes in its place.
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  if (NODES_OF_TESTS === 0) return startNode(options);
  const { startBalancedNodes } = await import('./balanced-nodes.ts');
  return startBalancedNodes(options, NODES_OF_TESTS);
}

/** Number of nodes that `startServer` starts; 0 for a server that works alone. */
export const NODES_OF_TESTS = Number(process.env['GATEHOUSE_TEST_NODES'] ?? 0);

/** Number of cells of each server that sets none itself, for a run of all tests with several. */
export const CELLS_OF_TESTS = Number(process.env['GATEHOUSE_TEST_CELLS'] ?? 1);

/** Number of servers behind the address that `startServer` returns. Requests go to them in turn. */
export const SERVERS_IN_TURN = Math.max(1, NODES_OF_TESTS);

/**
 * V8 collects the heap of each thread that grows quiet, up to three times within seconds, to give some MB back. Most servers of tests end
 * soon after. Measured: a node of a cluster takes 49 instead of 79 ms of processor time a second from its 6th to its 18th second.
 */
const KEEP_HEAP = '--no-memory-reducer';

/** Starts one server. */
export async function startNode(options: ServerOptions = {}): Promise<RunningServer> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'gatehouse-test-')));
  const ownsDataDir = options.dataDir === undefined;
  const child = spawn(
    process.execPath,
    [KEEP_HEAP, ...(options.nodeFlags ?? []), options.main ?? MAIN, 'serve', ...(options.words ?? [])],
    {
      env: {
        ...foreignEnvironment(),
        GATEHOUSE_PORT: '0',
        GATEHOUSE_VELOCITY_MB: '16',
        GATEHOUSE_CELLS: String(CELLS_OF_TESTS),
        // The warm-up takes half a second of processor time per start; its own test enables it.
        GATEHOUSE_WARM_UP: '0',
        GATEHOUSE_GEOIP_DIR: geoFolderOfTests(),
        GATEHOUSE_GEOIP_PACKAGES: '0',
        ...options.env,
        GATEHOUSE_DATA_DIR: dataDir,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const leave = (): void => {
    child.kill('SIGKILL');
    if (ownsDataDir) rmSync(dataDir, { recursive: true, force: true });
  };
  atEnd.add(leave);
  const exited = once(child, 'exit');
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));

  const stop = async (signal: NodeJS.Signals = ownsDataDir ? 'SIGKILL' : 'SIGTERM'): Promise<number | null> => {
    atEnd.delete(leave);
    if (isRunning(child)) {
      child.kill(signal);
      const giveUp = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(giveUp);
    }
    if (ownsDataDir) await rm(dataDir, { recursive: true, force: true });
    return child.exitCode;
  };

  const ready = await readyOrNot(child, () => readGreeting(stdout, stderr));
  if (ready === null || child.pid === undefined) {
    await stop('SIGKILL');
    throw new Error(`the server did not start (exit code ${String(child.exitCode)})\n${stdout}\n${stderr}`);
  }
  return { ...ready, dataDir, pid: child.pid, stdout: () => stdout, stderr: () => stderr, stop };
}

type Greeting = Pick<RunningServer, 'url' | 'secretKey' | 'publicKey'>;

/** Returns the address from the log and, after a first start, the keys from the greeting; null until both are available. */
function readGreeting(stdout: string, stderr: string): Greeting | null {
  const url = /"url":"([^"]+)".*"msg":"serving"/.exec(stdout)?.[1];
  if (url === undefined) return null;
  // A node that joins a cluster has the keys of the others.
  if (!stdout.includes('"code":"first_start"') || stdout.includes('"how":"joined"'))
    return { url, secretKey: '', publicKey: '' };
  const secretKey = /secret key {2}(sk_live_\w+)\s/.exec(stderr)?.[1];
  const publicKey = /public key {2}(pk_live_\w+)\s/.exec(stderr)?.[1];
  return secretKey === undefined || publicKey === undefined ? null : { url, secretKey, publicKey };
}

async function readyOrNot(child: ChildProcess, read: () => Greeting | null): Promise<Greeting | null> {
  const until = performance.now() + START_MS;
  while (isRunning(child) && performance.now() < until) {
    const greeting = read();
    if (greeting !== null) return greeting;
    await new Promise((done) => setTimeout(done, 10));
  }
  return null;
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

function foreignEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GATEHOUSE_')));
}
