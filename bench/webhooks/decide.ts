import type { ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { load } from '../load.ts';
import { createTraffic, requestOf } from '../traffic.ts';
import { changeOf, compareBoth, type Phase } from './both.ts';
import { callSteadily } from './caller.ts';
import { type Children, end } from './children.ts';
import type { Receiver } from './receiver-client.ts';
import { median, print, quantile, type BenchOptions } from './report.ts';
import { seedCustomers } from './seed.ts';

/**
 * Measures the decisions of a customer without webhooks next to another customer, first without and then with webhooks of that other
 * customer: an endpoint that responds, one that hangs and one that refuses connections. The latency of a decision at a steady rate is
 * measured on two servers at the same time, so that each stall of the machine affects both; the maximum throughput is measured on one
 * server, alternating.
 */
/** Share of all decisions that belong to the customer with webhooks. */
const HOOKED_SHARE = 0.05;
const STEADY_PER_SECOND = 500;
/** Number of requests prepared per second of the maximum-throughput phase. */
const PREPARED_PER_SECOND = 40_000;

interface Side {
  readonly port: number;
  readonly child: ChildProcess;
  readonly plain: string;
  /** Key of the customer with webhooks, and of the customer without webhooks that replaces it in the reference phases. */
  readonly hooked: string;
  readonly unhooked: string;
}

export async function benchDecide(options: BenchOptions, children: Children, receiver: Receiver): Promise<void> {
  const { rounds, seconds, folder } = options;
  const sides = [await startSide('a', options, children, receiver), await startSide('b', options, children, receiver)];
  receiver.order({ kind: 'reset' });
  receiver.order({ kind: 'hang', paths: ['/hangs'] });
  const file = join(folder, 'requests');
  let serial = 0;

  const decideSteadily = async (side: Side, isDelivering: boolean): Promise<Phase> => {
    const nextBody = createTraffic(++serial, Math.floor(Date.now() / 1_000));
    const calls = await callSteadily({
      port: side.port,
      perSecond: STEADY_PER_SECOND,
      seconds,
      callOf: (n) => ({ key: keyOf(side, isDelivering, n), body: nextBody() }),
    });
    const latencies = calls.map(({ latencyMs }) => latencyMs);
    const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
    print(nameOf(isDelivering), p50.toFixed(2), p99.toFixed(2));
    return { p50, p99 };
  };

  const decideFast = async (side: Side, isDelivering: boolean): Promise<number> => {
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const nextBody = createTraffic(++serial, nowSeconds);
    await writeFile(file, PREPARED_PER_SECOND * seconds, (n) =>
      requestOf(serial * 1e7 + n, nextBody(), keyOf(side, isDelivering, n), '127.0.0.1', nowSeconds),
    );
    const fast = await load(side.port, file, seconds);
    const perSecond = fast.requests / fast.seconds;
    print(nameOf(isDelivering), perSecond.toFixed(0), fast.p99_ms.toFixed(2), String(fast.failed));
    return perSecond;
  };

  console.log(
    `decide: ${HOOKED_SHARE * 100} % of the decisions have webhooks; two servers, ${STEADY_PER_SECOND}/s each, ${rounds} rounds`,
  );
  print('', 'p50 ms', 'p99 ms');
  const ratio = await compareBoth(sides, rounds, (delivering) =>
    Promise.all(sides.map((side) => decideSteadily(side, side === delivering))),
  );
  for (const name of ['p50', 'p99'] as const)
    console.log(`${name}, median of ${ratio.phases} phases: ${changeOf(ratio[name])}`);

  const [first] = sides;
  if (first === undefined) return;
  console.log('decide: one server, maximum throughput, alternating');
  print('', 'fast/s', 'p99 ms', 'failed');
  const fast: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const without = await decideFast(first, false);
    fast.push((await decideFast(first, true)) / without);
  }
  console.log(`decisions per second, median of ${rounds} rounds: ${changeOf(median(fast))}`);
  for (const { child } of sides) await end(child);
}

async function startSide(
  name: string,
  { folder, nodeFlags }: BenchOptions,
  children: Children,
  receiver: Receiver,
): Promise<Side> {
  const dataDir = join(folder, `decide-${name}`);
  mkdirSync(dataDir);
  const urls = [receiver.url('/answers'), receiver.url('/hangs'), 'http://127.0.0.1:9/refuses'];
  const [plain, hooked, unhooked] = await seedCustomers(dataDir, [[], urls, []]);
  if (plain === undefined || hooked === undefined || unhooked === undefined) throw new Error('customers are missing');
  const { port, child } = await children.serve(dataDir, nodeFlags);
  return { port, child, plain: plain.secretKey, hooked: hooked.secretKey, unhooked: unhooked.secretKey };
}

function keyOf({ plain, hooked, unhooked }: Side, isDelivering: boolean, n: number): string {
  if (n % Math.round(1 / HOOKED_SHARE) !== 0) return plain;
  return isDelivering ? hooked : unhooked;
}

function nameOf(isDelivering: boolean): string {
  return isDelivering ? 'delivering' : 'no webhooks';
}

async function writeFile(file: string, count: number, requestAt: (n: number) => Buffer): Promise<void> {
  const out = createWriteStream(file, { highWaterMark: 1 << 20 });
  for (let n = 0; n < count; n++) {
    const bytes = requestAt(n);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    out.write(length);
    if (!out.write(bytes)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
}
