import { threadId, workerData } from 'node:worker_threads';
import { DELIVERY_CONNECT_MS, DELIVERY_RESPONSE_BYTES_MAX } from '../src/limits.ts';
import { Runner, type AttemptEnd, type AttemptRequest } from '../src/deliver/runner.ts';
import { signedHeaders } from '../src/deliver/sign.ts';
import { createGuardedClient } from '../src/egress/client.ts';
import { yieldToDecisions } from '../src/pools/background.ts';
import type { DeliverPost, DeliverSignal, DeliverWorkerData } from '../src/pools/deliver-messages.ts';
import { packSignal, unpackOrder, type WireOrder } from '../src/pools/deliver-wire.ts';

/** A deliver worker: sends what it is handed until it is told to stop. The work itself is in `src/deliver` and `src/egress`. */

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

export default async function post({ port }: DeliverPost): Promise<void> {
  const signal = (message: DeliverSignal): void => port.postMessage(packSignal(message));
  await new Promise<void>((done) => {
    const runner = new Runner({
      attemptsInFlightMax: data.attemptsInFlightMax,
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
  // The task must not end before its results were heard, which the other side says by closing the port.
  const heard = new Promise<void>((done) => {
    port.once('close', done);
  });
  signal({ kind: 'stopped' });
  await heard;
}
