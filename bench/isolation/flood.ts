import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTraffic } from '../traffic.ts';
import { changeOf, compareBoth, type Phase } from '../webhooks/both.ts';
import { callSteadily } from '../webhooks/caller.ts';
import { type Children, lineOf, type Server } from '../webhooks/children.ts';
import { print, quantile } from '../webhooks/report.ts';
import { largestCalls } from './calls.ts';
import type { Seeded } from './seed.ts';
import { startServer, type IsolationOptions } from './server.ts';

/** Calls of the busy customer and their concurrency. Each is repeated at ten times the permitted rate. */
const FLOODS: readonly (readonly [name: string, atOnce: number])[] = [
  ['lists, 1,000 entries', 64],
  ['list entry, 1 MB of numbers', 8],
  ['connectors', 32],
  ['records, JSON, 10 MB', 8],
  ['lists/batch, 1,000 entries', 8],
];
const FLOOD_PER_SECOND = 1_000;

type Side = Server & Seeded;

/**
 * Measures the latency of one customer's decisions while another customer requests the largest pages and sends the largest bodies. Two
 * servers run at the same time and take turns at being flooded, so that each stall of the machine affects both.
 */
export async function benchFlood(options: IsolationOptions, children: Children): Promise<void> {
  const { folder, rate, rounds, seconds } = options;
  const sides: readonly Side[] = [
    await startServer('flood-a', options, children),
    await startServer('flood-b', options, children),
  ];
  const nextBody = createTraffic(3, Math.floor(Date.now() / 1_000));

  const decide = async (side: Side): Promise<Phase> => {
    const callOf = (): { key: string; body: string } => ({ key: side.calmKey, body: nextBody() });
    const calls = await callSteadily({ port: side.port, perSecond: rate, seconds, callOf });
    const latencies = calls.map(({ latencyMs }) => latencyMs);
    return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
  };

  console.log(`flood: decisions of another customer, ${rate}/s at each of two servers, ${rounds} rounds of two phases`);
  for (const [name, atOnce] of FLOODS) {
    print(`${name}, ${atOnce} concurrent`);
    print('', 'p50 ms', 'p99 ms', 'p50', 'p99');
    const ratio = await compareBoth(sides, rounds, async (flooded) => {
      const call = largestCalls(flooded).find((one) => one.name === name);
      const file = join(folder, 'flood.json');
      writeFileSync(file, JSON.stringify({ key: flooded.busyKey, call }));
      const words = [flooded.port, file, FLOOD_PER_SECOND, atOnce, seconds].map(String);
      const flooder = children.spawn(new URL('./flooder.js', import.meta.url).href, ...words);
      const counts = lineOf(flooder, () => true);
      const phases = await Promise.all(sides.map(decide));
      const [of, other] = flooded === sides[0] ? phases : phases.toReversed();
      if (of !== undefined && other !== undefined)
        print('', ...[of.p50, of.p99, other.p50, other.p99].map((ms) => ms.toFixed(2)), await counts);
      return phases;
    });
    console.log(`p50 ${changeOf(ratio.p50)}, p99 ${changeOf(ratio.p99)}, median of ${ratio.phases} phases`);
  }
}
