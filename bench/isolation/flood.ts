import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTraffic } from '../traffic.ts';
import { changeOf, compareBoth, type Phase } from '../webhooks/both.ts';
import { callSteadily } from '../webhooks/caller.ts';
import { type Children, lineOf } from '../webhooks/children.ts';
import { print, quantile } from '../webhooks/report.ts';
import { callOnce } from './call-once.ts';
import { post } from './calls.ts';
import { floods } from './floods.ts';
import { type IsolationOptions, type Side, startServer } from './server.ts';

const HOSTILE_WEBHOOKS = 20;
const HOSTILE_KINDS = ['hang', 'drip', 'endless', 'reset', 'redirect'] as const;

/**
 * Measures the latency of one customer's decisions while another customer requests the largest pages and sends the largest bodies. Two
 * servers run at the same time and take turns at being flooded, so that each stall of the machine affects both.
 */
export async function benchFlood(options: IsolationOptions, children: Children): Promise<void> {
  const { folder, rate, rounds, seconds, only } = options;
  const sides: readonly Side[] = [
    await startServer('flood-a', options, children),
    await startServer('flood-b', options, children),
  ];
  await subscribeHostile(sides, children);
  const nextBody = createTraffic(3, Math.floor(Date.now() / 1_000));

  const decide = async (side: Side): Promise<Phase> => {
    const callOf = (): { key: string; body: string } => ({ key: side.calmKey, body: nextBody() });
    const calls = await callSteadily({ port: side.port, perSecond: rate, seconds, callOf });
    const latencies = calls.map(({ latencyMs }) => latencyMs);
    return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
  };

  console.log(`flood: decisions of another customer, ${rate}/s at each of two servers, ${rounds} rounds of two phases`);
  for (const { name, atOnce, kind, callsOf, perSecond } of floods(nextBody)) {
    if (!only.split('|').some((part) => name.includes(part))) continue;
    print(`${name}, ${atOnce} concurrent`);
    print('', 'p50 ms', 'p99 ms', 'ran', 'waited', 'p50', 'p99', 'ran', 'waited');
    const ratio = await compareBoth(sides, rounds, async (flooded) => {
      const file = join(folder, 'flood.json');
      const order = { key: flooded.busyKey, calls: callsOf(flooded), kind, atOnce, perSecond };
      writeFileSync(file, JSON.stringify(order));
      const words = [flooded.port, file, seconds].map(String);
      const flooder = children.spawn(new URL('./flooder.js', import.meta.url), ...words);
      const counts = lineOf(flooder, () => true);
      const before = sides.map(mainThreadMs);
      const phases = await Promise.all(sides.map(decide));
      const counted = await counts;
      const shown = sides.map((side, at) => {
        const [ran = 0, waited = 0] = mainThreadMs(side).map((ms, i) => ms - (before[at]?.[i] ?? 0));
        const { p50 = 0, p99 = 0 } = phases[at] ?? {};
        return [p50.toFixed(2), p99.toFixed(2), ...[ran, waited].map((ms) => `${(ms / seconds / 10).toFixed(1)} %`)];
      });
      print('', ...(flooded === sides[0] ? shown : shown.toReversed()).flat(), counted);
      return phases;
    });
    console.log(`p50 ${changeOf(ratio.p50)}, p99 ${changeOf(ratio.p99)}, median of ${ratio.phases} phases`);
  }
}

/** Gives the busy customer of each side endpoints at one hostile host, which get an event of every flagged decision of theirs. */
async function subscribeHostile(sides: readonly Side[], children: Children): Promise<void> {
  const hostile = children.spawn(new URL('./hostile.js', import.meta.url));
  const port = await lineOf(hostile, () => true);
  for (const side of sides)
    for (let n = 0; n < HOSTILE_WEBHOOKS; n++) {
      const url = `http://127.0.0.1:${port}/${HOSTILE_KINDS[n % HOSTILE_KINDS.length] ?? 'hang'}-${n}`;
      const types = ['BLOCK', 'REVIEW', 'SOFT_CHALLENGE'];
      const { status } = await callOnce(
        side.port,
        side.busyKey,
        post('webhook', '/v1/webhooks', { url, event_types: types }),
      );
      if (status !== 201) throw new Error(`creating a webhook returned ${status}`);
    }
}

/** Time that the main thread of a server has run, and time that it was ready to run and had no processor, ms. Linux only. */
function mainThreadMs({ child }: Side): readonly number[] {
  const text = readFileSync(`/proc/${child.pid}/task/${child.pid}/schedstat`, 'latin1');
  return text.split(' ', 2).map((ns) => Number(ns) / 1e6);
}
