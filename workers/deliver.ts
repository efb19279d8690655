import { threadId, workerData } from 'node:worker_threads';
import { JournalTail } from '../src/decide/journal-tail.ts';
import { createGuardedClient } from '../src/egress/guarded-client.ts';
import { yieldToDecisions } from '../src/kernel/background.ts';
import { DELIVERY_CONNECT_MS, DELIVERY_RESPONSE_BYTES_MAX } from '../src/kernel/limits.ts';
import { openDeliveryStore } from '../src/state/open-store.ts';
import type { DeliverPost, DeliverSignal, DeliverWorkerData, ThreadOrder } from '../src/webhooks/deliver-messages.ts';
import { DeliveryThread } from '../src/webhooks/delivery-thread.ts';
import { DeliveryWorker, type AttemptEnd, type AttemptRequest } from '../src/webhooks/delivery-worker.ts';
import { signedHeaders } from '../src/webhooks/sign-delivery.ts';

/** The delivery thread: stores and sends deliveries until it is stopped. The work itself is in `src/webhooks` and `src/egress`. */

/** Choice: the main thread looks once a second. */
const BEAT_MS = 250;

yieldToDecisions();
const data = workerData as DeliverWorkerData;
const client = createGuardedClient({ allow: data.egressAllow });

async function send({ url, headers, body, timeoutMs }: AttemptRequest): Promise<AttemptEnd> {
  const outcome = await client.request({
    url,
    method: 'POST',
    headers,
    body,
    timeoutMs,
    connectMs: Math.min(DELIVERY_CONNECT_MS, timeoutMs),
    responseBytesMax: DELIVERY_RESPONSE_BYTES_MAX,
    discardBody: true,
  });
  const statusCode = outcome.kind === 'response' ? outcome.status : null;
  return { outcome, statusCode, durationMs: outcome.durationMs };
}

/** A wait of 0 lasts until the next turn of the event loop, which comes sooner than any timer. */
function after(ms: number, then: () => void): () => void {
  if (ms === 0) {
    const soon = setImmediate(then);
    return () => clearImmediate(soon);
  }
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
}

export default async function post({ port }: DeliverPost): Promise<void> {
  const signal = (message: DeliverSignal): void => port.postMessage(message);
  const store = openDeliveryStore(data.dataDir);
  const beat = setInterval(() => Atomics.add(data.beat, 0, 1), BEAT_MS);
  await new Promise<void>((done) => {
    const thread = new DeliveryThread({
      webhooks: {
        loadAll: () => store.webhooks.loadAll(),
        secretsOf(webhook) {
          store.resetRead();
          const secrets = store.webhooks.secretsOf(data.secretsKey, webhook);
          // A webhook that was just removed has no secret either.
          if (secrets === null && store.webhooks.find(webhook.customer, webhook.id) !== null) {
            const { id, customer } = webhook;
            const text = "a webhook's secret cannot be read; its deliveries stay pending";
            signal({ kind: 'log', line: ['error', { webhook: id, customer }, text] });
          }
          return secrets;
        },
      },
      deliveries: store.deliveries,
      nowMs: () => Date.now(),
      after: (ms, then) => void after(ms, then),
      post: signal,
      openQueue: (place, onAcknowledged) => new JournalTail({ ...place, onAcknowledged }),
      openWorker: ({ onResults, onStopped }) =>
        new DeliveryWorker({
          attemptsInFlightMax: data.attemptsInFlightMax,
          nowMs: () => Date.now(),
          monotonicMs: () => performance.now(),
          after,
          endOfTurn: (then) => void setImmediate(then),
          headersFor: signedHeaders,
          send,
          connections: () => client.stats(),
          onResults,
          onStopped,
          onFault: (error) => process.emitWarning(error instanceof Error ? error : String(error), 'DeliveryWarning'),
        }),
      setForbidden: (addresses) => client.setForbidden(addresses),
      onStopped: done,
    });
    port.on('message', (order: ThreadOrder) => thread.order(order));
    signal({ kind: 'ready', threadId });
  });
  clearInterval(beat);
  client.close();
  await store.close();
  // The task must not end before its results were received, which the other side confirms by closing the port.
  const heard = new Promise<void>((done) => {
    port.once('close', done);
  });
  signal({ kind: 'stopped' });
  await heard;
}
