import { beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { bearer, call } from '../../support/manage.ts';
import { newCustomer } from '../../support/requests.ts';
import { decided } from '../../support/reviews.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

const NOBODYS = `req_0${'1'.repeat(25)}`;

describe('POST /v1/outcomes answers 202', () => {
  let server: SharedServer;
  let requestId = '';
  beforeAll(async () => {
    server = await sharedServer();
    requestId = await decided(server.url, server.secretKey);
  });

  const post = (body: unknown, key = server.secretKey) => bearer(server.url, key, 'POST', '/v1/outcomes', body);

  test.each(['succeeded', 'failed', 'declined', 'challenge_passed', 'challenge_failed'])(
    'the outcome %s is 202, signed and by Bearer, also when it is repeated',
    async (outcome) => {
      const body = { request_id: requestId, outcome, something: 'else' };
      for (const answer of [
        await call(server.url, server.secretKey, 'POST', '/v1/outcomes', body),
        await post(body),
        await post(body),
      ]) {
        const warnings = [{ pointer: '/something', code: 'unknown_field' }];
        expect([answer.status, answer.json]).toEqual([202, { accepted: 1, rejected: [], warnings }]);
      }
    },
  );

  test('an outcome for a decision of a public key is 202, but only with the secret key', async () => {
    const id = await decided(server.url, server.publicKey);
    expect((await post({ request_id: id, outcome: 'failed' })).json).toEqual({ accepted: 1, rejected: [] });
  });

  test('the response names rejected outcomes by their index', async () => {
    const body = {
      outcomes: [
        { request_id: requestId, outcome: 'failed' },
        { request_id: NOBODYS, outcome: 'failed' },
        { request_id: requestId, outcome: 'lost' },
        { request_id: 'no id', outcome: 'failed' },
        { request_id: '', outcome: 'FAILED' },
        { request_id: requestId, outcome: 'succeeded' },
      ],
    };
    const answer = await post(body);
    expect(answer.status).toBe(202);
    expect(answer.json).toEqual({
      accepted: 2,
      rejected: [
        { index: 1, code: 'unknown_request' },
        { index: 2, code: 'invalid_outcome' },
        { index: 3, code: 'unknown_request' },
        { index: 4, code: 'invalid_outcome' },
      ],
    });
  });

  test('a single rejected outcome is reported in the same way', async () => {
    const unknown = await post({ request_id: NOBODYS, outcome: 'failed' });
    expect([unknown.status, unknown.json]).toEqual([
      202,
      { accepted: 0, rejected: [{ index: 0, code: 'unknown_request' }] },
    ]);
    expect((await post({ request_id: requestId, outcome: 'lost' })).json).toEqual({
      accepted: 0,
      rejected: [{ index: 0, code: 'invalid_outcome' }],
    });
  });

  test('an outcome for another customer’s decision is unknown', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const { json } = await post({ request_id: requestId, outcome: 'failed' }, secretKey);
    expect(json).toEqual({ accepted: 0, rejected: [{ index: 0, code: 'unknown_request' }] });
  });

  test('1,000 outcomes, which a worker parses, are 202', async () => {
    const outcomes = Array.from({ length: 1_000 }, (_none, n) => ({
      request_id: n % 2 === 0 ? requestId : NOBODYS,
      outcome: n % 4 === 0 ? 'failed' : 'succeeded',
    }));
    const { status, json } = await post({ outcomes });
    expect(status).toBe(202);
    expect(json['accepted']).toBe(500);
    expect(json['rejected']).toHaveLength(500);
  });

  test('outcomes from the client library are 202', async () => {
    const client = createClient({ url: server.url, key: server.secretKey });
    const answer = await client.report([{ request_id: requestId, outcome: 'challenge_passed' }]);
    expect(answer).toMatchObject({ kind: 'answer', status: 202, body: { accepted: 1, rejected: [] } });
  });

  test('outcomes have a rate limit of their own: that of decisions, separate from decisions and from management', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir, 3);
    const id = await decided(server.url, secretKey);
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) {
      const answer = await post({ request_id: id, outcome: 'failed' }, secretKey);
      statuses.push(answer.status);
      expect(answer.headers['x-svc-rl-limit']).toBe('3');
    }
    // If the window ends within these four, the fourth belongs to the next one.
    expect(statuses.slice(0, 3)).toEqual([202, 202, 202]);
    expect([202, 429]).toContain(statuses[3]);
    expect((await bearer(server.url, secretKey, 'GET', '/v1/lists')).headers['x-svc-rl-limit']).toBe('6000');
    await decided(server.url, secretKey);
  });
});
