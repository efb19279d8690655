import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface DemoServer {
  readonly url: string;
  readonly dataDir: string;
  /** Runs the command line with `args` while the server is running, and returns its parsed output. */
  run(...args: string[]): Promise<Record<string, unknown>>;
  /** Stops the server and deletes its data. Idempotent. */
  stop(): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../../app/main.js', import.meta.url));
const START_MS = 30_000;
const STOP_MS = 15_000;

/**
 * A public key, because the demo has no secrets. The velocity store's hash key is derived from it; with a fixed key the hash collisions
 * between subjects are the same in every run.
 */
const MASTER_KEY = '64656d6f'.repeat(8);

/** Settings of a demo that plays days in seconds. */
const VIRTUAL_CLOCK = { GATEHOUSE_SIMULATED_TIME: '1', GATEHOUSE_MASTER_KEY: MASTER_KEY } as const;

/** Where people may want a server that is kept running. */
const ADDRESSES = ['GATEHOUSE_HOST', 'GATEHOUSE_PORT', 'GATEHOUSE_DASHBOARD_PORT', 'GATEHOUSE_PUBLIC_URL'] as const;

/** Returns the settings of the terminal that say where the server can be reached. */
export function addressSettings(): Readonly<Record<string, string>> {
  return Object.fromEntries(ADDRESSES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** Settings of a demo that plays days in seconds, at the address that the terminal sets. */
export function keptSettings(): Readonly<Record<string, string>> {
  return { ...VIRTUAL_CLOCK, ...addressSettings() };
}

/** Keeps requests, so that a rule can be tried on the days that were played. */
export const KEPT_POLICY = { version: 'demo', log_requests: '14d' } as const;

/**
 * Starts the built server as a child process, on a free port and a temporary folder, by default with a virtual clock and without a policy
 * file.
 */
export async function startServer(
  settings: Readonly<Record<string, string>> = VIRTUAL_CLOCK,
  policy: object | null = null,
): Promise<DemoServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-demo-'));
  const policyFile = `${dataDir}.policy.json`;
  if (policy !== null) await writeFile(policyFile, JSON.stringify(policy));
  // Other environment variables of the terminal must not influence the demo.
  const rest = Object.entries(process.env).filter(([name]) => !name.startsWith('GATEHOUSE_'));
  const env = {
    ...Object.fromEntries(rest),
    GATEHOUSE_DATA_DIR: dataDir,
    GATEHOUSE_PORT: '0',
    ...(policy !== null && { GATEHOUSE_POLICY_FILE: policyFile }),
    ...settings,
  };
  // Uses a separate process group, so that Ctrl-C reaches only the demo, which then stops the server gracefully.
  const child = spawn(process.execPath, [MAIN, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const leaveNothing = (): void => {
    child.kill('SIGKILL');
    for (const path of [dataDir, policyFile]) rmSync(path, { recursive: true, force: true });
  };
  process.once('exit', leaveNothing);
  const exited = once(child, 'exit');
  let faults = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (faults += text));

  const stop = async (): Promise<void> => {
    process.off('exit', leaveNothing);
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      const giveUp = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(giveUp);
    }
    for (const path of [dataDir, policyFile]) await rm(path, { recursive: true, force: true });
  };

  const url = await new Promise<string | null>((found) => {
    const giveUp = setTimeout(() => found(null), START_MS);
    const done = (result: string | null): void => {
      clearTimeout(giveUp);
      found(result);
    };
    // Drains the output, so that the server never blocks on a full pipe.
    createInterface(child.stdout).on('line', (line) => {
      const served = /"url":"([^"]+)".*"msg":"serving"/.exec(line)?.[1];
      if (served !== undefined) done(served);
    });
    child.once('exit', () => done(null));
  });
  if (url === null) {
    await stop();
    throw new Error(`the server did not start\n${faults}`);
  }
  return {
    url,
    dataDir,
    stop,
    async run(...args) {
      const words = [MAIN, '--json', '--data-dir', dataDir, ...args];
      const { stdout } = await promisify(execFile)(process.execPath, words, { env });
      return JSON.parse(stdout) as Record<string, unknown>;
    },
  };
}
