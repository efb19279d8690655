import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, fingerprintOf } from '../../support/manage.ts';
import { decide, newcomer, newCustomer, TRANSPORTS } from '../../support/requests.ts';
import { startServer, type RunningServer } from '../../support/server.ts';

/** `Idempotency-Key` on decide. Source: contract, 5.6. */

describe.each(TRANSPORTS)('over %s', (transport) => {
  let server: RunningServer;
  let keys: { readonly secretKey: string; readonly publicKey: string };
  beforeAll(async () => {
    server = await startServer({ env: { GATEHOUSE_TRANSPORT: transport } });
    keys = await newCustomer(server.url, server.dataDir);
  });
  afterAll(() => server.stop());

  const ask = (body: unknown, key: string, keyOfCaller = keys.secretKey) =>
    decide(server.url, keyOfCaller, body, { headers: { 'Idempotency-Key': key } });
  async function decisions(): Promise<number> {
    const { json } = await bearer(server.url, keys.secretKey, 'GET', '/v1/decisions?limit=100');
    return (json['data'] as unknown[]).length;
  }

  test('A request that is sent again gets the first response, and only the first counts', async () => {
    const before = await decisions();
    const body = newcomer();
    const key = randomUUID();
    const first = await ask(body, key);
    const second = await ask(body, key);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.json).toEqual(first.json);
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    expect(second.headers['idempotent-replayed']).toBe('true');
    // It is charged like any other.
    expect(Number(second.headers['ratelimit-remaining'])).toBe(Number(first.headers['ratelimit-remaining']) - 1);
    expect(await decisions()).toBe(before + 1);
    expect((await ask(body, randomUUID())).json['request_id']).not.toBe(first.json['request_id']);
    expect(await decisions()).toBe(before + 2);
  });

  test('Requests with one key that arrive together are one decision', async () => {
    const before = await decisions();
    const body = newcomer();
    const key = randomUUID();
    const all = await Promise.all(Array.from({ length: 6 }, () => ask(body, key)));
    expect(new Set(all.map(({ json }) => json['request_id'])).size).toBe(1);
    expect(all.filter(({ headers }) => headers['idempotent-replayed'] === 'true')).toHaveLength(5);
    expect(await decisions()).toBe(before + 1);
  });

  test('Another body under the same key is refused, and so is a key that is too long', async () => {
    const key = randomUUID();
    await ask(newcomer(), key);
    const other = await ask(newcomer(), key);
    expect(other.status).toBe(400);
    expect(other.json).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/idempotency-key' }] });
    expect((await ask(newcomer(), 'k'.repeat(256))).json).toMatchObject({ errors: [{ pointer: '/idempotency-key' }] });
  });

  test('A request that was refused is not remembered', async () => {
    const key = randomUUID();
    expect((await ask('{"event_type":7}', key)).status).toBe(400);
    const again = await ask('{"event_type":7}', key);
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([400, undefined]);
  });

  test('A list that is written in between counts, and the request still counts once', async () => {
    const body = newcomer();
    const key = randomUUID();
    const first = await ask(body, key);
    expect(first.json['decision']).not.toBe('BLOCK');
    const before = await decisions();
    const fingerprint_hash = fingerprintOf(body.session_token);
    const { status } = await bearer(server.url, keys.secretKey, 'POST', '/v1/lists', {
      fingerprint_hash,
      action: 'block',
    });
    expect(status).toBe(201);
    const second = await ask(body, key);
    // Outcomes and labels find the request that was counted.
    expect(second.json).toMatchObject({
      decision: 'BLOCK',
      reasons: ['list_block'],
      request_id: first.json['request_id'],
    });
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect((await ask(body, key)).json).toEqual(second.json);
    expect(await decisions()).toBe(before);
  });

  test('A public key has no effect of it: anybody may use one', async () => {
    const body = newcomer();
    const key = randomUUID();
    const [first, second] = [await ask(body, key, keys.publicKey), await ask(body, key, keys.publicKey)];
    expect([first?.status, second?.status]).toEqual([200, 200]);
    expect(second?.json['request_id']).not.toBe(first?.json['request_id']);
  });
});
