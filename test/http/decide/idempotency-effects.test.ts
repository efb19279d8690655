import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Gatehouse } from '../../../src/client/gatehouse.ts';
import { DECISIONS } from '../../../src/contract/vocabulary.ts';
import { call } from '../../support/manage.ts';
import { decide, newcomer, TRANSPORTS } from '../../support/requests.ts';
import type { RunningServer } from '../../support/server.ts';
import { startDeliveringServer, startReceiver, webhookClient } from '../../support/webhooks.ts';

/** A program, so that no decision is an ALLOW, whose signals are mostly not kept. */
const newProgram = () => ({ ...newcomer(), user_agent: 'curl/8.5.0', event_type: 'payment' });

/** Effects of a decide request that is sent again with its `Idempotency-Key`. Source: contract, 5.6. */

describe.each(TRANSPORTS)('a request that is sent again over %s', (transport) => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startDeliveringServer({ GATEHOUSE_TRANSPORT: transport });
    return () => server.stop();
  });

  /** Decisions of the session in the last minute, as a further one finds them. A simulation counts nothing. */
  async function countedOf(body: object): Promise<unknown> {
    const { json } = await call(server.url, server.secretKey, 'POST', '/v1/simulate', body);
    return (json['signals'] as Record<string, unknown>)['history:session_decisions_1m'];
  }

  const send = (body: object, key: string) =>
    decide(server.url, server.secretKey, body, { headers: { 'Idempotency-Key': key } });

  test('It counts once in the history that later decisions read, and one with another key counts again', async () => {
    const body = newProgram();
    const before = Number(await countedOf(body));
    const key = randomUUID();
    for (let n = 0; n < 3; n++) expect((await send(body, key)).status).toBe(200);
    expect(await countedOf(body)).toBe(before + 1);
    await send(body, randomUUID());
    expect(await countedOf(body)).toBe(before + 2);
  });

  test('It is delivered to a webhook once', async () => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const webhooks = webhookClient(server.url, server.secretKey);
    const { id } = await webhooks.create(receiver.url, ...DECISIONS);
    const body = newcomer();
    const key = randomUUID();
    const first = await send(body, key);
    for (let n = 0; n < 2; n++) expect((await send(body, key)).json).toEqual(first.json);
    // Deliveries of one webhook are in order: nothing of the first comes after the next one.
    const next = await send(newcomer(), randomUUID());
    const ids = [first, next].map(({ json }) => json['request_id']);
    await webhooks.ended(`?webhook_id=${id}&request_id=${String(ids[1])}`);
    const bodies = receiver.arrivals.map((arrival) => JSON.parse(arrival.body.toString()) as { request_id: string });
    expect(bodies.map((one) => one.request_id)).toEqual(ids);
    expect(await webhooks.deliveries(`?request_id=${String(ids[0])}`)).toHaveLength(1);
  });

  test('The client whose connection breaks after the request was received sends it again, and it counts once', async () => {
    const proxy = await startBreakingProxy(Number(new URL(server.url).port));
    const client = new Gatehouse({ url: proxy.url, key: server.secretKey, timeoutMs: 20_000 });
    const body = newProgram();
    const before = Number(await countedOf(body));
    const decision = await client.decide(body);
    expect(decision).toMatchObject({ failedOpen: false, request_id: proxy.lost()?.['request_id'] });
    expect(proxy.connections()).toBe(2);
    expect(await countedOf(body)).toBe(before + 1);
  });
});

/** A proxy that passes the first request on and breaks the connection when its response arrives; later connections are whole. */
async function startBreakingProxy(targetPort: number) {
  let connections = 0;
  let lost = '';
  const server = createServer((near) => {
    const isFirst = ++connections === 1;
    const far = connect({ port: targetPort, host: '127.0.0.1' });
    for (const socket of [near, far]) socket.on('error', () => {});
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    near.pipe(far);
    if (!isFirst) far.pipe(near);
    else
      far.on('data', (piece: Buffer) => {
        lost += piece.toString();
        near.resetAndDestroy();
      });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    /** The body of the response that did not arrive. */
    lost: () => JSON.parse(lost.slice(lost.indexOf('{')) || 'null') as Record<string, unknown> | null,
  };
}
