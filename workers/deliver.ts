import { threadId, workerData } from 'node:worker_threads';
import { DELIVERY_CONNECT_MS, DELIVERY_RESPONSE_BYTES_MAX } from '../src/kernel/delivery-limits.ts';
import { DeliveryWorker, type AttemptEnd, type AttemptRequest } from '../src/webhooks/delivery-worker.ts';
import { signedHeaders } from '../src/webhooks/sign-delivery.ts';
import { type Target, readTarget } from '../src/egress/egress-target.ts';
import type { EgressOutcome } from '../src/egress/egress-outcome.ts';
import { createGuardedClient } from '../src/egress/guarded-client.ts';
import { yieldToDecisions } from '../src/kernel/background.ts';
import type { DeliverPost, DeliverSignal, DeliverWorkerData } from '../src/webhooks/deliver-messages.ts';
import { packSignal, unpackOrder, type WireOrder } from '../src/webhooks/deliver-wire.ts';

/** A deliver worker: sends deliveries until it is stopped. The work itself is in `src/webhooks` and `src/egress`. */

yieldToDecisions();
const data = workerData as DeliverWorkerData;
const client = createGuardedClient({ allow: data.egressAllow });

/** Choice: URLs whose parsed form is kept, a few hundred bytes each. */
const TARGETS_MAX = 4_096;
const targets = new Map<string, Target>();

/** Measured: reading a URL costs 0.6 to 1 µs of processor time per delivery. */
function targetOf(url: string): Target | null {
  const known = targets.get(url);
  if (known !== undefined) return known;
  const target = readTarget(url);
  if (targets.size >= TARGETS_MAX) targets.clear();
  if (target !== null) targets.set(url, target);
  return target;
}

function send({ url, headers, body, timeoutMs }: AttemptRequest): Promise<AttemptEnd> {
  const request = {
    url,
    method: 'POST',
    headers,
    body,
    timeoutMs,
    connectMs: Math.min(DELIVERY_CONNECT_MS, timeoutMs),
    responseBytesMax: DELIVERY_RESPONSE_BYTES_MAX,
    discardBody: true,
  } as const;
  const target = targetOf(url);
  return client.request(target === null ? request : { ...request, target }).then(endOf);
}

function endOf(outcome: EgressOutcome): AttemptEnd {
  const statusCode = outcome.kind === 'response' ? outcome.status : null;
  return { outcome, statusCode, durationMs: outcome.durationMs };
}

export default async function post({ port }: DeliverPost): Promise<void> {
  const signal = (message: DeliverSignal): void => port.postMessage(packSignal(message));
  await new Promise<void>((done) => {
    const runner = new DeliveryWorker({
      attemptsInFlightMax: data.attemptsInFlightMax,
      needsLease: data.needsLease ?? false,
      nowMs: () => Date.now(),
      monotonicMs: () => performance.now(),
      after(ms, then) {
        const timer = setTimeout(then, ms);
        return () => clearTimeout(timer);
      },
      endOfTurn: (then) => void setImmediate(then),
      headersFor: signedHeaders,
      send,
      connections: () => client.stats(),
      onResults: (results, stats) => signal({ kind: 'results', results, stats }),
      onStopped: done,
      onFault: (error) => process.emitWarning(error instanceof Error ? error : String(error), 'DeliveryWarning'),
    });
    port.on('message', (message: WireOrder) => {
      const order = unpackOrder(message);
      if (order.kind === 'listening') client.setForbidden(order.addresses);
      else runner.order(order);
    });
    signal({ kind: 'ready', threadId });
  });
  client.close();
  // The task must not end before its results were received, which the other side confirms by closing the port.
  const heard = new Promise<void>((done) => {
    port.once('close', done);
  });
  signal({ kind: 'stopped' });
  await heard;
}
