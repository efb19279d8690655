import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { newCustomer, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe.each(TRANSPORTS)('GET /v1/me over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  test('The customer, the key of the call and the policy are returned', async () => {
    const { customerId, secretKey } = await newCustomer(server.url, server.dataDir, 1_234);
    const expected = {
      customer_id: customerId,
      name: 'test',
      created_at: expect.any(Number) as number,
      key_prefix: secretKey.slice(0, 12),
      key_kind: 'secret',
      test: false,
      scopes: ['decide', 'read', 'write', 'admin'],
      rate_limit: 1_234,
      management_rate_limit: 6_000,
      policy: { version: 'default', mode: 'enforce', challenger: null },
      service_version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
      server_time: expect.any(Number) as number,
    };
    for (const ask of [call, bearer]) {
      const { status, json } = await ask(server.url, secretKey, 'GET', '/v1/me');
      expect([status, json]).toEqual([200, expected]);
    }
  });

  test('Two customers see each themselves', async () => {
    const ids = [await newCustomer(server.url, server.dataDir), await newCustomer(server.url, server.dataDir)];
    const seen = await Promise.all(ids.map(({ secretKey }) => bearer(server.url, secretKey, 'GET', '/v1/me')));
    expect(seen.map(({ json }) => json['customer_id'])).toEqual(ids.map(({ customerId }) => customerId));
  });
});
