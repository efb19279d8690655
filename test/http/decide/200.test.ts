import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, fingerprintOf } from '../../support/manage.ts';
import { CALM, decide, newcomer, send, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe.each(TRANSPORTS)('POST /v1/decide, 200, over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  test('a calm request is allowed, with every field of the response', async () => {
    const answer = await decide(server.url, server.secretKey);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(Object.keys(answer.json).sort()).toEqual(
      [
        'decision',
        'fingerprint_hash',
        'latency_ms',
        'reasons',
        'request_id',
        'review_hint',
        'score',
        'session_mode',
        'shadow_routed',
      ].sort(),
    );
    expect(answer.json).toMatchObject({ decision: 'ALLOW', score: 0, reasons: [], review_hint: '' });
    expect(answer.json['request_id']).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
  });

  test('fingerprint_hash is the key of list entries: a block for it stops the next request of that session', async () => {
    const body = { ...newcomer(), session_token: 'to be blocked "é' };
    const { fingerprint_hash: fingerprint } = (await decide(server.url, server.secretKey, body)).json;
    expect(fingerprint).toBe(fingerprintOf(body.session_token));
    const entry = { fingerprint_hash: fingerprint, action: 'block' };
    expect((await bearer(server.url, server.secretKey, 'POST', '/v1/lists', entry)).status).toBe(201);
    const blocked = await decide(server.url, server.secretKey, body);
    expect(blocked.json).toMatchObject({ decision: 'BLOCK', score: 100, fingerprint_hash: fingerprint });
    await bearer(server.url, server.secretKey, 'DELETE', `/v1/lists/${String(fingerprint)}`);
  });

  test('fingerprint_hash of a collector token is the token’s own', async () => {
    const fp = 'ab'.repeat(32);
    const token = `st1.${Buffer.from(JSON.stringify({ v: 1, fp, sid: 'x', iat: Math.floor(Date.now() / 1000), sig: {} })).toString('base64url')}`;
    const answer = await decide(server.url, server.secretKey, { ...newcomer(), session_token: token });
    expect(answer.json).toMatchObject({ session_mode: 'full', fingerprint_hash: fp });
  });

  test.each(['', ' ', null, undefined])(
    'a request without a session token (%j) gets no fingerprint_hash',
    async (token) => {
      const { json } = await decide(server.url, server.secretKey, { ...newcomer(), session_token: token });
      expect(json).toMatchObject({ decision: 'SOFT_CHALLENGE', session_mode: 'no_session' });
      expect(json).not.toHaveProperty('fingerprint_hash');
    },
  );

  test('a request with a public key is answered like one with a secret key', async () => {
    const answer = await decide(server.url, server.publicKey);
    expect(answer.status).toBe(200);
    expect(answer.json['decision']).toBe('ALLOW');
  });

  test('a target that ends with a question mark may be signed as it was sent', async () => {
    const { secretKey, url } = server;
    const path = '/v1/decide?';
    const sent = await decide(url, secretKey, CALM, { path });
    const alone = await decide(url, secretKey, CALM, { path, signedPath: '/v1/decide' });
    const added = await decide(url, secretKey, CALM, { path: '/v1/decide', signedPath: path });
    expect([sent.status, alone.status, added.status]).toEqual([200, 200, 401]);
    const managed = { method: 'GET', path: '/v1/lists?', body: '' };
    expect((await send(url, secretKey, managed)).status).toBe(200);
  });

  test('the request target may be signed with or without its query', async () => {
    const whole = await decide(server.url, server.secretKey, CALM, { path: '/v1/decide?a=1&b=%20' });
    const pathOnly = await decide(server.url, server.secretKey, CALM, {
      path: '/v1/decide?a=1',
      signedPath: '/v1/decide',
    });
    expect([whole.status, pathOnly.status]).toEqual([200, 200]);
  });

  test('a request with another query than the signed one is rejected', async () => {
    const answer = await decide(server.url, server.secretKey, CALM, {
      path: '/v1/decide?a=2',
      signedPath: '/v1/decide?a=1',
    });
    expect(answer.json['code']).toBe('invalid_signature');
  });

  test('a signature in upper case is accepted', async () => {
    const { signRequest } = await import('../../../src/client/sign.ts');
    const now = Math.floor(Date.now() / 1000);
    const body = JSON.stringify(CALM);
    const signed = signRequest({
      key: server.secretKey,
      method: 'POST',
      path: '/v1/decide',
      body,
      timestampSeconds: now,
      requestId: 'upper-case',
    });
    const answer = await decide(server.url, server.secretKey, body, {
      headers: { ...signed, 'X-SVC-Sig': (signed['X-SVC-Sig'] ?? '').toUpperCase() },
    });
    expect(answer.status).toBe(200);
  });

  test('any content type is accepted', async () => {
    const answer = await decide(server.url, server.secretKey, CALM, { headers: { 'content-type': 'text/plain' } });
    expect(answer.status).toBe(200);
  });

  test('500 concurrent requests are all answered, each with an id of its own', async () => {
    const answers = await Promise.all(Array.from({ length: 500 }, () => decide(server.url, server.secretKey)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(new Set(answers.map(({ json }) => json['request_id'])).size).toBe(500);
  });
});
