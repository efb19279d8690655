import { beforeAll, describe, expect, test } from 'vitest';
import { books, NOBODYS_EXTRACTION } from '../../support/extractions.ts';
import { bearer } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('extractions and sessions, 413 and 415', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each([
    ['POST', '/v1/extractions', `{"input":"${'x'.repeat(1_048_576)}"}`],
    ['POST', '/v1/sessions', `{"host":"${'x'.repeat(1_048_576)}"}`],
    ['GET', '/v1/extractions', '{}'],
    ['GET', `/v1/extractions/${NOBODYS_EXTRACTION}/records`, '{}'],
  ])('a body that is too large is 413: %s %s', async (method, path, body) => {
    const { status } = await bearer(server.url, server.secretKey, method, path, body);
    expect(status).toBe(413);
  });

  test.each(['/v1/extractions', '/v1/sessions'])('a body of another media type is 415: POST %s', async (path) => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', null]) {
      const headers = { 'content-type': type };
      const { json } = await bearer(server.url, server.secretKey, 'POST', path, books(1), { headers });
      expect(json).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    }
  });
});
