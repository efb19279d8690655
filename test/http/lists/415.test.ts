import { beforeAll, describe, expect, test } from 'vitest';
import { call, nthHash } from '../../support/manage.ts';
import { TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe.each(TRANSPORTS)('the media type of a list write over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  const post = (path: string, type: string | null): ReturnType<typeof call> =>
    call(
      server.url,
      server.secretKey,
      'POST',
      path,
      { fingerprint_hash: nthHash(1), action: 'watch', entries: [] },
      {
        headers: { 'content-type': type },
      },
    );

  test.each(['/v1/lists', '/v1/lists/batch'])('%s is 415 for any media type except application/json', async (path) => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', null]) {
      expect((await post(path, type)).json).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    }
    for (const type of ['application/json; charset=utf-8', 'Application/JSON']) {
      expect((await post(path, type)).status).toBeLessThan(300);
    }
  });

  test('a wrong signature is 401 before the media type is checked', async () => {
    const headers = { 'content-type': 'text/plain', 'X-SVC-Sig': '0'.repeat(64) };
    expect((await call(server.url, server.secretKey, 'POST', '/v1/lists', '{', { headers })).status).toBe(401);
  });
});
