import { describe, expect, test } from 'vitest';
import { CONNECTORS } from '../../../../src/extract/connectors/connector-table.ts';
import { PUBLIC_KEY } from '../../decide/support.ts';
import { setUp, TEST_CONNECTOR } from './support.ts';

describe('GET /v1/connectors', () => {
  test('the catalogue describes everything of a connector that a request needs', async () => {
    const { ask } = setUp();
    const { status, json } = await ask('GET', '/v1/connectors/tests');
    expect(status).toBe(200);
    const { operations, ...connector } = json;
    expect(connector).toEqual({
      id: 'tests',
      title: 'Tests',
      description: 'A source of these tests.',
      docs_url: 'https://source.example/docs',
      rate_policy: 'None.',
      terms_url: null,
      attribution: 'By the tests',
    });
    const [search] = TEST_CONNECTOR.operations;
    expect((operations as unknown[])[0]).toEqual({
      name: 'search.posts',
      description: 'Posts.',
      tier: 'basic',
      paging: 'None.',
      input_schema: search?.input,
      record_schema: search?.record,
      example: search?.example,
    });
  });

  test('the catalogue lists all connectors in their order, in pages if requested', async () => {
    const { ask } = setUp(CONNECTORS);
    const ids = (json: Record<string, unknown>): string[] => (json['data'] as { id: string }[]).map(({ id }) => id);
    const all = await ask('GET', '/v1/connectors');
    expect(all.json).toMatchObject({ has_more: false, next_cursor: null });
    expect(ids(all.json)).toEqual(CONNECTORS.map(({ id }) => id));
    const first = await ask('GET', '/v1/connectors?limit=2');
    const second = await ask('GET', `/v1/connectors?limit=1000&cursor=${String(first.json['next_cursor'])}`);
    expect([...ids(first.json), ...ids(second.json)]).toEqual(ids(all.json));
  });

  test('the catalogue is 404 for an unknown name, 400 for an invalid query, 403 for a public key', async () => {
    const { ask } = setUp();
    expect((await ask('GET', '/v1/connectors/none')).json['code']).toBe('not_found');
    expect((await ask('GET', '/v1/connectors?limit=0')).json['code']).toBe('invalid_request');
    for (const path of ['', '/tests'])
      expect((await ask('GET', `/v1/connectors${path}`, undefined, { key: PUBLIC_KEY })).status).toBe(403);
  });
});
