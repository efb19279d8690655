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
import { Meter, type Used } from './usage.ts';

/**
 * Measures the decisions of a customer without webhooks next to another customer, first without and then with webhooks of that other
 * customer: an endpoint that responds, one that hangs and one that refuses connections. The latency of a decision at a steady rate is
 * measured on two servers at the same time, so that each stall of the machine affects both; the maximum throughput is measured on one
 * server, alternating. There the source of the load and the receiver of the deliveries use the same processors as the server, so the change
 * of the throughput contains their work; the processor time per decision of each process is therefore measured as well.
 */
/** Share of all decisions that belong to the customer with webhooks. */
const HOOKED_SHARE = 0.05;
const STEADY_PER_SECOND = 500;
/** Number of requests prepared per second of the maximum-throughput phase: more than a server answers. */
const PREPARED_PER_SECOND = 40_000;
/** Choice: the smoke mode shares the machine with other tests. */
const PREPARED_FOR_SMOKE = 25_000;

interface Side {
  readonly port: number;
  readonly child: ChildProcess;
  readonly plain: string;
  /** Key of the customer with webhooks, and of the customer without webhooks that replaces it in the reference phases. */
  readonly hooked: string;
  readonly unhooked: string;
}

export async function benchDecide(options: BenchOptions, children: Children, receiver: Receiver): Promise<void> {
  const { rounds, seconds, folder, isSmoke } = options;
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

  const decideFast = async (
    side: Side,
    isDelivering: boolean,
    name = nameOf(isDelivering),
    share = HOOKED_SHARE,
  ): Promise<FastPhase> => {
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const nextBody = createTraffic(++serial, nowSeconds);
    await writeFile(file, (isSmoke ? PREPARED_FOR_SMOKE : PREPARED_PER_SECOND) * seconds, (n) =>
      requestOf(serial * 1e7 + n, nextBody(), keyOf(side, isDelivering, n, share), '127.0.0.1', nowSeconds),
    );
    const before = await settled(receiver);
    const meters = [new Meter(side.child), new Meter(receiver.child)];
    const fast = await load(side.port, file, seconds);
    const deliveries = (await settled(receiver)) - before;
    const [server, other] = meters.map((meter) => meter.lap());
    const perSecond = fast.requests / fast.seconds;
    const phase = {
      perSecond,
      decisions: fast.requests,
      deliveries,
      server: server ?? UNKNOWN,
      receiver: other ?? UNKNOWN,
    };
    print(
      name,
      perSecond.toFixed(0),
      fast.p99_ms.toFixed(2),
      String(deliveries),
      (phase.server.allUs / fast.requests).toFixed(1),
      (phase.server.mainUs / fast.requests).toFixed(1),
      (phase.receiver.allUs / fast.requests).toFixed(1),
      String(fast.failed),
    );
    return phase;
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
  print('', 'fast/s', 'p99 ms', 'delivered', 'server µs', 'main µs', 'receiver', 'failed');
  const fast: Difference[] = [];
  // Code that has run only a few thousand times costs several times as much: see the first fifth of a backlog in `throughput`.
  if (!isSmoke) {
    await decideFast(first, true, 'warm-up, all hooked', 1);
    await decideFast(first, true, 'warm-up');
  }
  for (let round = 0; round < rounds; round++) {
    // Which of the two comes first changes, because a server becomes faster for a while.
    const isFirst = round % 2 === 1;
    const phases = [await decideFast(first, isFirst), await decideFast(first, !isFirst)] as const;
    fast.push(compareFast(phases[isFirst ? 1 : 0], phases[isFirst ? 0 : 1]));
  }
  const middle = (name: keyof Difference): number => median(fast.map((round) => round[name]));
  console.log(`processor time of the server per decision: ${changeOf(middle('server'))} by deliveries`);
  console.log(`processor time of its main thread per decision: ${changeOf(middle('main'))}`);
  console.log(
    `processor time per delivery, µs: server ${middle('deliveryUs').toFixed(0)}, receiver ${middle('receiverUs').toFixed(0)}`,
  );
  console.log(`decisions per second, median of ${rounds} rounds: ${changeOf(middle('perSecond'))}`);
  for (const { child } of sides) await end(child);
}

/** One phase at the maximum throughput. */
interface FastPhase {
  readonly perSecond: number;
  readonly decisions: number;
  /** Deliveries that got a response. */
  readonly deliveries: number;
  readonly server: Used;
  readonly receiver: Used;
}

/** What deliveries change: ratios of the phase with them and the one before it, and processor time per delivery, µs. */
interface Difference {
  readonly perSecond: number;
  readonly server: number;
  readonly main: number;
  readonly deliveryUs: number;
  readonly receiverUs: number;
}

const UNKNOWN: Used = { allUs: NaN, mainUs: NaN };
/** How long nothing must arrive until all deliveries of a phase are assumed to have arrived. */
const QUIET_MS = 300;

/** A skipped decision, and one whose endpoint fails, count as cost of the deliveries that succeed. */
function compareFast(without: FastPhase, delivering: FastPhase): Difference {
  const { decisions, deliveries } = delivering;
  const expected = (name: keyof Used): number => (without.server[name] / without.decisions) * decisions;
  return {
    perSecond: delivering.perSecond / without.perSecond,
    server: delivering.server.allUs / expected('allUs'),
    main: delivering.server.mainUs / expected('mainUs'),
    deliveryUs: (delivering.server.allUs - expected('allUs')) / deliveries,
    receiverUs: (delivering.receiver.allUs - without.receiver.allUs) / deliveries,
  };
}

/** Returns the number of responses of the receiver once no more deliveries arrive. */
async function settled(receiver: Receiver): Promise<number> {
  for (let before = -1; ;) {
    const { count } = await receiver.report();
    if (count === before) return count;
    before = count;
    await new Promise((done) => setTimeout(done, QUIET_MS));
  }
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

function keyOf({ plain, hooked, unhooked }: Side, isDelivering: boolean, n: number, share = HOOKED_SHARE): string {
  if (n % Math.round(1 / share) !== 0) return plain;
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
