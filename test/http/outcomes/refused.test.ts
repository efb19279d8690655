import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { raw } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

const ONE = { request_id: 'x', outcome: 'failed' };

describe('POST /v1/outcomes refuses', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  const post = (body: unknown, key = server.secretKey) => bearer(server.url, key, 'POST', '/v1/outcomes', body);

  test.each([
    [{ outcome: 'failed' }, '/request_id', 'required'],
    [{ request_id: 'x' }, '/outcome', 'required'],
    [{ request_id: 7, outcome: 'failed' }, '/request_id', 'wrong_type'],
    [{ request_id: 'x', outcome: false }, '/outcome', 'wrong_type'],
    [{ outcomes: {} }, '/outcomes', 'wrong_type'],
    [{ outcomes: [] }, '/outcomes', 'too_few'],
    [{ outcomes: Array.from({ length: 1_001 }, () => ONE) }, '/outcomes', 'too_many'],
    [{ outcomes: [ONE, 'x'] }, '/outcomes/1', 'wrong_type'],
    [{ outcomes: [ONE, ONE, { request_id: 'x' }] }, '/outcomes/2/outcome', 'required'],
  ])('the outcome %j is 422 at %s', async (body, pointer, code) => {
    const answer = await post(body);
    expect(answer.json).toMatchObject({ status: 422, code: 'validation_failed', errors: [{ pointer, code }] });
  });

  test('a batch with many invalid outcomes reports the first errors', async () => {
    const answer = await post({ outcomes: Array.from({ length: 1_000 }, () => 7) });
    expect(answer.status).toBe(422);
    expect(answer.json['errors']).toHaveLength(32);
  });

  test('outcomes are 400 without JSON, 415 with another type, 413 over 1 MiB, 405 with another method', async () => {
    expect((await post('{')).json).toMatchObject({ status: 400, code: 'malformed_json' });
    expect((await post([ONE])).json).toMatchObject({ status: 400, code: 'invalid_request' });
    const typed = await bearer(server.url, server.secretKey, 'POST', '/v1/outcomes', ONE, {
      headers: { 'content-type': 'text/plain' },
    });
    expect(typed.json).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    // Refused for its length: nothing of the body is sent, since the connection closes.
    const large = await raw(server.url, 'POST /v1/outcomes HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n');
    expect([large.statuses, large.text]).toEqual([[413], expect.stringContaining('"code":"body_too_large"')]);
    const got = await bearer(server.url, server.secretKey, 'GET', '/v1/outcomes');
    expect([got.status, got.headers['allow']]).toEqual([405, 'POST']);
  });

  test('outcomes are 403 with a public key and 401 without a key', async () => {
    expect((await post(ONE, server.publicKey)).json).toMatchObject({ status: 403, code: 'key_not_allowed' });
    const signed = await call(server.url, server.publicKey, 'POST', '/v1/outcomes', ONE);
    expect(signed.json).toMatchObject({ status: 403, code: 'key_not_allowed' });
    const headers = { 'X-SVC-Key': null };
    const keyless = await call(server.url, server.secretKey, 'POST', '/v1/outcomes', ONE, { headers });
    expect(keyless.json).toMatchObject({ status: 401, code: 'missing_credentials' });
  });
});
