/** One of several threads that write events into one table at the same time. */
import { parentPort, workerData } from 'node:worker_threads';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { LocalVelocity } from '../../../src/velocity/local-velocity.ts';
import type { VelocityMemory } from '../../../src/velocity/memory.ts';

export interface HammerTask {
  readonly memory: VelocityMemory;
  /** All threads wait until it is 1. */
  readonly start: SharedArrayBuffer;
  readonly thread: number;
  readonly events: number;
  /**
   * `hot`: all threads use one session; `first`: each event has a new session, the same ones for all threads; `own`: sessions of this
   * thread only.
   */
  readonly aim: 'hot' | 'first' | 'own';
  readonly nowMs: number;
}

export interface HammerResult {
  readonly firsts: number;
  readonly nulls: number;
  /** Tokens that were not used before. */
  readonly unused: number;
}

const { memory, start, thread, events, aim, nowMs } = workerData as HammerTask;
const velocity = new LocalVelocity(memory);
const gate = new Int32Array(start);
parentPort?.postMessage('ready');
Atomics.wait(gate, 0, 0);

let firsts = 0;
let nulls = 0;
let unused = 0;
for (let n = 0; n < events; n++) {
  const key = aim === 'hot' ? 'hot' : aim === 'first' ? `key-${n}` : `key-${thread}-${n}`;
  const [facts] = velocity.observe([
    {
      customer: 7 as CustomerNumber,
      publicKey: false,
      nowMs: nowMs + Math.floor((n * 10_000) / events),
      eventType: 'payment',
      sessionId: key,
      networks: aim === 'hot' ? { host: '81.2.69.1', site: '81.2.69', region: '81.2' } : null,
      country: null,
      place: null,
      agent: null,
      agentHash: 0,
      exactAgentHash: 0,
      agentLanguageHash: 0,
      mail: null,
      outcome: null,
      entities: [{ name: 'user_id', value: key }],
      device: aim === 'hot' ? `device-${thread}-${n % 5}` : null,
      browser: null,
      // All threads present the same tokens, in the same order.
      grant: aim === 'hot' ? { nonceLow: 1, nonceHigh: 2, seq: n } : null,
      amount: aim === 'hot' ? { value: 10, currency: 'EUR' } : null,
      counters: [],
    },
  ]);
  if (facts === null || facts === undefined) nulls++;
  else {
    if (facts.session.isFirstEvent) firsts++;
    if (!facts.isTokenReplayed) unused++;
  }
}
parentPort?.postMessage({ firsts, nulls, unused } satisfies HammerResult);
