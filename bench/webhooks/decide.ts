import { createWriteStream, mkdirSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { load } from '../load.ts';
import { createTraffic, requestOf } from '../traffic.ts';
import { callSteadily } from './caller.ts';
import { type Children, end } from './children.ts';
import type { Receiver } from './receiver-client.ts';
import { median, print, quantile, type BenchOptions } from './report.ts';
import { seedCustomers } from './seed.ts';

/**
 * Decisions of a customer without webhooks, next to another customer's: without and with webhooks of that one, an endpoint that
 * answers, one that hangs and one that nobody listens at. Once at a steady rate, for the time that a decision takes, and once as
 * fast as it goes. Both in turns.
 */
/** Of all decisions, those of the customer that has webhooks. */
const HOOKED_SHARE = 0.05;
const STEADY_PER_SECOND = 500;
/** Requests that are prepared for a second of the fast phase. */
const PREPARED_PER_SECOND = 40_000;

interface Figures {
  readonly steadyP50: number;
  readonly steadyP99: number;
  readonly perSecond: number;
  readonly fastP99: number;
}

export async function benchDecide(options: BenchOptions, children: Children, receiver: Receiver): Promise<void> {
  const { rounds, seconds } = options;
  const dataDir = join(options.folder, 'decide');
  mkdirSync(dataDir);
  const urls = [receiver.url('/answers'), receiver.url('/hangs'), 'http://127.0.0.1:9/refuses'];
  const [plain, hooked, other] = await seedCustomers(dataDir, [[], urls, []]);
  if (plain === undefined || hooked === undefined || other === undefined) throw new Error('customers are missing');
  const { port, child } = await children.serve(dataDir, options.nodeFlags);
  receiver.order({ kind: 'reset' });
  receiver.order({ kind: 'hang', paths: ['/hangs'] });
  const file = join(options.folder, 'requests');
  let serial = 0;

  const run = async (name: string, sharing: string): Promise<Figures> => {
    const keyOf = (n: number): string => (n % Math.round(1 / HOOKED_SHARE) === 0 ? sharing : plain.secretKey);
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const nextBody = createTraffic(++serial, nowSeconds);
    const callOf = (n: number): { key: string; body: string } => ({ key: keyOf(n), body: nextBody() });
    const calls = await callSteadily({ port, perSecond: STEADY_PER_SECOND, seconds, callOf });
    const latencies = calls.map(({ latencyMs }) => latencyMs);
    await writeFile(file, PREPARED_PER_SECOND * seconds, (n) =>
      requestOf(serial * 1e7 + n, nextBody(), keyOf(n), '127.0.0.1', nowSeconds),
    );
    const fast = await load(port, file, seconds);
    const figures = {
      steadyP50: quantile(latencies, 0.5),
      steadyP99: quantile(latencies, 0.99),
      perSecond: fast.requests / fast.seconds,
      fastP99: fast.p99_ms,
    };
    const { steadyP50, steadyP99, perSecond, fastP99 } = figures;
    print(
      name,
      steadyP50.toFixed(2),
      steadyP99.toFixed(2),
      perSecond.toFixed(0),
      fastP99.toFixed(2),
      String(fast.failed),
    );
    return figures;
  };

  console.log(
    `decide: ${HOOKED_SHARE * 100} % of the decisions have webhooks, ${STEADY_PER_SECOND}/s and as fast as it goes, ${rounds} rounds`,
  );
  print('', 'p50 ms', 'p99 ms', 'fast/s', 'fast p99', 'failed');
  await run('(not counted)', other.secretKey);
  const without: Figures[] = [];
  const delivering: Figures[] = [];
  for (let round = 0; round < rounds; round++) {
    without.push(await run('no webhooks', other.secretKey));
    delivering.push(await run('delivering', hooked.secretKey));
  }
  for (const name of ['steadyP99', 'perSecond', 'fastP99'] as const) {
    const [before, after] = [without, delivering].map((all) => median(all.map((figures) => figures[name])));
    console.log(`${name}, medians of ${rounds}: ${(100 * ((after ?? 0) / (before ?? 1) - 1)).toFixed(0)} %`);
  }
  await end(child);
  rmSync(dataDir, { recursive: true });
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
