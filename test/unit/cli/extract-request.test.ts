import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExtractOptions } from '../../../src/cli/extract/options.ts';
import { readRequest } from '../../../src/cli/extract/request.ts';
import { generic } from '../../../src/extract/connectors/generic.ts';
import { hackernews } from '../../../src/extract/connectors/hackernews.ts';

const GIVEN: ExtractOptions = {
  connector: 'generic',
  operation: 'page.article',
  input: '{"url":"https://www.example.com/a"}',
  format: 'ndjson',
};

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-request-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(
  options: Partial<ExtractOptions>,
  egressAllow: readonly string[] = [],
  extractRecordsMax = 1_000_000,
): ReturnType<typeof readRequest> {
  return readRequest(
    { ...GIVEN, ...options },
    [generic, hackernews],
    { egressAllow, extractRecordsMax },
    Readable.from([]),
  );
}

/** What is printed of a wrong call; fails where it is right. */
async function wrong(options: Partial<ExtractOptions>): Promise<{
  readonly code: string;
  readonly message: string;
  readonly pointers: readonly string[];
  readonly hints: string;
}> {
  const { kind, ...rest } = await read(options);
  if (!('outcome' in rest) || rest.outcome.kind !== 'error') throw new Error(`that is ${kind}`);
  const { code, message, isUsage, errors = [], hints = [] } = rest.outcome;
  expect(isUsage).toBe(true);
  return { code, message, pointers: errors.map(({ pointer }) => pointer), hints: hints.join('\n') };
}

describe('the command line of an extraction', () => {
  test('is the request that the service would take, with its defaults', async () => {
    const asked = await read({});
    expect(asked).toMatchObject({
      kind: 'request',
      request: {
        input: { url: 'https://www.example.com/a' },
        collect: { mode: 'limit', limit: 100 },
        output: { format: 'ndjson', fields: null },
        delivery: { kind: 'store' },
      },
    });
  });

  test('names a limit, all, fields and a format', async () => {
    expect(await read({ limit: '7', fields: 'title, url', format: 'csv' })).toMatchObject({
      request: { collect: { mode: 'limit', limit: 7 }, output: { format: 'csv', fields: ['title', 'url'] } },
    });
    expect(await read({ all: true })).toMatchObject({ request: { collect: { mode: 'all' } } });
  });

  test('may name a file that has the input', async () => {
    const file = join(folder, 'input.json');
    writeFileSync(file, '{"url":"https://www.example.com/from-file"}\n');
    expect(await read({ input: `@${file}` })).toMatchObject({
      request: { input: { url: 'https://www.example.com/from-file' } },
    });
  });

  test('with an unknown connector or operation is told which there are', async () => {
    expect(await wrong({ connector: 'generik' })).toMatchObject({
      code: 'unknown_connector',
      message: 'there is no connector generik; there are generic, hackernews',
      hints: expect.stringContaining('gatehouse connectors list'),
    });
    for (const operation of ['page.artikel', '']) {
      expect(await wrong({ operation })).toMatchObject({
        code: 'unknown_operation',
        message: expect.stringMatching(/page\.article, page\.structured/),
        hints: expect.stringContaining('gatehouse connectors show generic'),
      });
    }
  });

  test.each([
    ['no JSON', '{url: x}'],
    ['no object', '["https://www.example.com/"]'],
    ['null', 'null'],
    ['a file that is not there', '@/nowhere/input.json'],
    ['too long', JSON.stringify({ url: 'x'.repeat(262_144) })],
  ])('with an input that is %s is shown one that is right', async (_name, input) => {
    const { code, hints } = await wrong({ input });
    expect(code).toBe('invalid_input');
    expect(hints).toContain(`--input '{"url":"https://www.example.com/news/harbour"}'`);
  });

  test('with a field that is not valid is told its pointer', async () => {
    expect((await wrong({ input: '{"ulr":"x"}' })).pointers).toEqual(['/input/url', '/input/ulr']);
    expect((await wrong({ input: '{"url":"ftp://x.example/"}' })).pointers).toEqual(['/input/url']);
    expect((await wrong({ fields: 'title,nothing' })).pointers).toEqual(['/output/fields/1']);
    expect((await wrong({ fields: 'nothing' })).hints).toContain('title, byline');
    expect((await wrong({ limit: '0' })).pointers).toEqual(['/collect/limit']);
    expect((await wrong({ limit: '100001' })).pointers).toEqual(['/collect/limit']);
    for (const limit of ['-1', '1.5', 'ten', '']) expect((await wrong({ limit })).message).toContain('--limit');
  });

  test('to an address that is not public is told how to allow it', async () => {
    const input = '{"url":"http://127.0.0.1:8080/"}';
    expect(await wrong({ input })).toMatchObject({
      code: 'blocked_url',
      pointers: ['/input/url'],
      hints: expect.stringContaining('GATEHOUSE_EGRESS_ALLOW'),
    });
    expect((await read({ input }, ['127.0.0.0/8'])).kind).toBe('request');
  });
});
