import { beforeAll, describe, expect, test } from 'vitest';
import { CONNECTORS } from '../../../src/extract/connectors/connector-table.ts';
import { bearer } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('GET /v1/connectors', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });
  const ask = (path: string) => bearer(server.url, server.secretKey, 'GET', path);

  test('the catalogue lists all connectors, each as under its own path', async () => {
    const { json } = await ask('/v1/connectors');
    const data = json['data'] as { id: string; operations: { name: string }[] }[];
    expect(data.map(({ id }) => id)).toEqual(CONNECTORS.map(({ id }) => id));
    for (const connector of data) expect((await ask(`/v1/connectors/${connector.id}`)).json).toEqual(connector);
  });

  test('the catalogue contains for each operation what a request needs', async () => {
    const { json } = await ask('/v1/connectors');
    for (const connector of json['data'] as { operations: Record<string, unknown>[] }[]) {
      expect(connector).toMatchObject({ rate_policy: expect.any(String) as string });
      for (const operation of connector.operations)
        expect(operation).toMatchObject({
          input_schema: { type: 'object' },
          record_schema: { type: 'object' },
          example: { input: {}, record: {} },
          paging: expect.any(String) as string,
        });
    }
  });

  test('the catalogue is paged, each connector once and in order', async () => {
    const first = (await ask('/v1/connectors?limit=2')).json;
    const second = (await ask(`/v1/connectors?limit=1000&cursor=${String(first['next_cursor'])}`)).json;
    const ids = [first, second].map(({ data }) => (data as { id: string }[]).map(({ id }) => id));
    expect([first['has_more'], second['has_more']]).toEqual([true, false]);
    expect([ids[0]?.length, ids.flat()]).toEqual([2, CONNECTORS.map(({ id }) => id)]);
  });

  test('an unknown connector is 404', async () => {
    expect((await ask('/v1/connectors/none')).json).toMatchObject({ status: 404, code: 'not_found' });
    expect((await ask('/v1/connectors?cursor=x')).json).toMatchObject({ status: 400, code: 'invalid_request' });
  });
});
