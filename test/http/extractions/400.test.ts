import { beforeAll, describe, expect, test } from 'vitest';
import { books, extractionClient } from '../../support/extractions.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('extractions answer 400', () => {
  let server: SharedServer;
  let client: ReturnType<typeof extractionClient>;
  let id: string;
  beforeAll(async () => {
    server = await sharedServer();
    client = extractionClient(server.url, server.secretKey);
    ({ id } = await client.run(books(2)));
  });

  test.each([
    ['not JSON', '{', 'malformed_json'],
    ['an array', '[]', 'invalid_request'],
    ['a repeated name', '{"connector":"a","connector":"b"}', 'invalid_request'],
    ['too many levels', `{"input":${'['.repeat(40)}${']'.repeat(40)}}`, 'invalid_request'],
  ])('a request body that is invalid is 400: %s', async (_what, body, code) => {
    const { json } = await client.ask('POST', '/v1/extractions', body);
    expect(json).toMatchObject({ status: 400, code });
  });

  test.each([
    ['/v1/extractions?limit=0', '?limit'],
    ['/v1/extractions?limit=1001', '?limit'],
    ['/v1/extractions?cursor=x', '?cursor'],
    ['/v1/extractions?status=done', '?status'],
    ['/v1/extractions/{id}?wait=121', '?wait'],
    ['/v1/extractions/{id}?wait=x', '?wait'],
    ['/v1/extractions/{id}/records?format=xml', '?format'],
    ['/v1/extractions/{id}/records?partial=yes', '?partial'],
    ['/v1/extractions/{id}/records?cursor=x', '?cursor'],
    ['/v1/extractions/{id}/records?limit=1001', '?limit'],
  ])('GET %s is 400', async (path, pointer) => {
    const { json } = await client.ask('GET', path.replace('{id}', id));
    expect(json).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ pointer }] });
  });

  test('a repeated parameter is 400', async () => {
    expect((await client.ask('GET', `/v1/extractions/${id}?wait=1&wait=1`)).status).toBe(400);
  });

  test.each([[''], ['x'.repeat(256)], ['a b']])('the Idempotency-Key %s is 400', async (key) => {
    const { json } = await client.create(books(1), { 'Idempotency-Key': key });
    expect(json).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  test('a repeated Idempotency-Key header is 400', async () => {
    const headers = { 'Idempotency-Key': ['a', 'b'] } as unknown as Record<string, string>;
    expect((await client.create(books(1), headers)).status).toBe(400);
  });
});
