import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Build } from './build.ts';
import { Rig, type RunningServer, stopServer } from './rig.ts';

/**
 * Figures of the hot thread alone, which the stages cannot show: a response that is written header by header costs sixteen system calls,
 * and a long turn delays every connection.
 */
export interface HotThread {
  /** System calls per decision, 64 at once; null where they cannot be counted. */
  readonly systemCalls: number | null;
  /** Longest turn of the event loop while it decides, ms; other work of the machine can only lengthen it. */
  readonly longestTurnMs: number;
}

/** Choice: above the present figure by less than one call for every tenth decision. A response in pieces takes 16. */
export const SYSTEM_CALLS_MAX = 2.4;

const PROBE = new URL('../isolation/probe.js', import.meta.url).href;
const USUAL = { warmUp: 10_000, counted: 2_000, counts: 3, timed: 200, times: 20 };
const SMOKE = { warmUp: 64, counted: 64, counts: 1, timed: 64, times: 1 };

/** Starts a server of this build and takes the least of several runs. */
export async function measureHotThread(build: Build, isSmoke: boolean): Promise<HotThread> {
  const { warmUp, counted, counts, timed, times } = isSmoke ? SMOKE : USUAL;
  const rig = new Rig();
  try {
    const server = await rig.startServer(build, 'uws', { nodeFlags: ['--import', PROBE] });
    const run = (): Promise<void> => rig.client.run(server.origin, server.keys.plain);
    const prepare = (count: number): Promise<void> => rig.client.prepare([server.keys.plain], count);
    await rig.client.begin();
    await prepare(warmUp);
    await run();
    let longestTurn = Number.POSITIVE_INFINITY;
    for (let n = 0; n < times; n++) {
      await prepare(timed);
      longestTurn = Math.min(longestTurn, await longestTurnMs(server, run));
    }
    let systemCalls = Number.POSITIVE_INFINITY;
    for (let n = 0; n < counts; n++) {
      await prepare(counted);
      systemCalls = Math.min(systemCalls, ((await systemCallsOf(server.child, run)) ?? Number.NaN) / counted);
    }
    await stopServer(server);
    return { systemCalls: Number.isNaN(systemCalls) ? null : systemCalls, longestTurnMs: longestTurn };
  } finally {
    await rig.close();
  }
}

async function longestTurnMs({ child }: RunningServer, run: () => Promise<void>): Promise<number> {
  child.send('begin');
  await run();
  child.send('end');
  const [{ longestMs }] = (await once(child, 'message')) as [{ longestMs: number }];
  return longestMs;
}

/** Counts those of the main thread, which has the number of the process; null without the tool or the right to trace. */
async function systemCallsOf({ pid }: ChildProcess, run: () => Promise<void>): Promise<number | null> {
  const tracer = spawn('strace', ['-e', 'signal=none', '-p', String(pid)], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<void>((done) => tracer.once('close', done).once('error', done));
  let calls = 0;
  const isAttached = await Promise.race([
    ended.then(() => false),
    new Promise<boolean>((attached) => {
      // Prints a line for each call, and lines of its own.
      createInterface(tracer.stderr).on('line', (line) => {
        if (!line.startsWith('strace:')) calls++;
        else if (line.endsWith(' attached')) attached(true);
      });
    }),
  ]);
  if (!isAttached) return null;
  await run();
  tracer.kill('SIGINT');
  await ended;
  return calls;
}

/** Returns the line of the report. */
export function hotThreadLine({ systemCalls, longestTurnMs: turnMs }: HotThread): string {
  const calls =
    systemCalls === null
      ? 'system calls not counted here (no strace)'
      : `${systemCalls.toFixed(2)} system calls per decision (at most ${SYSTEM_CALLS_MAX})`;
  return `hot thread: ${calls}, longest turn ${turnMs.toFixed(2)} ms`;
}

export function hotThreadJson({ systemCalls, longestTurnMs: turnMs }: HotThread): object {
  return { system_calls: systemCalls, longest_turn_ms: turnMs };
}

export function hasTooManyCalls({ systemCalls }: HotThread): boolean {
  return systemCalls !== null && systemCalls > SYSTEM_CALLS_MAX;
}
