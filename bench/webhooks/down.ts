import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTraffic } from '../traffic.ts';
import { callSteadily } from './caller.ts';
import { type Children, end } from './children.ts';
import type { Receiver } from './receiver-client.ts';
import { print, quantile, type BenchOptions } from './report.ts';
import { seedCustomers } from './seed.ts';

/**
 * Uses ten times the endpoints of the other benches, all of them down: half hang, half refuse connections. Reports the latency of
 * decisions, and the server's memory and queue length, per slice; the first slice uses customers without webhooks.
 */
const WEBHOOKS_EACH = 20;
const TIMES = 10;
const SLICES_A_ROUND = 2;

export async function benchDown(options: BenchOptions, children: Children, receiver: Receiver): Promise<void> {
  const { seconds, rounds, rate } = options;
  const endpoints = TIMES * options.endpoints;
  const dataDir = join(options.folder, 'down');
  mkdirSync(dataDir);
  const paths = Array.from({ length: endpoints }, (_, n) => `/hook/${n}`);
  const urls = paths.map((path, n) => (n % 2 === 0 ? receiver.url(path) : `http://127.0.0.1:9${path}`));
  const groups = Array.from({ length: Math.ceil(endpoints / WEBHOOKS_EACH) }, (_, n) =>
    urls.slice(n * WEBHOOKS_EACH, (n + 1) * WEBHOOKS_EACH),
  );
  const hooked = await seedCustomers(dataDir, groups);
  const plain = await seedCustomers(dataDir, [[]]);
  receiver.order({ kind: 'reset' });
  receiver.order({ kind: 'hang', paths });
  const { port, child } = await children.serve(dataDir, options.nodeFlags);
  const nextBody = createTraffic(20_261_122, Math.floor(Date.now() / 1_000));
  const run = async (name: string, customers: readonly { readonly secretKey: string }[]): Promise<void> => {
    const calls = await callSteadily({
      port,
      perSecond: rate / WEBHOOKS_EACH,
      seconds,
      callOf: (n) => ({ key: customers[n % customers.length]?.secretKey ?? '', body: nextBody() }),
    });
    const latencies = calls.map(({ latencyMs }) => latencyMs);
    const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
    const { pending, unhealthy, heapMb } = await levelsOf(port);
    const figures = [p50.toFixed(2), p99.toFixed(2), residentMb(child.pid).toFixed(0), heapMb, pending, unhealthy];
    print(name, ...figures, String(calls.length));
  };

  console.log(`down: ${endpoints} endpoints that are down, ${rate} deliveries/s, slices of ${seconds} s`);
  print('', 'p50 ms', 'p99 ms', 'MB', 'heap MB', 'pending', 'unhealthy', 'decisions');
  await run('(not counted)', plain);
  await run('no webhooks', plain);
  for (let slice = 1; slice <= SLICES_A_ROUND * rounds; slice++) await run(`all down, slice ${slice}`, hooked);
  await sleep(seconds * 1_000);
  await run('no webhooks again', plain);
  await end(child);
  rmSync(dataDir, { recursive: true });
}

async function levelsOf(port: number): Promise<{ pending: string; unhealthy: string; heapMb: string }> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const value = (name: string): string => new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? '?';
  return {
    pending: value('gatehouse_webhook_queue_deliveries'),
    unhealthy: value('gatehouse_webhooks_unhealthy'),
    heapMb: (Number(value('nodejs_heap_size_used_bytes')) / 1e6).toFixed(0),
  };
}

/** Excludes mapped file pages, which the system can reclaim at any time. */
function residentMb(pid: number | undefined): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) / 1_000;
}
