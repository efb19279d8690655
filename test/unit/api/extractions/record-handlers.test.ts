import { describe, expect, test } from 'vitest';
import type { Extraction } from '../../../../src/work/extraction-job.ts';
import { extraction, FAILED, line, setUp, STORE, SUCCEEDED, TEST_CONNECTOR } from './support.ts';

const THREE = [line(1), line(2, 'Tea, "green"'), line(3, '=1+1')];
const CSV_HEADER = 'id,title,author.name,_meta.id,_meta.seq,_meta.source_url,_meta.fetched_at\r\n';

const csv = (changes: Partial<Extraction['output']> = {}): Partial<Extraction> => ({
  ...SUCCEEDED,
  output: { ...extraction().output, format: 'csv', ...changes },
});

const seqs = (json: Record<string, unknown>): number[] =>
  (json['records'] as { _meta: { seq: number } }[]).map(({ _meta }) => _meta.seq);

function headerOf(fields: string, name: string): string | null {
  return new RegExp(`\\r\\n${name}: ([^\\r]*)`).exec(fields)?.[1] ?? null;
}

describe('GET /v1/extractions/{id}/records', () => {
  test('records are returned as a JSON page, with their number in the job', async () => {
    const { ask, given } = setUp();
    const { id } = given(SUCCEEDED, THREE);
    const { status, json, fields } = await ask('GET', `/v1/extractions/${id}/records`);
    expect(status).toBe(200);
    expect(fields).toMatch(/^application\/json\r\nCache-Control: no-store\r\n/);
    expect(Object.keys(json)).toEqual(['records', 'has_more', 'next_cursor']);
    expect(json).toMatchObject({ has_more: false, next_cursor: null });
    expect((json['records'] as unknown[])[1]).toEqual({
      id: '2',
      title: 'Tea, "green"',
      author: { name: 'Ada' },
      _meta: { id: '2', source_url: 'https://source.example/2', fetched_at: '2026-11-21T12:00:00.000Z', seq: 2 },
    });
    expect(seqs(json)).toEqual([1, 2, 3]);
  });

  test('a page has 100 records by default, at most 1,000, and at most 10 MB', async () => {
    const { ask, given, calls } = setUp();
    const { id } = given(SUCCEEDED, THREE);
    await ask('GET', `/v1/extractions/${id}/records`);
    await ask('GET', `/v1/extractions/${id}/records?limit=1000`);
    expect(calls).toEqual([
      ['records', id, { fromSeq: 0, recordsMax: 100, bytesMax: 10_000_000 }],
      ['records', id, { fromSeq: 0, recordsMax: 1_000, bytesMax: 10_000_000 }],
    ]);
    expect((await ask('GET', `/v1/extractions/${id}/records?limit=1001`)).status).toBe(400);
  });

  test('each record is returned once over all pages, whatever the chunks are', async () => {
    const { ask, given } = setUp();
    const lines = Array.from({ length: 25 }, (_, n) => line(n + 1));
    const { id } = given(SUCCEEDED, lines);
    for (const limit of [1, 2, 3, 7, 24, 25, 26]) {
      const all: number[] = [];
      let cursor: string | null = null;
      do {
        const target: string = cursor === null ? '' : `&cursor=${cursor}`;
        const { json } = await ask('GET', `/v1/extractions/${id}/records?limit=${limit}${target}`);
        all.push(...seqs(json));
        expect(json['has_more']).toBe(json['next_cursor'] !== null);
        cursor = json['next_cursor'] as string | null;
      } while (cursor !== null);
      expect(all).toEqual(lines.map((_, n) => n + 1));
    }
  });

  test('a job without records returns an empty page', async () => {
    const { ask, given } = setUp();
    const { text } = await ask('GET', `/v1/extractions/${given(SUCCEEDED).id}/records`);
    expect(text).toBe('{"records":[],"has_more":false,"next_cursor":null}');
  });

  test('a cursor of another job is rejected', async () => {
    const { ask, given } = setUp();
    const [one, two] = [given(SUCCEEDED, THREE), given(SUCCEEDED, THREE)];
    const { json } = await ask('GET', `/v1/extractions/${one.id}/records?limit=1`);
    const refused = await ask('GET', `/v1/extractions/${two.id}/records?cursor=${String(json['next_cursor'])}`);
    expect(refused.json).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  test.each(['format=xml', 'format=', 'partial=1', 'partial=', 'limit=x', 'cursor='])(
    'the query %s is 400',
    async (query) => {
      const { ask, given } = setUp();
      const refused = await ask('GET', `/v1/extractions/${given(SUCCEEDED).id}/records?${query}`);
      expect(refused.json).toMatchObject({ status: 400, code: 'invalid_request' });
    },
  );
});

describe('record formats', () => {
  test('NDJSON has one record per line, and the next page in X-Next-Cursor and Link', async () => {
    const { ask, given } = setUp();
    const { id } = given(SUCCEEDED, THREE);
    const first = await ask('GET', `/v1/extractions/${id}/records?format=ndjson&limit=2`);
    expect(first.fields).toMatch(/^application\/x-ndjson\r\n/);
    const lines = first.text.split('\n');
    expect(lines).toHaveLength(3);
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ id: '2', _meta: { seq: 2 } });
    const cursor = headerOf(first.fields, 'X-Next-Cursor');
    const link = /^<(\/v1\/[^>]+)>; rel="next"$/.exec(headerOf(first.fields, 'Link') ?? '')?.[1] ?? '';
    expect(new URLSearchParams(link.split('?')[1]).get('cursor')).toBe(cursor);
    const second = await ask('GET', link);
    expect(second.fields).toMatch(/^application\/x-ndjson\r\n/);
    expect(JSON.parse(second.text)).toMatchObject({ id: '3', _meta: { seq: 3 } });
    expect([headerOf(second.fields, 'X-Next-Cursor'), headerOf(second.fields, 'Link')]).toEqual([null, null]);
  });

  test('all CSV pages together are one file, with one header and harmless formulas', async () => {
    const { ask, given } = setUp();
    const { id } = given(csv(), THREE);
    const first = await ask('GET', `/v1/extractions/${id}/records?limit=2`);
    expect(first.fields).toMatch(/^text\/csv; charset=utf-8\r\n/);
    expect(first.text.startsWith(CSV_HEADER)).toBe(true);
    expect(first.text).toContain('2,"Tea, ""green""",Ada,2,2,');
    const cursor = headerOf(first.fields, 'X-Next-Cursor') ?? '';
    const second = await ask('GET', `/v1/extractions/${id}/records?limit=2&cursor=${cursor}`);
    expect(second.text).not.toContain('_meta.id');
    expect(second.text).toContain("'=1+1");
  });

  test('CSV pages read while the job runs are one file too, without a header before the first record', async () => {
    const { ask, given, records, change } = setUp();
    const { id } = given({ status: 'running' });
    const target = (cursor: string): string => `/v1/extractions/${id}/records?partial=true&format=csv${cursor}`;
    const none = await ask('GET', target(''));
    expect(none.text).toBe('');
    records.set(id, THREE);
    const first = await ask('GET', target(`&cursor=${headerOf(none.fields, 'X-Next-Cursor')}`));
    expect(first.text.startsWith(`${CSV_HEADER}1,Tea 1,`)).toBe(true);
    change(id, SUCCEEDED);
    const last = await ask('GET', target(`&cursor=${headerOf(first.fields, 'X-Next-Cursor')}`));
    expect([last.text, headerOf(last.fields, 'X-Next-Cursor')]).toEqual(['', null]);
  });

  test('the CSV of a job that ended without records is the header', async () => {
    const { ask, given } = setUp();
    expect((await ask('GET', `/v1/extractions/${given(csv()).id}/records`)).text).toBe(CSV_HEADER);
    const failed = given(FAILED);
    const { text } = await ask('GET', `/v1/extractions/${failed.id}/records?partial=true&format=csv`);
    expect(text).toBe(CSV_HEADER);
  });

  test('CSV has no header if the job does not want one', async () => {
    const { ask, given } = setUp();
    const { id } = given(csv({ csv: { delimiter: ';', bom: false, header: false } }), THREE);
    expect((await ask('GET', `/v1/extractions/${id}/records`)).text).toMatch(/^1;Tea 1;Ada;/);
  });

  test('the format is that of the job unless the call requests another one', async () => {
    const { ask, given } = setUp();
    const { id } = given(csv(), THREE);
    expect((await ask('GET', `/v1/extractions/${id}/records?format=json`)).json['records']).toHaveLength(3);
    expect((await ask('GET', `/v1/extractions/${id}/records`)).text).toContain(CSV_HEADER);
  });

  test('records can be read after their connector was removed', async () => {
    const { ask, given } = setUp([{ ...TEST_CONNECTOR, id: 'another' }]);
    const { id } = given(SUCCEEDED, THREE);
    expect((await ask('GET', `/v1/extractions/${id}/records`)).json['records']).toHaveLength(3);
    expect((await ask('GET', `/v1/extractions/${id}/records?format=csv`)).status).toBe(200);
  });
});

