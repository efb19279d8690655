import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('lists answer 404', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each([
    ['a fingerprint without an entry', `/v1/lists/${'a'.repeat(64)}`],
    ['a text that is not a fingerprint', '/v1/lists/anything'],
    ['63 digits', `/v1/lists/${'a'.repeat(63)}`],
    ['65 digits', `/v1/lists/${'a'.repeat(65)}`],
    ['a fingerprint and a line feed', `/v1/lists/${'a'.repeat(64)}%0A`],
    ['malformed encoding', `/v1/lists/${'a'.repeat(63)}%`],
    ['no fingerprint', '/v1/lists/'],
    ['an extra segment', `/v1/lists/${'a'.repeat(64)}/b`],
  ])('a list path with %s is 404', async (_name, path) => {
    for (const method of ['GET', 'DELETE']) {
      const answer = await bearer(server.url, server.secretKey, method, path);
      expect(answer.json).toMatchObject({ status: 404, code: 'not_found' });
    }
  });
});
