import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { newCustomer } from '../../support/requests.ts';
import { decided } from '../../support/reviews.ts';
import { sharedSamplingServer, type SharedServer } from '../../support/shared-server.ts';

describe('the shadow review queue refuses', () => {
  let server: SharedServer;
  let requestId = '';
  beforeAll(async () => {
    server = await sharedSamplingServer();
    requestId = await decided(server.url, server.secretKey);
  });

  const judge = (id: string, body: unknown, key = server.secretKey) =>
    bearer(server.url, key, 'POST', `/v1/shadow-reviews/${id}`, body);

  test.each([
    ['limit=0', '?limit'],
    ['limit=1001', '?limit'],
    ['cursor=x', '?cursor'],
    ['verdict=', '?verdict'],
    ['verdict=null', '?verdict'],
    ['why=SAMPLE', '?why'],
    ['queue=none', '?queue'],
    ['state=closed', '?state'],
    ['order=age', '?order'],
  ])('the query ?%s is 400', async (query, pointer) => {
    const answer = await bearer(server.url, server.secretKey, 'GET', `/v1/shadow-reviews?${query}`);
    expect(answer.json).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ pointer }] });
  });

  test('another customer’s cursor is 400, and its row is 404 with the same words as an unknown one', async () => {
    await decided(server.url, server.secretKey);
    const { json } = await bearer(server.url, server.secretKey, 'GET', '/v1/shadow-reviews?limit=1');
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const target = `/v1/shadow-reviews?cursor=${String(json['next_cursor'])}`;
    expect((await bearer(server.url, server.secretKey, 'GET', target)).status).toBe(200);
    expect((await bearer(server.url, secretKey, 'GET', target)).json).toMatchObject({ status: 400 });
    const theirs = await judge(requestId, { verdict: 'fraud' }, secretKey);
    const nobodys = await judge('nothing', { verdict: 'fraud' }, secretKey);
    expect(theirs.json).toMatchObject({ status: 404, code: 'not_found' });
    expect({ ...theirs.json, request_id: '' }).toEqual({ ...nobodys.json, request_id: '' });
    const { json: mine } = await bearer(server.url, server.secretKey, 'GET', '/v1/shadow-reviews?verdict=fraud');
    expect(mine['data']).toEqual([]);
  });

  test.each([
    [{}, 'required'],
    [{ verdict: 'none' }, 'invalid_value'],
    [{ verdict: true }, 'invalid_value'],
    [{ verdict: 'none', assignee: 'anna' }, 'invalid_value'],
  ])('the verdict %j is 422', async (body, code) => {
    const errors = [{ pointer: '/verdict', code }];
    expect((await judge(requestId, body)).json).toMatchObject({ status: 422, code: 'validation_failed', errors });
  });

  test('the queue is 403 to a public key and 405 with another method', async () => {
    expect((await judge(requestId, { verdict: 'fraud' }, server.publicKey)).json).toMatchObject({ status: 403 });
    const listed = await bearer(server.url, server.publicKey, 'GET', '/v1/shadow-reviews');
    expect(listed.json).toMatchObject({ status: 403, code: 'key_not_allowed' });
    expect((await bearer(server.url, server.secretKey, 'DELETE', `/v1/shadow-reviews/${requestId}`)).status).toBe(405);
  });
});
