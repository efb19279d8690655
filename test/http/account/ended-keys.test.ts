import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { decide, gatehouse, newCustomer, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

/** An ended key is `unknown_key` like one that never was; only a caller that proves to hold it reads in `detail` why. */

const NEVER_KNOWN = 'This API key is not known.';
const REVOKED = 'This API key was revoked.';
const WRONG_SIGNATURE = { headers: { 'X-SVC-Sig': 'a'.repeat(64) } };

describe.each(TRANSPORTS)('keys that have ended, over %s', (transport) => {
  let server: SharedServer;
  let keys: { readonly secret_key: string; readonly public_key: string };
  beforeAll(async () => {
    server = await sharedServer(transport);
    const { customerId } = await newCustomer(server.url, server.dataDir);
    keys = (await gatehouse(server.dataDir, 'keys', 'create', '--customer', customerId)) as typeof keys;
    await gatehouse(server.dataDir, 'keys', 'revoke', keys.secret_key);
    await gatehouse(server.dataDir, 'keys', 'revoke', keys.public_key);
  });

  const refusal = (detail: string) => ({ status: 401, json: { code: 'unknown_key', detail } });

  test('A revoked key is named as such to a caller whose signature is right, with and without a body', async () => {
    for (const key of [keys.secret_key, keys.public_key])
      expect(await decide(server.url, key)).toMatchObject(refusal(REVOKED));
    expect(await call(server.url, keys.secret_key, 'GET', '/v1/me')).toMatchObject(refusal(REVOKED));
    const body = { request_id: 'req_1', label: 'fraud' };
    expect(await call(server.url, keys.secret_key, 'POST', '/v1/labels', body)).toMatchObject(refusal(REVOKED));
    expect(await bearer(server.url, keys.secret_key, 'GET', '/v1/me')).toMatchObject(refusal(REVOKED));
  });

  test('A revoked key is not known to a caller that does not prove to hold it', async () => {
    for (const key of [keys.secret_key, keys.public_key])
      expect(await decide(server.url, key, undefined, WRONG_SIGNATURE)).toMatchObject(refusal(NEVER_KNOWN));
    expect(await call(server.url, keys.secret_key, 'GET', '/v1/me', undefined, WRONG_SIGNATURE)).toMatchObject(
      refusal(NEVER_KNOWN),
    );
    const other = `pk_live_${'0'.repeat(38)}`;
    for (const key of [keys.public_key, other]) {
      expect(await bearer(server.url, key, 'GET', '/v1/me')).toMatchObject(refusal(NEVER_KNOWN));
      expect(await call(server.url, key, 'POST', '/v1/labels', { label: 'fraud' })).toMatchObject(refusal(NEVER_KNOWN));
    }
  });

  test('A key that has expired is named as such, and a large body of an ended key is never read', async () => {
    const { customerId } = await newCustomer(server.url, server.dataDir);
    const soon = String(Math.floor(Date.now() / 1000) + 2);
    const words = ['keys', 'create', '--customer', customerId, '--expires', soon];
    const { secret_key: key } = await gatehouse(server.dataDir, ...words);
    await expect
      .poll(async () => (await call(server.url, String(key), 'GET', '/v1/me')).json, { timeout: 10_000 })
      .toMatchObject({ code: 'unknown_key', detail: 'This API key has expired.' });
    const large = { note: 'x'.repeat(100_000) };
    expect(await call(server.url, String(key), 'POST', '/v1/labels', large)).toMatchObject(refusal(NEVER_KNOWN));
  });
});
