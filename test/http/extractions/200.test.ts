import { parquetReadObjects } from 'hyparquet';
import { beforeAll, describe, expect, test } from 'vitest';
import { books, extractionClient } from '../../support/extractions.ts';
import { TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer, sharedSource, type SharedSource } from '../../support/shared-server.ts';

describe.each(TRANSPORTS)('extractions answer 200 over %s', (transport) => {
  let server: SharedServer;
  let source: SharedSource;
  let client: ReturnType<typeof extractionClient>;
  beforeAll(async () => {
    source = await sharedSource();
    server = await sharedServer(transport);
    client = extractionClient(server.url, server.secretKey);
  });

  test('extractions are listed newest first, filtered by status, connector and operation', async () => {
    const first = await client.run(books(1));
    const second = await client.run({ ...books(1), input: { query: 'missing' } });
    const ids = async (query: string): Promise<string[]> =>
      ((await client.ask('GET', `/v1/extractions${query}`)).json['data'] as { id: string }[]).map(({ id }) => id);
    expect((await ids('')).slice(0, 2)).toEqual([second.id, first.id]);
    expect(await ids('?status=failed')).toEqual([second.id]);
    expect(await ids('?status=failed&connector=wordpress')).toEqual([]);
    expect(await ids('?operation=search.works&limit=1')).toEqual([second.id]);
  });

  test('records are returned in every format, and large ones completely', async () => {
    const { id } = await client.run(books(2_000, { collect: { mode: 'all' } }));
    const ndjson = await client.records(id, '?format=ndjson&limit=1000');
    expect(ndjson.headers['content-type']).toBe('application/x-ndjson');
    expect(ndjson.text.trimEnd().split('\n')).toHaveLength(1_000);
    expect(ndjson.headers['link']).toContain('; rel="next"');
    const csv = await client.records(id, `?format=csv&limit=1000&cursor=${ndjson.headers['x-next-cursor'] ?? ''}`);
    expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(csv.text.trimEnd().split('\r\n')).toHaveLength(1_000);
    expect(csv.headers).not.toHaveProperty('x-next-cursor');
    expect(ndjson.headers['x-svc-rl-limit']).toBe('6000');
    expect(ndjson.headers['cache-control']).toBe('no-store');
  });

  test('a page of records as Parquet is a complete file, and the next one follows by the header', async () => {
    const { id } = await client.run(books(1_200, { collect: { mode: 'all' } }));
    const read = async (query: string): Promise<{ readonly headers: Headers; readonly ids: readonly unknown[] }> => {
      const headers = { authorization: `Bearer ${server.secretKey}` };
      const response = await fetch(`${server.url}/v1/extractions/${id}/records?format=parquet&limit=1000${query}`, {
        headers,
      });
      expect(response.status).toBe(200);
      const rows = await parquetReadObjects({ file: await response.arrayBuffer() });
      return { headers: response.headers, ids: rows.map((row) => row['_meta.seq']) };
    };
    const first = await read('');
    expect(first.headers.get('content-type')).toBe('application/vnd.apache.parquet');
    expect(first.headers.get('link')).toContain('format=parquet');
    const second = await read(`&cursor=${first.headers.get('x-next-cursor') ?? ''}`);
    expect([first.ids.length, second.ids.length]).toEqual([1_000, 200]);
    expect([first.ids[0], second.ids[0], second.ids.at(-1)]).toEqual([1n, 1_001n, 1_200n]);
    expect(second.headers.get('link')).toBeNull();
  });

  test('a cancellation is 200, even when it is repeated', async () => {
    const id = await client.started(books(1, {}, `held-cancelled-${transport}`));
    const first = await client.ask('POST', `/v1/extractions/${id}/cancel`);
    const again = await client.ask('POST', `/v1/extractions/${id}/cancel`, {});
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.json).toEqual(first.json);
  });

  test('a client that disconnected while it waited does not affect the next one', async () => {
    const id = await client.started(books(1, {}, `held-abandoned-${transport}`));
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${server.secretKey}` };
    const waiting = fetch(`${server.url}/v1/extractions/${id}?wait=60`, { headers, signal: gone.signal });
    setTimeout(() => gone.abort(), 100);
    await expect(waiting).rejects.toThrow('abort');
    source.release(`held-abandoned-${transport}`);
    expect((await client.ended(id)).status).toBe('succeeded');
  });
});
