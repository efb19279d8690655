import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

const HASH = 'a'.repeat(64);

describe('lists answer 403 to a public key', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each([
    ['GET', '/v1/lists', undefined],
    ['POST', '/v1/lists', { fingerprint_hash: HASH, action: 'allow' }],
    ['POST', '/v1/lists/batch', { entries: [{ fingerprint_hash: HASH, action: 'allow' }] }],
    ['GET', `/v1/lists/${HASH}`, undefined],
    ['DELETE', `/v1/lists/${HASH}`, undefined],
  ])('%s %s is 403 to a public key, signed or as Bearer, and changes nothing', async (method, path, body) => {
    for (const ask of [call, bearer]) {
      const answer = await ask(server.url, server.publicKey, method, path, body);
      expect(answer.json).toMatchObject({ status: 403, code: 'key_not_allowed' });
      expect(answer.headers['x-svc-rl-limit']).toBe('6000');
    }
    expect((await bearer(server.url, server.secretKey, 'GET', '/v1/lists')).json['data']).toEqual([]);
  });
});
