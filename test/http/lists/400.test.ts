import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call, nthHash } from '../../support/manage.ts';
import { newCustomer } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('lists answer 400', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each([
    ['invalid JSON', '{"fingerprint_hash":', 'malformed_json'],
    ['no body', '', 'malformed_json'],
    ['an array outside of a batch', '[]', 'invalid_request'],
    ['a string', '"block"', 'invalid_request'],
    ['a repeated name', '{"action":"block","action":"allow"}', 'invalid_request'],
  ])('a list write with %s is 400', async (_name, body, code) => {
    const answer = await call(server.url, server.secretKey, 'POST', '/v1/lists', body);
    expect(answer.json).toMatchObject({ status: 400, code });
    expect(answer.headers['content-type']).toBe('application/problem+json');
  });

  test.each([
    ['limit=0', '?limit'],
    ['limit=1001', '?limit'],
    ['limit=ten', '?limit'],
    ['action=BLOCK', '?action'],
    ['action=', '?action'],
    ['cursor=broken', '?cursor'],
  ])('the query ?%s is 400', async (query, pointer) => {
    const answer = await bearer(server.url, server.secretKey, 'GET', `/v1/lists?${query}`);
    expect(answer.json).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ pointer }] });
  });

  test('a repeated parameter is 400, and an unknown one is ignored', async () => {
    const answer = await bearer(server.url, server.secretKey, 'GET', '/v1/lists?limit=1&limit=2');
    expect(answer.json).toMatchObject({ status: 400, code: 'invalid_request' });
    expect((await bearer(server.url, server.secretKey, 'GET', '/v1/lists?page=2')).status).toBe(200);
  });

  test('a cursor of another customer is 400', async () => {
    const entries = [1, 2].map((n) => ({ fingerprint_hash: nthHash(n), action: 'watch' }));
    await bearer(server.url, server.secretKey, 'POST', '/v1/lists/batch', entries);
    const page = await bearer(server.url, server.secretKey, 'GET', '/v1/lists?limit=1');
    const target = `/v1/lists?limit=1&cursor=${String(page.json['next_cursor'])}`;
    expect((await bearer(server.url, server.secretKey, 'GET', target)).status).toBe(200);
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const other = await bearer(server.url, secretKey, 'GET', target);
    expect(other.json).toMatchObject({ status: 400, code: 'invalid_request' });
  });
});
