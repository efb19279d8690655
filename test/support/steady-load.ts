import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { decide, newcomer } from './requests.ts';

/** Decisions at a fixed rate, whether or not earlier ones were answered: a server that waits delays all that are due meanwhile. */

export interface LoadPlan {
  readonly perSecond: number;
  readonly seconds: number;
}

export interface LoadFigures {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** HTTP status → responses; 0 for those that never came. */
  readonly statuses: Readonly<Record<number, number>>;
  /** When those were sent that were not answered with 200, on the clock of `performance.now`. */
  readonly failedAtMs: readonly number[];
  /** Decisions that reported that this node was alone. */
  readonly degraded: number;
  /** Ids that were answered with a decision. */
  readonly accepted: readonly string[];
}

/** `urlOf` returns the node of the n-th request. */
export async function steadyLoad(
  urlOf: (n: number) => string,
  key: string,
  { perSecond, seconds }: LoadPlan,
): Promise<LoadFigures> {
  const agent = new Agent({ keepAlive: true });
  const latenciesMs: number[] = [];
  const statuses: Record<number, number> = {};
  const accepted: string[] = [];
  const failedAtMs: number[] = [];
  let degraded = 0;
  const sendOne = async (n: number, dueMs: number): Promise<void> => {
    const requestId = randomUUID();
    const answer = await decide(urlOf(n), key, newcomer(), { agent, requestId }).catch(() => null);
    latenciesMs.push(performance.now() - dueMs);
    const status = answer?.status ?? 0;
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status === 200) accepted.push(requestId);
    else failedAtMs.push(dueMs);
    if (answer?.json['session_mode'] === 'degraded') degraded++;
  };
  const sent: Promise<void>[] = [];
  const startMs = performance.now();
  for (let n = 0; n < perSecond * seconds; n++) {
    const dueMs = startMs + (n * 1_000) / perSecond;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    // Lateness of this process is not the server's.
    sent.push(sendOne(n, Math.max(dueMs, performance.now())));
  }
  await Promise.all(sent);
  agent.destroy();
  latenciesMs.sort((a, b) => a - b);
  const at = (share: number): number => latenciesMs[Math.floor(latenciesMs.length * share)] ?? NaN;
  return {
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: latenciesMs.at(-1) ?? NaN,
    statuses,
    failedAtMs,
    degraded,
    accepted,
  };
}
