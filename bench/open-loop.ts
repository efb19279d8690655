import { writeFileSync } from 'node:fs';
import { SingleBar } from 'cli-progress';
import { readOptions, type LoadOptions } from './open-loop/options.ts';
import { readOrExit } from './read-or-exit.ts';
import type { SendPlan } from './open-loop/plan.ts';
import { ratiosOf, reportPhase, tableOf, type PhaseReport } from './open-loop/report.ts';
import { Sender } from './open-loop/run-phase.ts';
import { openEcho, openServer, type Target } from './open-loop/targets.ts';

/**
 * Latency of POST /v1/decide under a fixed request rate (open loop), next to a bare echo server through the same client. Bounded
 * in time and count. `--help` lists the options.
 */

const options = readOrExit(readOptions);
const phases: PhaseReport[] = [];
const opened: Target[] = [];
const sender = new Sender();
/** Choice: longer than any deadline of the service. */
const DRAIN_MS = 10_000;

try {
  await main();
} finally {
  sender.close();
  for (const target of opened) await target.stop();
}

async function main(): Promise<void> {
  const echo = options.echo ? await open(openEcho(options.transport)) : null;
  const fixed = options.fromStart ? null : await open(openServer(options));
  // Warms up the client, so that the latency of its own first requests is not attributed to the server.
  const warm = echo ?? fixed;
  if (warm !== null) await sender.run(planFor(warm, { rate: 1_000, seconds: 1, seed: 0 }));
  for (const rate of options.rate)
    for (let round = 0; round < options.rounds; round++) {
      if (echo !== null) await measure(echo, rate, round);
      const server = fixed ?? (await openServer(options));
      try {
        await measure(server, rate, round);
      } finally {
        if (fixed === null) await server.stop();
      }
    }
  console.log(tableOf(phases));
  for (const line of ratiosOf(phases)) console.log(line);
  if (options.json !== undefined) {
    const { key: _, ...shown } = options;
    writeFileSync(
      options.json,
      `${JSON.stringify({ at: new Date().toISOString(), node: process.version, options: shown, phases }, null, 1)}\n`,
    );
  }
  if (options.picture !== undefined) {
    const { drawPicture } = await import('./open-loop/picture.ts');
    writeFileSync(options.picture, drawPicture(phases, titleOf(options)));
  }
}

async function open(opening: Promise<Target>): Promise<Target> {
  const target = await opening;
  opened.push(target);
  return target;
}

async function measure(target: Target, rate: number, round: number): Promise<void> {
  const { warmUp, seconds, rounds } = options;
  const bar = new SingleBar({
    format: `${target.name.padEnd(9)} ${rate}/s, round ${round + 1} of ${rounds} {bar} {value}/{total}, {failed} failed`,
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
  });
  const total = Math.round(rate * (warmUp + seconds));
  if (process.stderr.isTTY) bar.start(total, 0, { failed: 0 });
  const plan = planFor(target, { rate, seconds: warmUp + seconds, seed: options.seed + 1_000 * round + rate });
  const outcome = await sender.run(plan, ({ answered, failed }) => bar.update(answered, { failed }));
  bar.stop();
  const isFromStart = options.fromStart && target.name !== 'bare echo';
  phases.push(reportPhase(outcome, { target: target.name, rate, round, warmUpMs: warmUp * 1_000, isFromStart }));
}

function planFor(target: Target, { rate, seconds, seed }: { rate: number; seconds: number; seed: number }): SendPlan {
  const { arrivals: process, connections, sessions, collector, headers, mix } = options;
  return {
    origin: target.origin,
    key: target.key,
    arrivals: { perSecond: rate, seconds, process, seed },
    connections,
    seed,
    shape: { sessions, collectorShare: collector, headersShare: headers, ...(mix !== undefined && { events: mix }) },
    drainMs: DRAIN_MS,
  };
}

function titleOf({ arrivals, connections, rounds }: LoadOptions): string {
  return `POST /v1/decide, open loop, ${arrivals} arrivals, ${connections} connections, median of ${rounds} rounds`;
}
