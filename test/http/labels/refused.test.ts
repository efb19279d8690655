import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { newCustomer } from '../../support/requests.ts';
import { decided } from '../../support/reviews.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('POST /v1/labels refuses', () => {
  let server: SharedServer;
  let requestId = '';
  beforeAll(async () => {
    server = await sharedServer();
    requestId = await decided(server.url, server.secretKey);
  });

  const post = (body: unknown, key = server.secretKey) => bearer(server.url, key, 'POST', '/v1/labels', body);

  test.each(['', 'x', `req_${'0'.repeat(26)}`, `req_${'Z'.repeat(26)}`, 'cus_01ARZ3NDEKTSV4RRFFQ69G5FAV', '\u0000'])(
    'a label for the unknown id %j is 404',
    async (id) => {
      const answer = await post({ request_id: id, label: 'fraud' });
      expect(answer.json).toMatchObject({ status: 404, code: 'not_found' });
    },
  );

  test('a label for another customer’s decision is rejected with the same words as for an unknown id', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const theirs = await post({ request_id: requestId, label: 'fraud' }, secretKey);
    const nobodys = await post({ request_id: `${requestId.slice(0, -4)}0000`, label: 'fraud' }, secretKey);
    expect(theirs.status).toBe(404);
    expect({ ...theirs.json, request_id: '' }).toEqual({ ...nobodys.json, request_id: '' });
  });

  test.each([
    [{ label: 'fraud' }, '/request_id', 'required'],
    [{ request_id: 7, label: 'fraud' }, '/request_id', 'wrong_type'],
    [{ request_id: 'x' }, '/label', 'required'],
    [{ request_id: 'x', label: 'unsure' }, '/label', 'invalid_value'],
    [{ request_id: 'x', label: 'FRAUD' }, '/label', 'invalid_value'],
    [{ request_id: 'x', label: 'fraud', note: 7 }, '/note', 'wrong_type'],
    [{ request_id: 'x', label: 'fraud', note: 'é'.repeat(501) }, '/note', 'too_long'],
  ])('the label %j is 422 at %s', async (body, pointer, code) => {
    const answer = await post(body);
    expect(answer.json).toMatchObject({ status: 422, code: 'validation_failed', errors: [{ pointer, code }] });
  });

  test('a label is 400 without JSON, 403 with a public key, 401 without a key, 405 with another method', async () => {
    expect((await post('{')).json).toMatchObject({ status: 400, code: 'malformed_json' });
    const body = { request_id: requestId, label: 'fraud' };
    expect((await post(body, server.publicKey)).json).toMatchObject({ status: 403, code: 'key_not_allowed' });
    const headers = { 'X-SVC-Key': null };
    const keyless = await call(server.url, server.secretKey, 'POST', '/v1/labels', body, { headers });
    expect(keyless.json).toMatchObject({ status: 401, code: 'missing_credentials' });
    const got = await bearer(server.url, server.secretKey, 'GET', '/v1/labels');
    expect([got.status, got.headers['allow']]).toEqual([405, 'POST']);
  });
});
