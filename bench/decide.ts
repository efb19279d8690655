import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { helpIfAsked } from '../scripts/usage.ts';
import { hasWrk, load, type LoadResult, writeRequests } from './load.ts';
import { START_FLAGS } from './start-flags.ts';

/**
 * Compares throughput and latency of POST /v1/decide on the built server with a bare echo server on the same library, alternating in one
 * run: machines differ and are noisy, but the ratio is stable. Uses loopback only and is bounded in time and in the number of requests.
 */
helpIfAsked(`
bench:decide [options]

  --seconds N         duration of a turn (5)
  --rounds N          number of rounds (3)
  --transport NAME    uws or node (uws)
  --requests N        requests prepared per turn (70,000 per second)
  --sessions N        concurrent sessions (20,000)
  --collector SHARE   share of the sessions with a collector token (0.6)
  --headers SHARE     share of the sessions that pass headers on (0.5)
  --node-flags "..."  Node.js flags for the server, for example --cpu-prof`);

const option = (name: string, fallback: string): string => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : (process.argv[at + 1] ?? fallback);
};
const seconds = Number(option('seconds', '5'));
const rounds = Number(option('rounds', '3'));
const transport = option('transport', 'uws');
const given = (name: string): number | undefined => {
  const text = option(name, '');
  return text === '' ? undefined : Number(text);
};
const shape = Object.fromEntries(
  Object.entries({
    sessions: given('sessions'),
    collectorShare: given('collector'),
    headersShare: given('headers'),
  }).filter(([, value]) => value !== undefined),
);
const nodeFlags = option('node-flags', '').split(' ').filter(Boolean);
const perTurn = Number(option('requests', String(70_000 * seconds)));

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const dataDir = join(folder, 'data');
const cli = new URL('../app/main.js', import.meta.url).pathname;
const children: ChildProcess[] = [];

try {
  await main();
} finally {
  for (const child of children) child.kill('SIGTERM');
  await Promise.all(children.filter((child) => child.exitCode === null).map((child) => once(child, 'exit')));
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const { customer_id: customer } = gatehouse('customers', 'create', 'bench') as { customer_id: string };
  const { secret_key: key } = gatehouse('keys', 'create', '--customer', customer, '--rate-limit', '100000000') as {
    secret_key: string;
  };
  const echoPort = await startEcho();
  const server = await startServer();
  console.log(
    `transport ${transport}, client ${hasWrk() ? 'wrk' : 'built-in'}, 64 connections, ${rounds} rounds of ${seconds} s`,
  );
  const file = join(folder, 'requests');
  const echoes: LoadResult[] = [];
  const decides: LoadResult[] = [];
  // An unreported first turn that warms up compilers and caches.
  await writeRequests(file, 60_000, key, '127.0.0.1', 0, shape);
  await load(server.port, file, 2);
  await load(echoPort, file, 1);
  for (let round = 0; round < rounds; round++) {
    await writeRequests(file, perTurn, key, '127.0.0.1', 1_000_000 * (round + 1), shape);
    echoes.push(await load(echoPort, file, seconds));
    decides.push(await load(server.port, file, seconds));
  }
  report(echoes, decides);
  await reportServer(server.port);
}

/** Prints the server's own metrics: batch size, and memory after the load. */
async function reportServer(port: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await answer.text();
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  const batches = value('gatehouse_batch_requests_count');
  console.log(
    `decisions ${value('gatehouse_decide_seconds_count')}, requests per batch ${(value('gatehouse_batch_requests_sum') / batches).toFixed(1)},`,
    `resident ${(value('process_resident_memory_bytes') / 1e6).toFixed(0)} MB, heap ${(value('nodejs_heap_size_used_bytes') / 1e6).toFixed(0)} MB`,
  );
}

function rate(result: LoadResult): number {
  return result.requests / result.seconds;
}

function row(name: string, result: LoadResult): void {
  const columns = [
    rate(result).toFixed(0),
    result.p50_ms.toFixed(2),
    result.p99_ms.toFixed(2),
    result.p999_ms.toFixed(2),
  ];
  console.log(
    [name.padEnd(10), ...columns.map((text) => text.padStart(9)), String(result.failed).padStart(8)].join(' '),
  );
}

function report(echoes: readonly LoadResult[], decides: readonly LoadResult[]): void {
  console.log('               req/s    p50 ms    p99 ms  p99.9 ms   failed');
  for (const [round, echo] of echoes.entries()) {
    row('bare echo', echo);
    const decide = decides[round];
    if (decide) row('decide', decide);
  }
  const ratios = decides.map((decide, round) => rate(decide) / rate(echoes[round] ?? decide)).sort((a, b) => a - b);
  console.log(`ratio decide / bare echo, median of ${ratios.length}: ${(ratios[ratios.length >> 1] ?? 0).toFixed(3)}`);
}

function gatehouse(...words: string[]): unknown {
  const output = execFileSync(process.execPath, [cli, '--json', '--data-dir', dataDir, ...words], { encoding: 'utf8' });
  return JSON.parse(output);
}

async function startEcho(): Promise<number> {
  const child = start([new URL('echo.js', import.meta.url).pathname, transport], {});
  return Number(await lineOf(child, () => true));
}

async function startServer(): Promise<{ port: number }> {
  const child = start([...START_FLAGS, ...nodeFlags, cli, 'serve'], {
    GATEHOUSE_DATA_DIR: dataDir,
    GATEHOUSE_PORT: '0',
    GATEHOUSE_TRANSPORT: transport,
  });
  const line = await lineOf(child, (text) => text.includes('"msg":"serving"'));
  const { url } = JSON.parse(line) as { url: string };
  return { port: Number(new URL(url).port) };
}

function start(words: string[], env: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, words, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return child;
}

/** Resolves with the first matching line. Drains the rest, so that the child never blocks on its output. */
function lineOf(child: ChildProcess, fits: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (text) => {
      if (fits(text)) resolve(text);
    });
    child.once('exit', (code) => reject(new Error(`a server exited with code ${code}`)));
  });
}
