import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe.each(TRANSPORTS)('lists answer 405 over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  test.each([
    ['PUT', '/v1/lists', 'GET, HEAD, POST, DELETE'],
    ['PATCH', '/v1/lists', 'GET, HEAD, POST, DELETE'],
    ['GET', '/v1/lists/batch', 'POST'],
    ['DELETE', '/v1/lists/batch', 'POST'],
    ['PATCH', `/v1/lists/${'a'.repeat(64)}`, 'GET, HEAD, DELETE'],
    ['OPTIONS', `/v1/lists/${'a'.repeat(64)}`, 'GET, HEAD, DELETE'],
  ])('%s %s is 405 and names the allowed methods', async (method, path, allow) => {
    const answer = await bearer(server.url, server.secretKey, method, path);
    expect(answer.json).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(answer.headers['allow']).toBe(allow);
    expect(answer.headers['x-svc-rl-limit']).toBeDefined();
  });
});
