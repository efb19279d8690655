import { workerData } from 'node:worker_threads';
import { createGuardedClient } from '../src/egress/guarded-client.ts';
import { CONNECTORS } from '../src/extract/connectors/connector-table.ts';
import { UploadRunner } from '../src/extract/sinks/upload-runner.ts';
import { BodyCache } from '../src/extract/fetch/body-cache.ts';
import { RobotsCache } from '../src/extract/fetch/robots-cache.ts';
import { StepRunner } from '../src/extract/worker/step-runner.ts';
import { yieldToDecisions } from '../src/kernel/background.ts';
import type {
  ExtractEvent,
  ExtractOrder,
  ExtractPost,
  ExtractSignal,
  ExtractWorkerData,
} from '../src/extract/base/extract-messages.ts';

/** The extract worker: runs the steps that it receives until it is stopped. The work itself is in `src/extract`. */

/** Choice: ms between two signs of life. A worker counts as stuck after twelve missed ones. */
const ALIVE_MS = 5_000;

yieldToDecisions();
const data = workerData as ExtractWorkerData;
const client = createGuardedClient({ allow: data.egressAllow });

const nowMs = (): number => Date.now();
const after = (ms: number, then: () => void): (() => void) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};

const runnerFor = (emit: (event: ExtractEvent) => void): StepRunner =>
  new StepRunner({
    connectors: CONNECTORS,
    bases: data.bases,
    fetch: {
      client,
      robots: new RobotsCache(),
      bodies: new BodyCache(),
      clock: { nowMs, wait: (ms) => new Promise((done) => setTimeout(done, ms)) },
      random: Math.random,
      userAgent: data.userAgent,
    },
    monotonicMs: () => performance.now(),
    after,
    emit,
  });

export default async function post({ port }: ExtractPost): Promise<void> {
  const signal = (message: ExtractSignal): void => port.postMessage(message);
  let events: ExtractEvent[] = [];
  const flush = (): void => {
    signal({ kind: 'events', events });
    events = [];
  };
  // Events of one turn of the event loop are sent in one message.
  const runner = runnerFor((event) => {
    if (events.push(event) === 1) setImmediate(flush);
  });
  const uploads = new UploadRunner({ client, nowMs, after, random: Math.random, say: signal });
  const alive = setInterval(() => signal({ kind: 'alive' }), ALIVE_MS);
  await new Promise<void>((stop) => {
    port.on('message', (order: ExtractOrder) => {
      if (order.kind === 'listening') client.setForbidden(order.addresses);
      else if (order.kind === 'stop') stop();
      else if (order.kind === 'upload' || order.kind === 'answer') uploads.order(order);
      else runner.order(order);
    });
    signal({ kind: 'ready' });
  });
  clearInterval(alive);
  const uploaded = uploads.stop();
  client.close();
  await uploaded;
  // The task must not end before its last message was received. The other side confirms that by closing the port.
  const heard = new Promise<void>((done) => {
    port.once('close', done);
  });
  signal({ kind: 'stopped' });
  await heard;
}
