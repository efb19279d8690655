import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { START_FLAGS } from '../start-flags.ts';
import { end, lineOf } from '../webhooks/children.ts';
import type { LoadOptions } from './options.ts';

/** A server under load: the server of `--url`, the built server, or the bare echo server. */
export interface Target {
  readonly name: string;
  readonly origin: string;
  readonly key: string;
  /** Undefined for the server of `--url`. */
  readonly pid?: number | undefined;
  stop(): Promise<void>;
}

const CLI = new URL('../../app/main.js', import.meta.url).pathname;
const ECHO = new URL('../echo.js', import.meta.url).pathname;
/** The echo server verifies no signature. */
const ECHO_KEY = 'sk_live_echo';
const RATE_LIMIT = '1000000000';

export async function openEcho(transport: string): Promise<Target> {
  const child = spawn(process.execPath, [ECHO, transport], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await lineOf(child, () => true);
  return {
    name: 'bare echo',
    origin: `http://127.0.0.1:${port}`,
    key: ECHO_KEY,
    pid: child.pid,
    stop: () => end(child),
  };
}

type ServerOptions = Pick<LoadOptions, 'transport' | 'nodeFlags'> & Partial<Pick<LoadOptions, 'url' | 'key'>>;

/** Opens the server of `--url`, or the built one with the flags of `npm start` and a key whose rate limit exceeds the load. */
export async function openServer(options: ServerOptions): Promise<Target> {
  const { url, key, transport, nodeFlags } = options;
  if (url !== undefined && key !== undefined)
    return { name: 'decide', origin: new URL(url).origin, key, stop: () => Promise.resolve() };
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-load-'));
  const dataDir = join(folder, 'data');
  const run = (...words: string[]): Record<string, string> =>
    JSON.parse(
      execFileSync(process.execPath, [CLI, '--json', '--data-dir', dataDir, ...words], { encoding: 'utf8' }),
    ) as Record<string, string>;
  const customer = run('customers', 'create', 'load')['customer_id'] ?? '';
  const created = run('keys', 'create', '--customer', customer, '--rate-limit', RATE_LIMIT);
  const child = spawn(process.execPath, [...START_FLAGS, ...nodeFlags, CLI, 'serve'], {
    env: { ...process.env, GATEHOUSE_DATA_DIR: dataDir, GATEHOUSE_PORT: '0', GATEHOUSE_TRANSPORT: transport },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const line = await lineOf(child, (text) => text.includes('"msg":"serving"'));
  const origin = new URL((JSON.parse(line) as { url: string }).url).origin;
  await untilReady(origin);
  return {
    name: 'decide',
    origin,
    key: created['secret_key'] ?? '',
    pid: child.pid,
    async stop() {
      await end(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const READY_TRIES = 300;

/** Waits until the server reports that it can decide. */
export async function untilReady(origin: string): Promise<void> {
  for (let n = 0; n < READY_TRIES; n++) {
    const response = await fetch(`${origin}/readyz`);
    if (response.ok) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error('the server did not become ready');
}
