import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, fingerprintOf, UNSIGNED } from '../../support/manage.ts';
import { type Answer, decide, gatehouse, newcomer, newCustomer, send, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';
import { decideTo, eventually, startReceiver, webhookClient } from '../../support/webhooks.ts';

/** Test keys: a customer's data beside its live data. Source: contract, 3.11. */

interface Keys {
  readonly customerId: string;
  readonly secretKey: string;
  readonly testKey: string;
  readonly testPublicKey: string;
}

describe.each(TRANSPORTS)('Test keys over %s', (transport) => {
  let server: SharedServer;
  let keys: Keys;
  beforeAll(async () => {
    server = await sharedServer(transport);
    keys = await newKeys();
  });

  async function newKeys(): Promise<Keys> {
    const { customerId, secretKey } = await newCustomer(server.url, server.dataDir);
    const words = ['--customer', customerId, '--test', '--origin', 'https://shop.example'];
    const made = await gatehouse(server.dataDir, 'keys', 'create', ...words);
    expect(made).toMatchObject({ customer_id: customerId, test: true });
    return {
      customerId,
      secretKey,
      testKey: String(made['secret_key']),
      testPublicKey: String(made['public_key']),
    };
  }

  const ask = (key: string, method: string, path: string, body?: unknown): Promise<Answer> =>
    bearer(server.url, key, method, path, body);
  const decisions = async (key: string): Promise<number> =>
    ((await ask(key, 'GET', '/v1/decisions?limit=100')).json['data'] as unknown[]).length;

  test('A test key has its own prefix, belongs to the same customer and decides', async () => {
    expect(keys.testKey).toMatch(/^sk_test_/);
    expect(keys.testPublicKey).toMatch(/^pk_test_/);
    const me = (await ask(keys.testKey, 'GET', '/v1/me')).json;
    expect(me).toMatchObject({ customer_id: keys.customerId, test: true, rate_limit: 6_000 });
    expect((await ask(keys.secretKey, 'GET', '/v1/me')).json['test']).toBe(false);
    expect((await decide(server.url, keys.testKey)).status).toBe(200);
    expect((await decide(server.url, keys.testPublicKey)).status).toBe(200);
  });

  test('Decisions of test keys count for no live decision, and live reads do not show them', async () => {
    const { secretKey, testKey, testPublicKey } = await newKeys();
    const body = { ...newcomer(), event_type: 'login', entity_keys: { user_id: 'u-1' } };
    const first = (await decide(server.url, secretKey, body)).json;
    for (let n = 0; n < 60; n++) await decide(server.url, n % 2 === 0 ? testKey : testPublicKey, body);
    const tested = (await decide(server.url, testKey, body)).json;
    const live = (await decide(server.url, secretKey, body)).json;
    expect((tested['reasons'] as string[]).filter((code) => code.startsWith('velocity_'))).not.toEqual([]);
    expect([live['decision'], live['reasons']]).toEqual([first['decision'], first['reasons']]);
    expect(await decisions(secretKey)).toBe(2);
    expect(await decisions(testKey)).toBe(61);
    const hash = fingerprintOf(body.session_token);
    expect((await ask(secretKey, 'GET', `/v1/decisions/${String(tested['request_id'])}`)).status).toBe(404);
    expect((await ask(testKey, 'GET', `/v1/decisions/${String(live['request_id'])}`)).status).toBe(404);
    expect((await ask(secretKey, 'GET', `/v1/fingerprints/${hash}`)).json).not.toEqual(
      (await ask(testKey, 'GET', `/v1/fingerprints/${hash}`)).json,
    );
  });

  test('Test keys have lists of their own', async () => {
    const body = newcomer();
    const entry = { fingerprint_hash: fingerprintOf(body.session_token), action: 'block' };
    expect((await ask(keys.testKey, 'POST', '/v1/lists', entry)).status).toBe(201);
    expect((await decide(server.url, keys.testKey, body)).json['reasons']).toContain('list_block');
    expect((await decide(server.url, keys.testPublicKey, body)).json['reasons']).toContain('list_block');
    expect((await decide(server.url, keys.secretKey, body)).json['reasons']).not.toContain('list_block');
    expect((await ask(keys.secretKey, 'GET', '/v1/lists')).json['data']).toEqual([]);
  });

  test('Events of test keys go to webhooks of test keys alone, marked livemode false', async () => {
    const { secretKey, testKey } = await newKeys();
    const receiver = await startReceiver();
    const [live, tested] = [webhookClient(server.url, secretKey), webhookClient(server.url, testKey)];
    await live.create(`${receiver.url}/live`, 'ALLOW');
    const { id } = await tested.create(`${receiver.url}/test`, 'ALLOW');
    const decided = [await decideTo(server.url, testKey, 'ALLOW'), await decideTo(server.url, secretKey, 'ALLOW')];
    await tested.ask('POST', `/v1/webhooks/${id}/test`);
    const arrived = await receiver.arrived(3);
    const events = arrived.map(
      ({ path, body }) => [path, JSON.parse(body.toString()) as Record<string, unknown>] as const,
    );
    const [test1, live1] = decided.map(({ json }) =>
      events.filter(([, { request_id: requestId }]) => requestId === json['request_id']),
    );
    expect(test1).toEqual([['/events/test', expect.objectContaining({ event: 'ALLOW', livemode: false })]]);
    expect(live1).toEqual([['/events/live', expect.not.objectContaining({ livemode: expect.anything() as unknown })]]);
    expect(events.filter(([path, { livemode }]) => path === '/events/test' && livemode === false)).toHaveLength(2);
    await receiver.close();
  });

  test('A live key makes, shows and revokes test keys; a test key makes and shows test keys only', async () => {
    const { secretKey, testKey } = await newKeys();
    const made = await ask(secretKey, 'POST', '/v1/keys', { name: 'ci', test: true });
    expect(made).toMatchObject({
      status: 201,
      json: {
        test: true,
        secret_key: expect.stringMatching(/^sk_test_/),
        public_key: expect.stringMatching(/^pk_test_/),
      },
    });
    expect((await ask(testKey, 'POST', '/v1/keys', { name: 'a', test: false })).json['code']).toBe('key_not_allowed');
    const more = await ask(testKey, 'POST', '/v1/keys', { name: 'b' });
    expect(more.json).toMatchObject({ test: true, secret_key: expect.stringMatching(/^sk_test_/) });

    const shown = async (key: string): Promise<unknown[]> =>
      ((await ask(key, 'GET', '/v1/keys')).json['data'] as Record<string, unknown>[]).map(({ test: is }) => is);
    expect(await shown(secretKey)).toEqual([false, false, true, true, true, true, true, true]);
    expect(await shown(testKey)).toEqual([true, true, true, true, true, true]);
    expect((await ask(testKey, 'DELETE', `/v1/keys/${secretKey.slice(0, 12)}`)).status).toBe(404);
    const rotated = await ask(secretKey, 'POST', `/v1/keys/${String(more.json['prefix'])}/rotate`);
    expect(rotated.json).toMatchObject({ test: true, secret_key: expect.stringMatching(/^sk_test_/) });
    expect((await ask(secretKey, 'DELETE', `/v1/keys/${String(made.json['prefix'])}`)).status).toBe(204);
    expect((await decide(server.url, String(made.json['secret_key']))).json['code']).toBe('unknown_key');

    const audit = (await ask(secretKey, 'GET', '/v1/audit')).json['data'] as Record<string, unknown>[];
    expect(audit[0]).toMatchObject({ kind: 'key.revoked', target: made.json['prefix'] });
    const listed = (await gatehouse(server.dataDir, 'keys', 'list'))['keys'] as Record<string, unknown>[];
    const own = listed.find(({ prefix }) => prefix === rotated.json['prefix']);
    expect(own).toMatchObject({ test: true, customer_id: expect.stringMatching(/^cus_/) });
  });

  const asked = [
    ['block', 'BLOCK', 1],
    ['review', 'REVIEW', 2],
    ['challenge', 'SOFT_CHALLENGE', 3],
    ['watch', 'ALLOW_WATCH', 6],
    ['allow', 'ALLOW', 7],
  ] as const;

  test.each(asked)('The test input %s gives %s, by its e-mail or its address', async (name, decision, last) => {
    const email = { ...newcomer(), entity_keys: { login: `${name}@Gatehouse.test` } };
    const address = { ...newcomer(), ip: `192.0.2.${last}` };
    for (const key of [keys.testKey, keys.testPublicKey]) {
      for (const body of [email, address, { ...email, session_token: '' }]) {
        const { status, json } = await decide(server.url, key, body);
        expect([status, json['decision'], (json['reasons'] as string[])[0]]).toEqual([200, decision, 'test_input']);
      }
    }
    const { json } = await decide(server.url, keys.testKey, email);
    const found = await eventually('the decision', async () => {
      const answer = await ask(keys.testKey, 'GET', `/v1/decisions/${String(json['request_id'])}`);
      return answer.status === 200 ? answer.json : null;
    });
    expect(found).toMatchObject({ decision, score: json['score'], overridden_by: 'test_input' });
    for (const body of [email, address])
      expect((await decide(server.url, keys.secretKey, body)).json['reasons']).not.toContain('test_input');
  });

  test('The test input slow answers 2 s later, and others meanwhile; the input down is 503 and leaves nothing', async () => {
    const order: string[] = [];
    const slow = decide(server.url, keys.testKey, { ...newcomer(), ip: '192.0.2.4' }).then(({ status }) => {
      order.push(`slow ${status}`);
    });
    for (let n = 0; n < 5; n++) order.push(`usual ${(await decide(server.url, keys.testKey)).status}`);
    await slow;
    expect(order).toEqual([...Array.from({ length: 5 }, () => 'usual 200'), 'slow 200']);

    const before = await decisions(keys.testKey);
    const requestId = `down-${transport}`;
    const body = { ...newcomer(), entity_keys: { email: 'down@gatehouse.test' } };
    for (let n = 0; n < 2; n++) {
      const { status, json, headers } = await decide(server.url, keys.testKey, body, { requestId });
      expect([status, json['code'], headers['retry-after']]).toEqual([503, 'test_outage', '1']);
    }
    expect(await decisions(keys.testKey)).toBe(before);
    expect((await decide(server.url, keys.secretKey, body)).status).toBe(200);
  });

  test('Test keys of a suspended customer are refused', async () => {
    const { customerId, testKey } = await newKeys();
    await gatehouse(server.dataDir, 'customers', 'suspend', customerId, '--yes');
    expect((await decide(server.url, testKey)).json['code']).toBe('unknown_key');
  });

  test('A page gets a grant with a public test key', async () => {
    const headers = { ...UNSIGNED, 'X-SVC-Key': keys.testPublicKey, Origin: 'https://shop.example' };
    const { status, headers: fields } = await send(server.url, keys.testPublicKey, {
      path: '/v1/collector/grant',
      headers,
    });
    expect([status, fields['access-control-allow-origin']]).toEqual([200, 'https://shop.example']);
  });
});