describe('records of unfinished and failed jobs', () => {
  test.each(['queued', 'running', 'failed'] as const)(
    'the records of a job that is %s are 409 not_ready',
    async (status) => {
      const { ask, given } = setUp();
      const { id } = given({ ...(status === 'failed' ? FAILED : {}), status }, THREE);
      const refused = await ask('GET', `/v1/extractions/${id}/records`);
      expect(refused.json).toMatchObject({ status: 409, code: 'not_ready' });
      expect((await ask('GET', `/v1/extractions/${id}/records?partial=false`)).status).toBe(409);
      expect(seqs((await ask('GET', `/v1/extractions/${id}/records?partial=true`)).json)).toEqual([1, 2, 3]);
    },
  );

  test('a page of a running job has a cursor to continue from', async () => {
    const { ask, given, records, change } = setUp();
    const { id } = given({ status: 'running' }, THREE);
    const first = await ask('GET', `/v1/extractions/${id}/records?partial=true`);
    expect(first.json['has_more']).toBe(false);
    records.set(id, [...THREE, line(4)]);
    change(id, SUCCEEDED);
    const rest = await ask('GET', `/v1/extractions/${id}/records?cursor=${String(first.json['next_cursor'])}`);
    expect(seqs(rest.json)).toEqual([4]);
    expect(rest.json['next_cursor']).toBeNull();
  });
});

