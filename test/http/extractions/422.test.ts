import { beforeAll, describe, expect, test } from 'vitest';
import { books, extractionClient, NOBODYS_SESSION } from '../../support/extractions.ts';
import { newCustomer } from '../../support/requests.ts';
import { sharedServer, type SharedServer, sharedSource, type SharedSource } from '../../support/shared-server.ts';

/** Fields of a page, and what is refused of them. */
const BOATS = { connector: 'generic', operation: 'page.select' };
const SELECTED = { url: 'https://source.example/', fields: { a: 'b' } };
const fields = (given: object): object => ({ ...BOATS, input: { ...SELECTED, fields: given } });
const WITHIN = { each: 'b', fields: { a: { each: 'b', fields: { a: { each: 'b', fields: { a: 'b' } } } } } };

const many = (count: number, make: (at: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => make(at));

const PAGE = { connector: 'generic', operation: 'page.article' };

describe('extractions answer 422 before anything is fetched', () => {
  let server: SharedServer;
  let source: SharedSource;
  let client: ReturnType<typeof extractionClient>;
  beforeAll(async () => {
    source = await sharedSource();
    server = await sharedServer();
    client = extractionClient(server.url, server.secretKey);
  });

  const refused = async (changes: object): Promise<unknown[]> => {
    const { status, json } = await client.create({ ...books(1), ...changes });
    const errors = (json['errors'] ?? []) as { pointer: string; code: string }[];
    return [status, json['code'], ...errors.map(({ pointer }) => pointer)];
  };

  test.each([
    [{ connector: 'none' }, 'unknown_connector', '/connector'],
    [{ operation: 'none.none' }, 'unknown_operation', '/operation'],
    [{ input: {} }, 'validation_failed', '/input/query'],
    [{ input: { query: 7 } }, 'validation_failed', '/input/query'],
    [{ input: { query: 'tea', more: 1 } }, 'validation_failed', '/input/more'],
    [{ collect: { mode: 'limit', limit: 0 } }, 'validation_failed', '/collect/limit'],
    [{ collect: { mode: 'limit', limit: 100_001 } }, 'validation_failed', '/collect/limit'],
    [{ collect: { mode: 'some' } }, 'validation_failed', '/collect/mode'],
    [{ output: { format: 'xml' } }, 'validation_failed', '/output/format'],
    [{ output: { fields: ['nowhere'] } }, 'validation_failed', '/output/fields/0'],
    [{ output: { schema: { type: 'thing' } } }, 'validation_failed', '/output/schema/type'],
    [{ delivery: { type: 'mail' } }, 'validation_failed', '/delivery/type'],
    [{ delivery: { type: 'webhook', url: 'x' } }, 'validation_failed', '/delivery/url'],
    [{ delivery: { type: 'webhook', url: 'http://10.0.0.1/' } }, 'blocked_url', '/delivery/url'],
    [{ ...PAGE, input: { url: 'javascript:1' } }, 'validation_failed', '/input/url'],
    [{ ...PAGE, input: { url: 'http://source.example:0/' } }, 'validation_failed', '/input/url'],
    [{ session: NOBODYS_SESSION }, 'validation_failed', '/session'],
    [{ session: 'x' }, 'validation_failed', '/session'],
    [{ delivery: { type: 'sync' }, collect: { limit: 1_001 } }, 'sync_limit_exceeded', '/collect/limit'],
    [{ ...PAGE, input: {} }, 'validation_failed', '/input/url'],
    [{ ...PAGE, input: { url: 'a.example', urls: ['b.example'] } }, 'validation_failed', '/input/urls'],
    [{ ...PAGE, input: { urls: [] } }, 'validation_failed', '/input/urls'],
    [{ ...PAGE, input: { urls: many(1_001, (n) => `a.example/${n}`) } }, 'validation_failed', '/input/urls'],
    [{ ...PAGE, input: { urls: ['a.example', 'javascript:1'] } }, 'validation_failed', '/input/urls/1'],
    [{ ...PAGE, input: { urls: ['a.example', 'http://10.0.0.1/'] } }, 'blocked_url', '/input/urls/1'],
    [
      { ...PAGE, input: { urls: many(500, (n) => `a.example/${n}/${'x'.repeat(600)}`) } },
      'validation_failed',
      '/input',
    ],
    [{ ...BOATS, input: { url: SELECTED.url } }, 'validation_failed', '/input/fields'],
    [{ ...BOATS, input: { ...SELECTED, each: 'li[' } }, 'validation_failed', '/input/each'],
    [{ ...BOATS, input: { ...SELECTED, next: 'a:foo' } }, 'validation_failed', '/input/next'],
    [{ ...BOATS, input: { ...SELECTED, max_pages: 0 } }, 'validation_failed', '/input/max_pages'],
    [fields({ a: 'b:contains(x)' }), 'validation_failed', '/input/fields/a/select'],
    [fields({ a: 'b:has(i):has(u)' }), 'validation_failed', '/input/fields/a/select'],
    [fields({ a: { select: 'b'.repeat(301) } }), 'validation_failed', '/input/fields/a/select'],
    [fields({ 'a.b': 'b' }), 'validation_failed', '/input/fields/a.b'],
    [fields({ a: { select: 'b', type: 'price' } }), 'validation_failed', '/input/fields/a/type'],
    [fields({ a: { select: 'b', pattern: '(?=x)' } }), 'validation_failed', '/input/fields/a/pattern'],
    [fields({ a: { select: 'b', type: 'number', default: 'x' } }), 'validation_failed', '/input/fields/a/default'],
    [fields({ a: { each: 'b' } }), 'validation_failed', '/input/fields/a/each'],
    [fields({ a: { each: 'b', fields: { b: 5 } } }), 'validation_failed', '/input/fields/a/fields/b'],
    [fields({ a: WITHIN }), 'validation_failed', '/input/fields/a/fields/a/fields/a/fields'],
    [
      fields(Object.fromEntries(Array.from({ length: 31 }, (_, i) => [`f${i}`, { select: 'b', fields: { a: 'b' } }]))),
      'validation_failed',
      '/input/fields',
    ],
    [{ ...fields({ a: 'b' }), output: { fields: ['b'] } }, 'validation_failed', '/output/fields/0'],
  ])('an extraction with %j is 422', async (changes, code, pointer) => {
    expect(await refused(changes)).toEqual([422, code, pointer]);
  });

  test('an extraction of a blocked address is 422', async () => {
    const blog = { connector: 'wordpress', operation: 'site.posts' };
    for (const site of ['http://10.0.0.1/', '169.254.169.254', 'http://[fd00::1]/'])
      expect(await refused({ ...blog, input: { site } })).toEqual([422, 'blocked_url', '/input/site']);
  });

  test("an extraction of the service's own address is 422, even if its network is allowed", async () => {
    const { host, port } = new URL(server.url);
    for (const url of [`http://${host}/`, `http:/${host}/x`, `http://localhost:${port}/v1/lists`]) {
      const page = { connector: 'generic', operation: 'page.article', input: { url } };
      expect(await refused(page)).toEqual([422, 'blocked_url', '/input/url']);
    }
    const url = `http://${host}/`;
    expect(await refused({ delivery: { type: 'webhook', url } })).toEqual([422, 'blocked_url', '/delivery/url']);
    const { status, json } = await client.ask('POST', '/v1/webhooks', { url, event_types: ['BLOCK'] });
    expect([status, json['code']]).toEqual([422, 'blocked_url']);
  });

  test('an extraction with a session of a host that it does not request is 422', async () => {
    const { json } = await client.ask('POST', '/v1/sessions', { host: 'shop.example', headers: { a: 'b' } });
    expect(await refused({ session: json['id'] })).toEqual([422, 'validation_failed', '/session']);
    const page = { connector: 'generic', operation: 'page.article', session: json['id'] };
    const other = { ...page, input: { url: 'https://other.example/' } };
    expect(await refused(other)).toEqual([422, 'validation_failed', '/session']);
  });

  test('an extraction with a session of another customer is 422', async () => {
    const other = extractionClient(server.url, (await newCustomer(server.url, server.dataDir)).secretKey);
    const { json } = await other.ask('POST', '/v1/sessions', { host: 'shop.example', headers: { a: 'b' } });
    expect(await refused({ session: json['id'] })).toEqual([422, 'validation_failed', '/session']);
  });

  test('a rejected extraction creates no job and fetches nothing', async () => {
    expect(source.targets).toEqual([]);
    expect((await client.ask('GET', '/v1/extractions')).json['data']).toEqual([]);
  });
});
