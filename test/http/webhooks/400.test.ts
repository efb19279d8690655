import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';
import { NOBODYS_WEBHOOK } from '../../support/webhooks.ts';

describe('webhooks answer 400', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each([
    ['invalid JSON', '{"url":', 'malformed_json'],
    ['no body', '', 'malformed_json'],
    ['an array', '[]', 'invalid_request'],
    ['a repeated name', '{"url":"https://a.example","url":"https://b.example"}', 'invalid_request'],
  ])('a webhook request with %s is 400', async (_name, body, code) => {
    const answer = await call(server.url, server.secretKey, 'POST', '/v1/webhooks', body);
    expect(answer.json).toMatchObject({ status: 400, code });
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect((await bearer(server.url, server.secretKey, 'GET', '/v1/webhooks')).json['data']).toEqual([]);
  });

  test.each(['test', 'rotate'])('a body that is not JSON is 400, although %s needs no body', async (name) => {
    const answer = await call(server.url, server.secretKey, 'POST', `/v1/webhooks/${NOBODYS_WEBHOOK}/${name}`, '{');
    expect(answer.json).toMatchObject({ status: 400, code: 'malformed_json' });
  });

  test.each([
    ['limit=0', '?limit'],
    ['limit=1001', '?limit'],
    ['limit=ten', '?limit'],
    ['cursor=broken', '?cursor'],
  ])('the query ?%s is 400', async (query, pointer) => {
    const answer = await bearer(server.url, server.secretKey, 'GET', `/v1/webhooks?${query}`);
    expect(answer.json).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ pointer }] });
  });
});
