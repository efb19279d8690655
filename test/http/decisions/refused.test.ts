import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { decide, newCustomer, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe.each(TRANSPORTS)('decisions over %s', (transport) => {
  let server: SharedServer;
  let requestId: string;
  beforeAll(async () => {
    server = await sharedServer(transport);
    requestId = String((await decide(server.url, server.secretKey)).json['request_id']);
  });

  test.each([
    'decision=allow',
    'decision=',
    'decision=DENY',
    'limit=0',
    'limit=1001',
    'limit=ten',
    'cursor=abc',
    'cursor=',
    `q=${'x'.repeat(201)}`,
    'q=a&q=b',
  ])('the query ?%s is 400', async (query) => {
    for (const path of ['/v1/decisions', '/v1/lists/candidates']) {
      const answer = await bearer(server.url, server.secretKey, 'GET', `${path}?${query}`);
      expect([answer.status, answer.json['code']]).toEqual([400, 'invalid_request']);
    }
  });

  test.each(['asn=0', 'asn=AS64496', 'path=login', 'path=', 'email_domain=a@b.example', 'email_domain='])(
    'the filter ?%s is 400',
    async (query) => {
      const answer = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions?${query}`);
      const errors = [{ pointer: `?${query.split('=')[0]}` }];
      expect(answer.json).toMatchObject({ status: 400, code: 'invalid_request', errors });
    },
  );

  test('a cursor of another customer or of another list is 400', async () => {
    await decide(server.url, server.secretKey);
    const page = await bearer(server.url, server.secretKey, 'GET', '/v1/decisions?limit=1');
    const cursor = String(page.json['next_cursor']);
    expect(page.json['has_more']).toBe(true);
    const other = await newCustomer(server.url, server.dataDir);
    const statuses = await Promise.all([
      bearer(server.url, server.secretKey, 'GET', `/v1/decisions?cursor=${cursor}`),
      bearer(server.url, other.secretKey, 'GET', `/v1/decisions?cursor=${cursor}`),
      bearer(server.url, server.secretKey, 'GET', `/v1/lists/candidates?cursor=${cursor}`),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([200, 400, 400]);
  });

  test.each(['/v1/decisions', '/v1/decisions/id', '/v1/lists/candidates'])(
    '%s is 401 without a valid key and 403 with a public key',
    async (path) => {
      const at = path.replace('id', requestId);
      const unknown = await bearer(server.url, `sk_live_${'x'.repeat(38)}`, 'GET', at);
      expect([unknown.status, unknown.json['code']]).toEqual([401, 'unknown_key']);
      const signature = await call(server.url, server.secretKey, 'GET', at, undefined, {
        headers: { 'X-SVC-Sig': '0'.repeat(64) },
      });
      expect([signature.status, signature.json['code']]).toEqual([401, 'invalid_signature']);
      const unsigned = await call(server.url, server.secretKey, 'GET', at, undefined, {
        headers: { 'X-SVC-Key': null },
      });
      expect([unsigned.status, unsigned.json['code']]).toEqual([401, 'missing_credentials']);
      for (const ask of [call, bearer]) {
        const { status, json } = await ask(server.url, server.publicKey, 'GET', at);
        expect([status, json['code']]).toEqual([403, 'key_not_allowed']);
      }
      const post = await call(server.url, server.secretKey, 'POST', at, {});
      expect([post.status, post.json['code']]).toEqual([405, 'method_not_allowed']);
    },
  );

  test('a decision of another customer, an unknown id and a malformed id are 404', async () => {
    const other = await newCustomer(server.url, server.dataDir);
    const own = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions/${requestId}`);
    expect(own.status).toBe(200);
    const foreign = await bearer(server.url, other.secretKey, 'GET', `/v1/decisions/${requestId}`);
    const nobodys = await bearer(server.url, other.secretKey, 'GET', `/v1/decisions/${requestId.slice(0, -1)}0`);
    const fields = ({ status, json }: typeof own): unknown[] => [status, json['code'], json['detail']];
    expect(fields(foreign)).toEqual(fields(nobodys));
    for (const id of ['x', 'req_', requestId.toLowerCase(), `${requestId}0`, '%00', 'req_%C3%A9']) {
      const answer = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions/${id}`);
      expect([id, answer.status, answer.json['code']]).toEqual([id, 404, 'not_found']);
    }
    const list = await bearer(server.url, other.secretKey, 'GET', '/v1/decisions');
    expect(list.json['data']).toEqual([]);
  });
});
