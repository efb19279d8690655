import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Children, end } from './children.ts';
import type { Received, Receiver } from './receiver-client.ts';
import { seedCustomers, seedDeliveries } from './seed.ts';
import { median, print, type BenchOptions } from './report.ts';

/**
 * Compares deliveries per second, from the first arrival to the last, of a backlog that a server finds in its store at start with those of
 * a bare sender of the same number. The server makes no decisions meanwhile, so neither has other work.
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
  for (let round = 0; round < rounds; round++) {
    const bare = await runBare(children, receiver, deliveries, endpoints);
    const service = await runService(options, children, receiver, endpoints);
    ratios.push(service / bare);
    print(`round ${round + 1}`, bare.toFixed(0), service.toFixed(0), (service / bare).toFixed(3));
  }
  console.log(`ratio service / bare sender, median of ${rounds}: ${median(ratios).toFixed(3)} (target: at least 0.5)`);
}

async function runBare(children: Children, receiver: Receiver, count: number, paths: number): Promise<number> {
  receiver.order({ kind: 'reset' });
  const words = [receiver.port, count, paths, CONNECTIONS].map(String);
  const sender = children.spawn('bare-sender.js', ...words);
  const [code] = (await once(sender, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the bare sender exited with code ${code}`);
  return rateOf(await receiver.counted(count, 1));
}

async function runService(
  { deliveries, folder, nodeFlags }: BenchOptions,
  children: Children,
  receiver: Receiver,
  endpoints: number,
): Promise<number> {
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
  const received = await receiver.counted(deliveries, SECONDS_MAX);
  await end(child);
  rmSync(dataDir, { recursive: true });
  return rateOf(received);
}

function rateOf({ count, firstMs, lastMs }: Received): number {
  return (count / (lastMs - firstMs)) * 1_000;
}
