import { beforeAll, describe, expect, test } from 'vitest';
import { books, NOBODYS_EXTRACTION, NOBODYS_SESSION } from '../../support/extractions.ts';
import { bearer, call } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('extractions, sessions and the catalogue answer 403 to a public key', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each([
    ['GET', '/v1/extractions', undefined],
    ['POST', '/v1/extractions', books(1)],
    ['GET', `/v1/extractions/${NOBODYS_EXTRACTION}`, undefined],
    ['POST', `/v1/extractions/${NOBODYS_EXTRACTION}/cancel`, undefined],
    ['GET', `/v1/extractions/${NOBODYS_EXTRACTION}/records`, undefined],
    ['GET', '/v1/sessions', undefined],
    ['POST', '/v1/sessions', { host: 'shop.example', headers: { a: 'b' } }],
    ['GET', `/v1/sessions/${NOBODYS_SESSION}`, undefined],
    ['DELETE', `/v1/sessions/${NOBODYS_SESSION}`, undefined],
    ['GET', '/v1/connectors', undefined],
    ['GET', '/v1/connectors/generic', undefined],
  ])('%s %s is 403 to a public key, signed or as Bearer, and 401 without a key', async (method, path, body) => {
    for (const ask of [call, bearer]) {
      const { json } = await ask(server.url, server.publicKey, method, path, body);
      expect(json).toMatchObject({ status: 403, code: 'key_not_allowed' });
    }
    const open = await bearer(server.url, '', method, path, body, { headers: { authorization: null } });
    expect(open.json).toMatchObject({ status: 401, code: 'missing_credentials' });
    expect(open.headers['www-authenticate']).toBe('Bearer');
  });
});
