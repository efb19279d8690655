import { beforeAll, describe, expect, test } from 'vitest';
import { NOBODYS_EXTRACTION, NOBODYS_SESSION } from '../../support/extractions.ts';
import { bearer } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('extractions, sessions and the catalogue answer 405', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each([
    ['PUT', '/v1/extractions', 'GET, HEAD, POST'],
    ['DELETE', `/v1/extractions/${NOBODYS_EXTRACTION}`, 'GET, HEAD'],
    ['GET', `/v1/extractions/${NOBODYS_EXTRACTION}/cancel`, 'POST'],
    ['POST', `/v1/extractions/${NOBODYS_EXTRACTION}/records`, 'GET, HEAD'],
    ['PUT', '/v1/sessions', 'GET, HEAD, POST'],
    ['PUT', `/v1/sessions/${NOBODYS_SESSION}`, 'DELETE, GET, HEAD'],
    ['POST', '/v1/connectors', 'GET, HEAD'],
    ['DELETE', '/v1/connectors/generic', 'GET, HEAD'],
  ])('%s %s is 405', async (method, path, allow) => {
    const { json, headers } = await bearer(server.url, server.secretKey, method, path);
    expect(json).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(headers['allow']?.split(', ').sort().join(', ')).toBe(allow);
  });
});
