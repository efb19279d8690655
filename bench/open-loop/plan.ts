import { randomOf } from '../../scripts/traffic/random.ts';
import type { TrafficShape } from '../traffic.ts';

/** Work of one sender process in one phase. Sent to the process as a message. */
export interface SendPlan {
  /** Origin of the target, for example `http://127.0.0.1:8080`. */
  readonly origin: string;
  readonly key: string;
  readonly arrivals: ArrivalPlan;
  readonly connections: number;
  readonly seed: number;
  readonly shape: Partial<TrafficShape>;
  /** How long the sender waits for outstanding responses after the last request is due, ms. */
  readonly drainMs: number;
}

export interface ArrivalPlan {
  readonly perSecond: number;
  readonly seconds: number;
  /** `even`: one request every 1/rate seconds. `poisson`: independent requests, with the bursts that real traffic has. */
  readonly process: ArrivalProcess;
  readonly seed: number;
}

export const ARRIVAL_PROCESSES = ['even', 'poisson'] as const;
export type ArrivalProcess = (typeof ARRIVAL_PROCESSES)[number];

/**
 * Computes the due times of the requests, in ms after the start of the phase, ascending: `perSecond * seconds` values. The due times never
 * depend on responses (open loop), so a stall of the server delays the latency of every request that was due during the stall.
 */
export function planArrivals({ perSecond, seconds, process, seed }: ArrivalPlan): Float64Array {
  const count = Math.round(perSecond * seconds);
  const due = new Float64Array(count);
  if (process === 'even') return due.map((_, n) => (n * 1_000) / perSecond);
  const random = randomOf(seed);
  let atMs = 0;
  return due.map(() => {
    atMs += (-Math.log(1 - random()) * 1_000) / perSecond;
    return atMs;
  });
}
