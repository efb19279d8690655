import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { geoFolderOfTests } from './geo-databases.ts';

/** The built server as a process of its own, as an operator runs it: build first, as `npm test` does. */
export interface ServerOptions {
  /**
   * Settings for this server; none are taken over from the test's own environment. Unless they say otherwise its table of velocity is
   * small, and its locations are those of `geoFolderOfTests`, so that it starts quickly.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** A folder that outlives the server. Without one a new folder is made, and `stop` removes it. */
  readonly dataDir?: string;
  /** Another installation's `dist/app/main.js`. */
  readonly main?: string;
}

/** Settings for a server with the databases of locations that are installed. */
export const INSTALLED_LOCATIONS = { GATEHOUSE_GEOIP_DIR: '', GATEHOUSE_GEOIP_PACKAGES: '1' } as const;

export interface RunningServer {
  readonly url: string;
  readonly dataDir: string;
  /** The keys of the demo customer; `''` when this was not the first start on its folder. */
  readonly secretKey: string;
  readonly publicKey: string;
  readonly pid: number;
  /** Everything written so far: log lines on one, the greeting on the other. */
  stdout(): string;
  stderr(): string;
  /**
   * Ends the server and returns its exit code, null when the signal ended it. May be called again. Without a signal a server on a
   * folder that outlives it gets SIGTERM, any other SIGKILL: nobody reads what an orderly stop would save.
   */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

const MAIN = fileURLToPath(new URL('../../dist/app/main.js', import.meta.url));
/** Choice: a start takes under 1 s; a machine that builds or tests beside it takes longer. */
const START_MS = 90_000;
const STOP_MS = 15_000;

/** What a process of tests that ends early, or is told to end, has to end with it. */
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

/** Starts the built server on a free port. Throws with what it printed when it does not come up. */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'gatehouse-test-')));
  const ownsDataDir = options.dataDir === undefined;
  const child = spawn(process.execPath, [options.main ?? MAIN, 'serve'], {
    env: {
      ...foreignEnvironment(),
      GATEHOUSE_PORT: '0',
      GATEHOUSE_VELOCITY_MB: '16',
      // Half a second of processor time for each start; its own test turns it on.
      GATEHOUSE_WARM_UP: '0',
      GATEHOUSE_GEOIP_DIR: geoFolderOfTests(),
      GATEHOUSE_GEOIP_PACKAGES: '0',
      ...options.env,
      GATEHOUSE_DATA_DIR: dataDir,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
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

/** The address from the log and, after a first start, the keys from the greeting; null while either is not there yet. */
function readGreeting(stdout: string, stderr: string): Greeting | null {
  const url = /"url":"([^"]+)".*"msg":"serving"/.exec(stdout)?.[1];
  if (url === undefined) return null;
  if (!stdout.includes('"code":"first_start"')) return { url, secretKey: '', publicKey: '' };
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
