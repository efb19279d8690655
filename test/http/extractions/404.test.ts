import { beforeAll, describe, expect, test } from 'vitest';
import { books, extractionClient, NOBODYS_EXTRACTION } from '../../support/extractions.ts';
import { newCustomer } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

const PATHS = [
  ['GET', ''],
  ['GET', '?wait=1'],
  ['POST', '/cancel'],
  ['GET', '/records'],
  ['GET', '/records?partial=true'],
] as const;

describe('extractions answer 404', () => {
  let server: SharedServer;
  let client: ReturnType<typeof extractionClient>;
  beforeAll(async () => {
    server = await sharedServer();
    client = extractionClient(server.url, server.secretKey);
  });

  test.each([NOBODYS_EXTRACTION, 'x', 'ext_', '%00', '..%2fx'])('the extraction id %s is 404', async (id) => {
    for (const [method, path] of PATHS)
      expect((await client.ask(method, `/v1/extractions/${id}${path}`)).json).toMatchObject({
        status: 404,
        code: 'not_found',
      });
  });

  test('an extraction of another customer is 404 and continues', async () => {
    const { id } = await client.run(books(1));
    const other = extractionClient(server.url, (await newCustomer(server.url, server.dataDir)).secretKey);
    for (const [method, path] of PATHS) {
      const answer = await other.ask(method, `/v1/extractions/${id}${path}`);
      expect(answer.json).toMatchObject({ status: 404, code: 'not_found' });
      expect(answer.json['detail']).toBe(
        (await other.ask(method, `/v1/extractions/${NOBODYS_EXTRACTION}${path}`)).json['detail'],
      );
    }
    expect((await client.job(id)).status).toBe('succeeded');
  });
});
