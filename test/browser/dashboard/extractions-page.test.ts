import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { books, extractionClient } from '../../support/extractions.ts';
import { sharedSource, type SharedSource } from '../../support/shared-server.ts';
import {
  expectAccessible,
  expectClean,
  expectReadable,
  HOSTILE,
  type Harness,
  type Override,
  problemBody,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import { shoot } from '../support/pictures.ts';

const PATH = '/dashboard/extractions';
const AT = 1_795_262_400;
const ID = 'ext_01M7XVS7J4Q33R1661RM2TZ4P2';

const JOB = {
  id: ID,
  status: 'running',
  connector: HOSTILE,
  operation: HOSTILE,
  counts: { collected: 50, target: 200, pages: 3, errors: 1, duplicates: 2 },
  usage: { credits: 3, tier: 'basic' },
  request_id: 'req_01M7XVS7J4Q33R1661RM2TZ4P2',
  created_at: AT,
  started_at: AT,
  finished_at: null,
  expires_at: null,
  waiting_until: AT * 2,
  notes: [{ code: 'list_incomplete', message: HOSTILE }],
  delivery: { type: 'store', status: 'pending' },
};

const CONNECTOR = {
  id: 'hostile',
  title: HOSTILE,
  description: HOSTILE,
  docs_url: 'https://source.example',
  rate_policy: HOSTILE,
  terms_url: `javascript:${HOSTILE}`,
  attribution: HOSTILE,
  operations: [
    {
      name: 'all.kinds',
      description: HOSTILE,
      tier: 'basic',
      paging: HOSTILE,
      input_schema: {
        properties: {
          query: { type: 'string', description: HOSTILE },
          [HOSTILE]: { type: 'string' },
          kind: { enum: ['a', HOSTILE], type: 'string' },
          count: { type: 'integer', minimum: 1 },
          deep: { type: 'boolean' },
          tags: { type: 'array', items: { type: 'string' } },
          other: { type: 'object' },
        },
        required: ['query'],
      },
      record_schema: {},
      example: { input: { query: 'tea', tags: ['a', 'b'], deep: true, count: 3, other: { a: 1 } }, record: {} },
    },
  ],
};

const META = { id: '1', source_url: HOSTILE, fetched_at: '2026-11-21T12:00:00.000Z', seq: 1 };

const hostile: Override = (path) => {
  const page = (data: readonly unknown[]) => ({ body: { data, has_more: false, next_cursor: null } });
  if (path === '/v1/extractions') return page([JOB]);
  if (path === `/v1/extractions/${ID}`) return { body: JOB };
  if (path === '/v1/connectors') return page([CONNECTOR]);
  if (path.endsWith('/records'))
    return {
      body: {
        records: [{ [HOSTILE]: HOSTILE, a: { b: HOSTILE }, c: null, _meta: META }],
        has_more: false,
        next_cursor: null,
      },
    };
  return null;
};

describe('The page of extractions', () => {
  let harness: Harness;
  let source: SharedSource;
  beforeAll(async () => {
    [harness, source] = await Promise.all([sharedHarness(), sharedSource()]);
  });

  async function fileOf(page: Page, button: string): Promise<string> {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: button, exact: true }).click();
    return readFile(await (await download).path(), 'utf8');
  }

  test('says what fills it, starts a job by the form of its operation, and shows its records', async () => {
    const page = await harness.open(`${PATH}?c=openlibrary`);
    await page.getByText('No extraction yet').waitFor();
    await page.getByLabel('query', { exact: true }).waitFor();
    await expectReadable(page);
    await shoot(page, 'extractions-empty');
    // What the server refuses stands at its field.
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText('validation_failed').waitFor();
    await expectAccessible(page);
    await page.getByLabel('query', { exact: true }).fill('120 books');
    await page.getByLabel('Records', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText(/^Took/).first().waitFor({ timeout: 60_000 });
    const table = page.getByRole('table', { name: 'Records' });
    await expect.poll(() => table.getByRole('row').count()).toBe(51);
    await page.getByRole('region', { name: 'Records' }).getByRole('button', { name: 'Load more' }).click();
    await expect.poll(() => table.getByRole('row').count()).toBe(101);
    await page.getByText(/^Columns: 5 of/).click();
    await page.getByRole('checkbox', { name: 'title', exact: true }).waitFor();
    await page.getByRole('checkbox').nth(0).click();
    await page.getByText(/^Columns: 4 of/).waitFor();
    expect(new URL(page.url()).searchParams.get('cols')?.split(',')).toHaveLength(4);
    await expectAccessible(page);
    await shoot(page, 'extractions-records');
    expect((await fileOf(page, 'NDJSON')).trim().split('\n')).toHaveLength(120);
    const parquet = await fileOf(page, 'Parquet');
    expect([parquet.slice(0, 4), parquet.slice(-4)]).toEqual(['PAR1', 'PAR1']);
    expect((await fileOf(page, 'CSV')).trim().split('\r\n')).toHaveLength(121);
    // The URL shows the same job and columns again; Escape closes it.
    await page.reload();
    await page.getByText(/^Columns: 4 of/).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.url()).not.toContain('job=');
    expectClean(page);
  });

  test('shows a running job, whose records so far can be read, and cancels it', async () => {
    const client = extractionClient(harness.api.url, harness.api.secretKey);
    const id = await client.started(books(10, {}, 'held-cancel'));
    const page = await harness.open(`${PATH}?status=running&job=${id}`);
    await page
      .getByText(/^Running for/)
      .first()
      .waitFor();
    await page.getByText('They appear here while the job runs.').waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Cancel it' }).click();
    await page.getByText('The job was cancelled.').first().waitFor();
    await shoot(page, 'extractions-cancelled');
    expect((await client.job(id)).failure?.reason).toBe('cancelled');
    source.release('held-cancel');
    await page.getByRole('link', { name: 'Failed', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'The job was cancelled.' }).waitFor();
    await page.getByRole('link', { name: 'Queued', exact: true }).click();
    await page.getByText('No such extraction').waitFor();
    expectClean(page);
  });

  test('says in words why a job failed', async () => {
    const client = extractionClient(harness.api.url, harness.api.secretKey);
    const id = await client.started({
      connector: 'openlibrary',
      operation: 'search.works',
      input: { query: 'missing' },
    });
    await client.ended(id);
    const page = await harness.open(`${PATH}?job=${id}`);
    await page
      .getByText(/^The source has nothing at this address|^The source did not respond/)
      .first()
      .waitFor();
    await page.getByText('The job ended without one.').waitFor();
    await shoot(page, 'extractions-failed');
    await expectAccessible(page);
    expectClean(page);
  });

  test('moves through jobs by keys', async () => {
    const page = await harness.open(PATH);
    await page.locator('.row-link').first().waitFor();
    await page.locator('#main').focus();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Records', exact: true }).waitFor();
    expect(page.url()).toContain('job=ext_');
    expectClean(page);
  });

  test('makes a field of every kind from a schema, and sends what it says', async () => {
    const sent: string[] = [];
    const page = await harness.open(PATH, {
      override: (path, query, method, body) => {
        if (method !== 'POST') return hostile(path, query, method, body);
        sent.push(body);
        return { status: 202, body: { id: ID, status: 'queued', connector: 'x', operation: 'y', request_id: 'r' } };
      },
    });
    await page.getByRole('button', { name: 'Fill in the example' }).click();
    await page.getByLabel('kind (optional)').selectOption('a');
    await page.getByLabel('count (optional)').fill('1.5');
    await page.getByText('This must be a whole number.').waitFor();
    await page.getByLabel('count (optional)').fill('7');
    await page.getByLabel('other (optional)').fill('{');
    await page.getByText('This must be JSON.').waitFor();
    await expectAccessible(page);
    await page.getByLabel('other (optional)').fill('{"a":2}');
    await page.getByRole('switch', { name: 'deep (optional)' }).click();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await expect.poll(() => sent.length).toBe(1);
    expect(JSON.parse(sent[0] ?? '')).toEqual({
      connector: 'hostile',
      operation: 'all.kinds',
      input: { query: 'tea', tags: ['a', 'b'], kind: 'a', count: 7, other: { a: 2 } },
      collect: { mode: 'limit', limit: 100 },
    });
    expectClean(page);
  });

  test('says which source a job waits for, and shows hostile text as text', async () => {
    const page = await harness.open(`${PATH}?job=${ID}`, { override: hostile });
    await page
      .getByText(/asked for a pause\. Resumes at/)
      .first()
      .waitFor();
    await page.getByText(/^Columns: 3 of 3/).click();
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
    expect(await page.locator('body').textContent()).toContain('⟨U+202E⟩');
    await expectReadable(page);
    await shoot(page, 'extractions-hostile');
    expectClean(page);
  });

  test('shows what own fields select on one page, with the mistake of a selector, before the job is started', async () => {
    const sent: unknown[] = [];
    const page = await harness.open(`${PATH}?c=generic&op=page.select`, {
      override: (path, _query, method, body) => {
        if (path === '/v1/extractions' && method === 'POST') {
          sent.push(JSON.parse(body));
          const errors = [{ pointer: '/input/fields/price', code: 'invalid_value', message: 'This is no selector.' }];
          if (sent.length === 1) {
            const fault = problemBody(422, 'validation_failed', 'The body is not valid');
            return { ...fault, body: { ...fault.body, errors } };
          }
          return { status: 202, body: { id: ID, status: 'queued', connector: 'x', operation: 'y', request_id: 'r' } };
        }
        if (path === `/v1/extractions/${ID}`)
          return { body: { ...JOB, status: 'succeeded', counts: { ...JOB.counts, collected: 2 } } };
        if (!path.endsWith('/records')) return null;
        const records = [
          { id: '1', price: 5, _meta: { ...META, seq: 1 } },
          { id: HOSTILE, price: null, _meta: { ...META, seq: 2 } },
        ];
        return { body: { records, has_more: false, next_cursor: null } };
      },
    });
    await page.getByLabel('url (optional)').fill('shop.example');
    await page.getByLabel('each (optional)').fill('li');
    await page.getByLabel('max pages (optional)').fill('9');
    await page.getByLabel('fields', { exact: true }).fill('{"id":{"attr":"data-id"},"price":"!!"}');
    await page.getByRole('button', { name: 'Show matches' }).click();
    await page.getByText('This is no selector.').waitFor();
    await page.getByText('/input/fields/price').waitFor();
    await page.getByLabel('fields', { exact: true }).fill('{"id":{"attr":"data-id"},"price":".price"}');
    await page.getByRole('button', { name: 'Show matches' }).click();
    const table = page.getByRole('table', { name: 'Matches' });
    await table.getByText('price: 1 of 2 empty').waitFor();
    await table.getByText('id: 0 of 2 empty').waitFor();
    expect(sent[1]).toEqual({
      connector: 'generic',
      operation: 'page.select',
      input: { url: 'shop.example', each: 'li', fields: { id: { attr: 'data-id' }, price: '.price' } },
      collect: { mode: 'limit', limit: 20 },
    });
    await expectReadable(page);
    await expectAccessible(page);
    await shoot(page, 'extractions-matches');
    expectClean(page);
  });

  test('makes a watch of the filled form, and does not start a job with it', async () => {
    const sent: [string, unknown][] = [];
    const page = await harness.open(`${PATH}?c=hackernews&op=search.posts`, {
      override: (path, _query, method, body) => {
        if (method !== 'POST') return null;
        sent.push([path, JSON.parse(body)]);
        return problemBody(409, 'limit_reached', 'A customer has at most 100 watches.');
      },
    });
    await page.getByRole('button', { name: 'Fill in the example' }).click();
    await page.getByRole('button', { name: 'Watch it' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByText('A customer has at most 100 watches.').waitFor();
    expect(sent.map(([path]) => path)).toEqual(['/v1/watches']);
    expect(sent[0]?.[1]).toMatchObject({
      extraction: { connector: 'hackernews', operation: 'search.posts' },
      every: '1h',
      key: ['id'],
    });
    await expectAccessible(page);
    expectClean(page);
  });

  test('shows the Markdown of a record as headings, lists and code, all of it text', async () => {
    const markdown = `# Tea\n\n- one\n- [two](javascript:alert(1))\n\n\`\`\`\nconst tea = 1;\n\`\`\`\n\n<script>alert(1)</script> ${HOSTILE}`;
    const page = await harness.open(`${PATH}?job=${ID}`, {
      override: (path, query, ...rest) =>
        path.endsWith('/records')
          ? {
              body: {
                records: [
                  { title: 'a', markdown, _meta: META },
                  { title: 'b', markdown: 'The second', _meta: { ...META, seq: 2 } },
                ],
                has_more: false,
                next_cursor: null,
              },
            }
          : hostile(path, query, ...rest),
    });
    const section = page.getByRole('region', { name: 'Markdown', exact: true });
    await section.getByRole('heading', { name: 'Tea' }).waitFor();
    await section.getByText('[two](javascript:alert(1))').waitFor();
    await section.getByText('const tea = 1;').waitFor();
    await section.getByText('<script>alert(1)</script>').waitFor();
    expect(await section.locator('script, img, a').count()).toBe(0);
    await expectReadable(page);
    await expectAccessible(page);
    await shoot(page, 'extractions-markdown');
    await section.getByLabel('Record').selectOption('2');
    await section.getByText('The second').waitFor();
    expectClean(page);
  });

  test('goes on with the records of a job that has grown past its first page', async () => {
    let collected = 30;
    const recordsOf = (from: number, to: number): object[] =>
      Array.from({ length: to - from }, (_, n) => ({ title: `Record ${from + n}`, _meta: { ...META, seq: from + n } }));
    const page = await harness.open(`${PATH}?job=${ID}`, {
      override: (path, query, ...rest) => {
        if (path === `/v1/extractions/${ID}`) return { body: { ...JOB, counts: { ...JOB.counts, collected } } };
        if (!path.endsWith('/records')) return hostile(path, query, ...rest);
        const from = Number(query.get('cursor') ?? '0');
        const to = Math.min(collected, from + 50);
        const more = to < collected;
        return { body: { records: recordsOf(from, to), has_more: more, next_cursor: more ? String(to) : null } };
      },
    });
    const records = page.getByRole('region', { name: 'Records', exact: true });
    await records.getByText('All 30 rows.').waitFor();
    collected = 70;
    await records.getByRole('button', { name: 'Load more' }).click();
    await records.getByText('All 70 rows.').waitFor();
    expect(await records.getByRole('row').count()).toBe(71);
    expectClean(page);
  });

  test('says that the records of a job were sent on', async () => {
    const page = await harness.open(`${PATH}?job=${ID}`, {
      override: (path, ...rest) =>
        path.endsWith('/records')
          ? problemBody(409, 'records_delivered', 'The records were delivered')
          : hostile(path, ...rest),
    });
    await page.getByText('The records were sent on').waitFor();
    await expectAccessible(page);
    expectClean(page);
  });
});
