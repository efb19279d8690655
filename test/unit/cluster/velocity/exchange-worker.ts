/** One of several threads that exchange events with other nodes at the same time. */
import { parentPort, workerData } from 'node:worker_threads';
import { EncryptedValues } from '../../../../src/cluster/store/encrypted-values.ts';
import type { Link } from '../../../../src/cluster/store/link.ts';
import { openLink } from '../../../../src/cluster/store/redis-link.ts';
import { ClusterVelocity } from '../../../../src/cluster/velocity/cluster-velocity.ts';
import { VelocityExchange } from '../../../../src/cluster/velocity/velocity-exchange.ts';
import { LocalVelocity } from '../../../../src/velocity/local-velocity.ts';
import type { VelocityMemory } from '../../../../src/velocity/memory.ts';
import { event, users } from '../../velocity/events.ts';

export interface ExchangeTask {
  readonly url: string;
  readonly valuesKey: Uint8Array;
  readonly memory: VelocityMemory;
  /** All threads wait until it is 1. */
  readonly start: SharedArrayBuffer;
  readonly batches: number;
  readonly eventsPerBatch: number;
  readonly sessions: number;
}

const { url, valuesKey, memory, start, batches, eventsPerBatch, sessions } = workerData as ExchangeTask;
/** Batches at a time, as a score worker overlaps them. */
const LANES = 2;
const PATIENT_MS = 10_000;

const opened = openLink({ urls: [url], user: null, password: null });
while (!opened.isUp) await new Promise((done) => setTimeout(done, 5));
const link: Link = {
  isUp: true,
  send: (commands) => opened.send(commands, PATIENT_MS),
  close: () => opened.close(),
};
const exchange = new VelocityExchange({ memory, values: new EncryptedValues(valuesKey), link });
let next = 0;

async function runLane(): Promise<void> {
  const velocity = new ClusterVelocity(memory, new LocalVelocity(memory), exchange);
  while (next < batches) {
    const from = next++ * eventsPerBatch;
    const events = Array.from({ length: eventsPerBatch }, (_none, n) => {
      const name = `session-${(from + n) % sessions}`;
      return event({ sessionId: name, entities: users(name), device: null, networks: null });
    });
    await velocity.observe(events);
  }
}

parentPort?.postMessage('ready');
const gate = new Int32Array(start);
while (Atomics.load(gate, 0) === 0) await new Promise((done) => setImmediate(done));
await Promise.all(Array.from({ length: LANES }, runLane));
await exchange.flush();
exchange.close();
await link.close();
parentPort?.postMessage('done');