describe('records delivered elsewhere', () => {
  const KINDS = ['webhook', 's3', 'http_put'] as const;

  test.each(KINDS)('records delivered by %s are 409 records_delivered, even with partial=true', async (kind) => {
    const { ask, given } = setUp();
    for (const status of ['pending', 'delivered'] as const) {
      for (const job of [SUCCEEDED, { status: 'running' } as const]) {
        const { id } = given({ ...job, delivery: { ...STORE, kind, status } }, THREE);
        for (const query of ['', '?partial=true']) {
          const refused = await ask('GET', `/v1/extractions/${id}/records${query}`);
          expect(refused.json).toMatchObject({ status: 409, code: 'records_delivered' });
        }
      }
    }
  });

  test.each(KINDS)('records can be read when their delivery by %s failed', async (kind) => {
    const { ask, given } = setUp();
    const { id } = given({ ...SUCCEEDED, delivery: { ...STORE, kind, status: 'failed' } }, THREE);
    expect(seqs((await ask('GET', `/v1/extractions/${id}/records`)).json)).toEqual([1, 2, 3]);
  });

  test.each(KINDS)('records of a failed job with delivery by %s can be read with partial=true', async (kind) => {
    const { ask, given } = setUp();
    const { id } = given({ ...FAILED, delivery: { ...STORE, kind } }, THREE);
    expect((await ask('GET', `/v1/extractions/${id}/records`)).json['code']).toBe('not_ready');
    expect(seqs((await ask('GET', `/v1/extractions/${id}/records?partial=true`)).json)).toEqual([1, 2, 3]);
  });

  test('records delivered inline can be read here as well', async () => {
    const { ask, given } = setUp();
    const { id } = given({ ...SUCCEEDED, delivery: { ...STORE, kind: 'sync', status: 'delivered' } }, THREE);
    expect(seqs((await ask('GET', `/v1/extractions/${id}/records`)).json)).toEqual([1, 2, 3]);
  });
});
