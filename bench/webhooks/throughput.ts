import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Children, end, lineOf } from './children.ts';
import type { Received, Receiver } from './receiver-client.ts';
import { seedCustomers, seedDeliveries } from './seed.ts';
import { median, print, type BenchOptions } from './report.ts';
import { Meter } from './usage.ts';

/**
 * Compares deliveries per second, from the first arrival to the last, of a backlog that a server finds in its store at start with those of
 * a bare sender of the same number. The server makes no decisions meanwhile, so neither has other work. The processor
 * time of the server contains the end of its start: the threads that deliver start when it finds the backlog.
 */
const SECONDS_MAX = 60;
const WEBHOOKS_EACH = 20;
/** The service's limit of connections per host. */
const CONNECTIONS = 64;

export async function benchThroughput(options: BenchOptions, children: Children, receiver: Receiver): Promise<void> {
  const { deliveries, rounds } = options;
  const endpoints = Math.min(options.endpoints, 100);
  console.log(`throughput: ${deliveries} pending deliveries to ${endpoints} endpoints, ${rounds} rounds`);
  print('', 'bare/s', 'service/s', 'ratio');
  const ratios: number[] = [];
  const costs: (Costs & { readonly bareUs: number })[] = [];
  for (let round = 0; round < rounds; round++) {
    const bare = await runBare(children, receiver, deliveries, endpoints);
    const service = await runService(options, children, receiver, endpoints);
    ratios.push(service.perSecond / bare.perSecond);
    costs.push({ ...service, bareUs: bare.senderUs });
    print(
      `round ${round + 1}`,
      bare.perSecond.toFixed(0),
      service.perSecond.toFixed(0),
      (service.perSecond / bare.perSecond).toFixed(3),
    );
  }
  const usualUs = (name: 'serverUs' | 'mainUs' | 'receiverUs' | 'bareUs'): string =>
    median(costs.map((cost) => cost[name])).toFixed(1);
  console.log(
    `processor time per delivery, µs: server ${usualUs('serverUs')} (main thread ${usualUs('mainUs')}), bare sender ${usualUs('bareUs')}, receiver ${usualUs('receiverUs')}`,
  );
  console.log(`ratio service / bare sender, median of ${rounds}: ${median(ratios).toFixed(3)} (target: at least 0.6)`);
}

interface Costs {
  readonly perSecond: number;
  /** Processor time per delivery. */
  readonly serverUs: number;
  readonly mainUs: number;
  readonly receiverUs: number;
}

async function runBare(
  children: Children,
  receiver: Receiver,
  count: number,
  paths: number,
): Promise<{ readonly perSecond: number; readonly senderUs: number }> {
  receiver.order({ kind: 'reset' });
  const words = [receiver.port, count, paths, CONNECTIONS].map(String);
  const sender = children.spawn('bare-sender.js', ...words);
  const usedUs = lineOf(sender, () => true);
  const [code] = (await once(sender, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the bare sender exited with code ${code}`);
  return { perSecond: rateOf(await receiver.counted(count, 1)), senderUs: Number(await usedUs) / count };
}

async function runService(
  { deliveries, folder, nodeFlags }: BenchOptions,
  children: Children,
  receiver: Receiver,
  endpoints: number,
): Promise<Costs> {
  const dataDir = join(folder, 'throughput');
  mkdirSync(dataDir);
  const urls = Array.from({ length: endpoints }, (_, n) => receiver.url(`/hook/${n}`));
  const groups = Array.from({ length: Math.ceil(endpoints / WEBHOOKS_EACH) }, (_, n) =>
    urls.slice(n * WEBHOOKS_EACH, (n + 1) * WEBHOOKS_EACH),
  );
  const customers = await seedCustomers(dataDir, groups);
  await seedDeliveries(dataDir, customers, deliveries);
  receiver.order({ kind: 'reset' });
  const { child } = await children.serve(dataDir, nodeFlags);
  const meters = [new Meter(child), new Meter(receiver.child)];
  const received = await receiver.counted(deliveries, SECONDS_MAX);
  const [server, other] = meters.map((meter) => meter.lap());
  await end(child);
  rmSync(dataDir, { recursive: true });
  return {
    perSecond: rateOf(received),
    serverUs: (server?.allUs ?? NaN) / deliveries,
    mainUs: (server?.mainUs ?? NaN) / deliveries,
    receiverUs: (other?.allUs ?? NaN) / deliveries,
  };
}

function rateOf({ count, firstMs, lastMs }: Received): number {
  return (count / (lastMs - firstMs)) * 1_000;
}
