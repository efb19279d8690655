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
 * a bare sender of the same number. The server makes no decisions meanwhile, so neither has other work. The first fifth is also reported
 * apart: both sides then run code that is not compiled yet, the server on several threads, and its start is not over. A third sender,
 * undici's `Client` alone, shows the least that undici can cost.
 */
const SECONDS_MAX = 60;
const WEBHOOKS_EACH = 20;
/** The service's limit of connections per host. */
const CONNECTIONS = 64;
const WARM_UP_SHARE = 0.2;

/** One run of one sender. Processor times are µs per delivery; `warm` is what follows the first fifth. */
interface Run {
  readonly perSecond: number;
  readonly warmPerSecond: number;
  readonly us: number;
  readonly warmUs: number;
}

interface ServiceRun extends Run {
  readonly mainUs: number;
  readonly warmMainUs: number;
  readonly receiverUs: number;
}

export async function benchThroughput(options: BenchOptions, children: Children, receiver: Receiver): Promise<void> {
  const { deliveries, rounds } = options;
  const endpoints = Math.min(options.endpoints, 100);
  console.log(`throughput: ${deliveries} pending deliveries to ${endpoints} endpoints, ${rounds} rounds`);
  print('', 'bare/s', 'service/s', 'ratio', 'warm');
  const bareRuns: Run[] = [];
  const clientRuns: Run[] = [];
  const serviceRuns: ServiceRun[] = [];
  for (let round = 0; round < rounds; round++) {
    const bare = await runBare('pool', children, receiver, deliveries, endpoints);
    const service = await runService(options, children, receiver, endpoints);
    bareRuns.push(bare);
    serviceRuns.push(service);
    clientRuns.push(await runBare('client', children, receiver, deliveries, endpoints));
    print(
      `round ${round + 1}`,
      bare.perSecond.toFixed(0),
      service.perSecond.toFixed(0),
      (service.perSecond / bare.perSecond).toFixed(3),
      (service.warmPerSecond / bare.warmPerSecond).toFixed(3),
    );
  }
  printUs(
    'in all',
    usual(serviceRuns, 'us'),
    usual(serviceRuns, 'mainUs'),
    usual(bareRuns, 'us'),
    usual(clientRuns, 'us'),
  );
  printUs(
    'after the first fifth',
    usual(serviceRuns, 'warmUs'),
    usual(serviceRuns, 'warmMainUs'),
    usual(bareRuns, 'warmUs'),
    usual(clientRuns, 'warmUs'),
  );
  console.log(`receiver: ${usual(serviceRuns, 'receiverUs').toFixed(1)} µs`);
  const ratioOf = (name: 'perSecond' | 'warmPerSecond'): string =>
    median(serviceRuns.map((service, i) => service[name] / (bareRuns[i]?.[name] ?? NaN))).toFixed(3);
  console.log(
    `ratio service / bare sender, median of ${rounds}: ${ratioOf('perSecond')} (target: at least 0.6); after the first fifth ${ratioOf('warmPerSecond')}`,
  );
}

function usual<T extends Run>(runs: readonly T[], name: keyof T & string): number {
  return median(runs.map((run) => Number(run[name])));
}

function printUs(when: string, server: number, main: number, bare: number, client: number): void {
  console.log(
    `processor time per delivery, ${when}, µs: server ${server.toFixed(1)} (main thread ${main.toFixed(1)}), bare sender ${bare.toFixed(1)}, undici alone ${client.toFixed(1)}`,
  );
}

async function runBare(
  mode: 'pool' | 'client',
  children: Children,
  receiver: Receiver,
  count: number,
  paths: number,
): Promise<Run> {
  const warmUp = Math.floor(count * WARM_UP_SHARE);
  receiver.order({ kind: 'reset', markAt: warmUp });
  const words = [receiver.port, count, paths, CONNECTIONS, warmUp].map(String);
  const sender = children.spawn(new URL('./bare-sender.js', import.meta.url), mode, ...words);
  const printed = lineOf(sender, () => true);
  const [code] = (await once(sender, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the bare sender exited with code ${code}`);
  const [us = NaN, warmUs = NaN] = (await printed).split(' ').map(Number);
  return {
    ...ratesOf(await receiver.counted(count, 1), warmUp),
    us: us / count,
    warmUs: warmUs / (count - warmUp),
  };
}

async function runService(
  { deliveries, folder, nodeFlags }: BenchOptions,
  children: Children,
  receiver: Receiver,
  endpoints: number,
): Promise<ServiceRun> {
  const dataDir = join(folder, 'throughput');
  mkdirSync(dataDir);
  const urls = Array.from({ length: endpoints }, (_, n) => receiver.url(`/hook/${n}`));
  const groups = Array.from({ length: Math.ceil(endpoints / WEBHOOKS_EACH) }, (_, n) =>
    urls.slice(n * WEBHOOKS_EACH, (n + 1) * WEBHOOKS_EACH),
  );
  const customers = await seedCustomers(dataDir, groups);
  await seedDeliveries(dataDir, customers, deliveries);
  const warmUp = Math.floor(deliveries * WARM_UP_SHARE);
  receiver.order({ kind: 'reset', markAt: warmUp });
  // Otherwise the start warms up the decide path beside the first deliveries: work that the bare sender does not have.
  const { child } = await children.serve(dataDir, nodeFlags, { GATEHOUSE_WARM_UP: '0' });
  const [server, other] = [new Meter(child), new Meter(receiver.child)];
  const first = await receiver.counted(warmUp, SECONDS_MAX);
  const cold = server.lap();
  const received = await receiver.counted(deliveries, SECONDS_MAX);
  const warm = server.lap();
  const receiverUs = other.lap().allUs / deliveries;
  await end(child);
  rmSync(dataDir, { recursive: true });
  const left = deliveries - first.count;
  return {
    ...ratesOf(received, warmUp),
    us: (cold.allUs + warm.allUs) / deliveries,
    warmUs: warm.allUs / left,
    mainUs: (cold.mainUs + warm.mainUs) / deliveries,
    warmMainUs: warm.mainUs / left,
    receiverUs,
  };
}

function ratesOf(
  { count, firstMs, lastMs, markMs }: Received,
  warmUp: number,
): { readonly perSecond: number; readonly warmPerSecond: number } {
  return {
    perSecond: (count / (lastMs - firstMs)) * 1_000,
    warmPerSecond: ((count - warmUp) / (lastMs - markMs)) * 1_000,
  };
}
