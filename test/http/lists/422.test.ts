import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, nthHash } from '../../support/manage.ts';
import type { Answer } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('lists answer 422', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  const GOOD = { fingerprint_hash: nthHash(1), action: 'block' };
  const post = (body: unknown, path = '/v1/lists'): Promise<Answer> =>
    bearer(server.url, server.secretKey, 'POST', path, body);

  test.each([
    ['no fingerprint', { action: 'block' }, '/fingerprint_hash', 'required'],
    ['a number as fingerprint', { ...GOOD, fingerprint_hash: 7 }, '/fingerprint_hash', 'wrong_type'],
    ['63 digits', { ...GOOD, fingerprint_hash: 'a'.repeat(63) }, '/fingerprint_hash', 'invalid_value'],
    ['65 digits', { ...GOOD, fingerprint_hash: 'a'.repeat(65) }, '/fingerprint_hash', 'invalid_value'],
    ['64 other characters', { ...GOOD, fingerprint_hash: 'g'.repeat(64) }, '/fingerprint_hash', 'invalid_value'],
    ['a trailing line feed', { ...GOOD, fingerprint_hash: `${nthHash(1)}\n` }, '/fingerprint_hash', 'invalid_value'],
    ['no action', { fingerprint_hash: nthHash(1) }, '/action', 'required'],
    ['null as action', { ...GOOD, action: null }, '/action', 'required'],
    ['an unknown action', { ...GOOD, action: 'deny' }, '/action', 'invalid_value'],
    ['an action in capitals', { ...GOOD, action: 'BLOCK' }, '/action', 'invalid_value'],
    ['a note that is not a string', { ...GOOD, note: {} }, '/note', 'wrong_type'],
    ['a note of 501 characters', { ...GOOD, note: 'x'.repeat(501) }, '/note', 'too_long'],
    ['an expiry in the past', { ...GOOD, expires_at: 1_000 }, '/expires_at', 'invalid_value'],
    ['an expiry that is a date', { ...GOOD, expires_at: '2030-01-01' }, '/expires_at', 'wrong_type'],
    ['an expiry in milliseconds', { ...GOOD, expires_at: 1_900_000_000_000 }, '/expires_at', 'too_large'],
    ['a fractional expiry', { ...GOOD, expires_at: 1_900_000_000.5 }, '/expires_at', 'wrong_type'],
  ])('a list entry with %s is 422', async (_name, body, pointer, code) => {
    const answer = await post(body);
    expect(answer.json).toMatchObject({ status: 422, code: 'validation_failed', errors: [{ pointer, code }] });
    expect((await bearer(server.url, server.secretKey, 'GET', '/v1/lists')).json['data']).toEqual([]);
  });

  test('a 422 reports all errors at once', async () => {
    const answer = await post({ fingerprint_hash: 'x', action: 'y', note: 1, expires_at: 'z' });
    expect(answer.json['errors']).toMatchObject(
      ['/fingerprint_hash', '/action', '/note', '/expires_at'].map((pointer) => ({ pointer })),
    );
  });

  test('a batch without entries is 422, and so is one with 1,001, of which nothing is written', async () => {
    expect((await post({}, '/v1/lists/batch')).json['errors']).toMatchObject([
      { pointer: '/entries', code: 'required' },
    ]);
    const entries = Array.from({ length: 1_001 }, (_, n) => ({ fingerprint_hash: nthHash(n), action: 'watch' }));
    for (const body of [{ entries }, entries]) {
      const answer = await post(body, '/v1/lists/batch');
      expect(answer.json).toMatchObject({ status: 422, code: 'validation_failed', errors: [{ code: 'too_many' }] });
    }
    expect((await bearer(server.url, server.secretKey, 'GET', '/v1/lists')).json['data']).toEqual([]);
    expect((await post(entries.slice(1), '/v1/lists/batch')).status).toBe(200);
  });
});
