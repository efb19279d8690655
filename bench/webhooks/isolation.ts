import { join } from 'node:path';
import { mkdirSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTraffic } from '../traffic.ts';
import { callSteadily } from './caller.ts';
import { type Children, end } from './children.ts';
import type { Receiver } from './receiver-client.ts';
import { median, print, quantile, type BenchOptions } from './report.ts';
import { seedCustomers } from './seed.ts';

/**
 * How late deliveries of healthy endpoints are, from the decision's answer to the arrival, while all endpoints answer and while one
 * in ten never does. Both in turns, so that the machine's own unrest shows in both. All endpoints are paths of one host, which is
 * the harder case: its allowance is shared.
 */
/** Few for each customer, so that as many deliveries come of more decisions and one stall is not a hundredth of them. */
const WEBHOOKS_EACH = 4;
const HANGING_SHARE = 0.1;
/** Between looks whether what was sent last has arrived, and how many there are; what is missing then is told as missing. */
const SETTLE_MS = 500;
const LOOKS_MAX = 20;

interface Phase {
  readonly p50: number;
  readonly p99: number;
}

export async function benchIsolation(options: BenchOptions, children: Children, receiver: Receiver): Promise<void> {
  const { endpoints, rate, rounds, seconds } = options;
  const dataDir = join(options.folder, 'isolation');
  mkdirSync(dataDir);
  const paths = Array.from({ length: endpoints }, (_, n) => `/hook/${n}`);
  const groups = Array.from({ length: Math.ceil(endpoints / WEBHOOKS_EACH) }, (_, n) =>
    paths.slice(n * WEBHOOKS_EACH, (n + 1) * WEBHOOKS_EACH),
  );
  const hanging = paths.filter((_, n) => n % Math.round(1 / HANGING_SHARE) === 0);
  const customers = await seedCustomers(
    dataDir,
    groups.map((group) => group.map((path) => receiver.url(path))),
  );
  const { port, child } = await children.serve(dataDir, options.nodeFlags);
  receiver.order({ kind: 'reset' });
  receiver.order({ kind: 'record' });
  const nextBody = createTraffic(20_261_121, Math.floor(Date.now() / 1_000));
  const perSecond = rate / WEBHOOKS_EACH;
  const runPhase = async (hangs: readonly string[], length: number): Promise<Phase> => {
    receiver.order({ kind: 'hang', paths: hangs });
    const calls = await callSteadily({
      port,
      perSecond,
      seconds: length,
      callOf: (n) => ({ key: customers[n % customers.length]?.secretKey ?? '', body: nextBody() }),
    });
    const answeredMs = new Map(calls.map((call) => [call.requestId, call.answeredMs]));
    const expected = calls.length * WEBHOOKS_EACH * (1 - HANGING_SHARE);
    const late: number[] = [];
    for (let look = 0; look < LOOKS_MAX && late.length < expected; look++) {
      await sleep(SETTLE_MS);
      const { arrivals } = await receiver.report();
      for (const { path, requestId, atMs } of arrivals) {
        const sinceMs = answeredMs.get(requestId);
        if (sinceMs !== undefined && !hanging.includes(path)) late.push(atMs - sinceMs);
      }
    }
    const [p50, p99] = [quantile(late, 0.5), quantile(late, 0.99)];
    const name = hangs.length === 0 ? 'all answer' : `${hangs.length} of ${endpoints} hang`;
    const figures = [p50, p99, quantile(late, 1)].map((ms) => ms.toFixed(2));
    print(name, ...figures, String(late.length), (expected - late.length).toFixed(0));
    return { p50, p99 };
  };

  console.log(
    `isolation: ${endpoints} endpoints, ${rate} deliveries/s, ${rounds} rounds of two phases of ${seconds} s`,
  );
  print('', 'p50 ms', 'p99 ms', 'most ms', 'samples', 'missing');
  await runPhase([], Math.min(2, seconds));
  const calm: Phase[] = [];
  const troubled: Phase[] = [];
  for (let round = 0; round < rounds; round++) {
    calm.push(await runPhase([], seconds));
    troubled.push(await runPhase(hanging, seconds));
  }
  for (const name of ['p50', 'p99'] as const) {
    const [before, after] = [calm, troubled].map((phases) => median(phases.map((phase) => phase[name])));
    const change = 100 * ((after ?? 0) / (before ?? 1) - 1);
    console.log(`${name} of healthy endpoints, medians of ${rounds}: ${change.toFixed(0)} % (under 20 %)`);
  }
  await end(child);
  rmSync(dataDir, { recursive: true });
}
