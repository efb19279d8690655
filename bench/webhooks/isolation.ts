import type { ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTraffic } from '../traffic.ts';
import { changeOf, compareBoth, type Phase } from './both.ts';
import { callSteadily } from './caller.ts';
import { type Children, end } from './children.ts';
import type { Receiver } from './receiver-client.ts';
import { print, quantile, type BenchOptions } from './report.ts';
import { seedCustomers } from './seed.ts';

/**
 * Measures the lateness of deliveries to healthy endpoints, from the response of the decision to the arrival of the delivery, where all
 * endpoints respond and where one in ten hangs. Two servers run at the same time, so that each stall of the machine affects both, and take
 * turns at having the endpoints that hang. All endpoints are paths of one host, which is the harder case: they share the host's connection
 * limit.
 */
/**
 * Few webhooks per customer, so that the same number of deliveries comes from more decisions and one stall affects less than a hundredth of
 * them.
 */
const WEBHOOKS_EACH = 4;
const HANGING_SHARE = 0.1;
/**
 * Interval between polls for the arrival of the last deliveries, and the maximum number of polls; deliveries still outstanding then are
 * reported as missing.
 */
const SETTLE_MS = 500;
const LOOKS_MAX = 20;

interface Side {
  readonly port: number;
  readonly child: ChildProcess;
  readonly keys: readonly string[];
  /** Paths of the endpoints that hang when it is this side's turn. */
  readonly hanging: ReadonlySet<string>;
}

/** Observations of one side in one phase. */
interface Seen {
  /** Request id → time of its response. */
  readonly answeredMs: ReadonlyMap<string, number>;
  /** Lateness of deliveries to healthy endpoints, ms from response to arrival. */
  readonly late: number[];
}

export async function benchIsolation(options: BenchOptions, children: Children, receiver: Receiver): Promise<void> {
  const { endpoints, rate, rounds, seconds } = options;
  const sides = [await startSide('a', options, children, receiver), await startSide('b', options, children, receiver)];
  const hangingCount = sides[0]?.hanging.size ?? 0;
  const isHanging = (path: string): boolean => sides.some(({ hanging }) => hanging.has(path));
  receiver.order({ kind: 'reset' });
  receiver.order({ kind: 'record' });
  const nextBody = createTraffic(20_261_121, Math.floor(Date.now() / 1_000));

  const decide = async ({ port, keys }: Side, length: number): Promise<Seen> => {
    const calls = await callSteadily({
      port,
      perSecond: rate / WEBHOOKS_EACH,
      seconds: length,
      callOf: (n) => ({ key: keys[n % keys.length] ?? '', body: nextBody() }),
    });
    return { answeredMs: new Map(calls.map((call) => [call.requestId, call.answeredMs])), late: [] };
  };

  /** Returns p50 and p99 of each side. Prints them and the number of missing samples. */
  const runPhase = async (troubled: Side | null, length: number): Promise<readonly Phase[]> => {
    receiver.order({ kind: 'hang', paths: [...(troubled?.hanging ?? [])] });
    const seen = await Promise.all(sides.map((side) => decide(side, length)));
    const expected = rate * length * (1 - HANGING_SHARE);
    for (let look = 0; look < LOOKS_MAX && seen.some(({ late }) => late.length < expected); look++) {
      await sleep(SETTLE_MS);
      const { arrivals } = await receiver.report();
      for (const { path, requestId, atMs } of arrivals) {
        const of = seen.find(({ answeredMs }) => answeredMs.has(requestId));
        if (of !== undefined && !isHanging(path)) of.late.push(atMs - (of.answeredMs.get(requestId) ?? 0));
      }
    }
    return seen.map(({ late }, at) => {
      const [p50, p99] = [quantile(late, 0.5), quantile(late, 0.99)];
      const name = sides[at] === troubled ? `${hangingCount} of ${endpoints} hang` : 'all respond';
      const figures = [p50, p99, quantile(late, 1)].map((ms) => ms.toFixed(2));
      print(name, ...figures, String(late.length), (expected - late.length).toFixed(0));
      return { p50, p99 };
    });
  };

  console.log(
    `isolation: two servers of ${endpoints} endpoints, ${rate} deliveries/s each, ${rounds} rounds of two phases of ${seconds} s`,
  );
  print('', 'p50 ms', 'p99 ms', 'max ms', 'samples', 'missing');
  await runPhase(null, Math.min(2, seconds));
  const ratio = await compareBoth(sides, rounds, (troubled) => runPhase(troubled, seconds));
  for (const name of ['p50', 'p99'] as const)
    console.log(
      `${name} of healthy endpoints, median of ${ratio.phases} phases: ${changeOf(ratio[name])} (target: under 20 %)`,
    );
  for (const { child } of sides) await end(child);
}

async function startSide(
  name: string,
  { folder, endpoints, nodeFlags }: BenchOptions,
  children: Children,
  receiver: Receiver,
): Promise<Side> {
  const dataDir = join(folder, `isolation-${name}`);
  mkdirSync(dataDir);
  const paths = Array.from({ length: endpoints }, (_, n) => `/${name}/hook/${n}`);
  const groups = Array.from({ length: Math.ceil(endpoints / WEBHOOKS_EACH) }, (_, n) =>
    paths.slice(n * WEBHOOKS_EACH, (n + 1) * WEBHOOKS_EACH),
  );
  const customers = await seedCustomers(
    dataDir,
    groups.map((group) => group.map((path) => receiver.url(path))),
  );
  const { port, child } = await children.serve(dataDir, nodeFlags);
  const hanging = new Set(paths.filter((_, n) => n % Math.round(1 / HANGING_SHARE) === 0));
  return { port, child, keys: customers.map(({ secretKey }) => secretKey), hanging };
}
