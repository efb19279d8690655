import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExtractOptions } from '../../../src/cli/extract/options.ts';
import { readRequest } from '../../../src/cli/extract/build-request.ts';
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

function read(options: Partial<ExtractOptions>, egressAllow: readonly string[] = []): ReturnType<typeof readRequest> {
  return readRequest({ ...GIVEN, ...options }, [generic, hackernews], { egressAllow }, Readable.from([]));
}

/** Returns what is printed for a wrong call. Fails if the call is right. */
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
  test('The command line gives the request that the service would accept, with its defaults', async () => {
    const asked = await read({});
    expect(asked).toMatchObject({
      kind: 'request',
      request: {
        input: { url: 'https://www.example.com/a' },
        collect: { mode: 'limit', limit: 100 },
        output: { fields: null },
        delivery: { kind: 'store' },
      },
    });
  });

  test('The command line takes a limit, all and fields', async () => {
    expect(await read({ limit: '7', fields: 'title, url' })).toMatchObject({
      request: { collect: { mode: 'limit', limit: 7 }, output: { fields: ['title', 'url'] } },
    });
    expect(await read({ all: true })).toMatchObject({ request: { collect: { mode: 'all' } } });
  });

  test('The command line takes a file that contains the input', async () => {
    const file = join(folder, 'input.json');
    writeFileSync(file, '{"url":"https://www.example.com/from-file"}\n');
    expect(await read({ input: `@${file}` })).toMatchObject({
      request: { input: { url: 'https://www.example.com/from-file' } },
    });
  });

  test('An unknown connector or operation gives an error that lists the existing ones', async () => {
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
    ['not JSON', '{url: x}'],
    ['not an object', '["https://www.example.com/"]'],
    ['null', 'null'],
    ['a missing file', '@/nowhere/input.json'],
    ['too long', JSON.stringify({ url: 'x'.repeat(262_144) })],
  ])('An input that is %s gives an error with a right example', async (_name, input) => {
    const { code, hints } = await wrong({ input });
    expect(code).toBe('invalid_input');
    expect(hints).toContain(`--input '{"url":"https://www.example.com/news/harbour"}'`);
  });

  test('An invalid field gives an error with its pointer', async () => {
    expect((await wrong({ input: '{"ulr":"x"}' })).pointers).toEqual(['/input/ulr']);
    expect((await wrong({ input: '{}' })).pointers).toEqual(['/input/url']);
    expect((await wrong({ input: '{"url":"ftp://x.example/"}' })).pointers).toEqual(['/input/url']);
    expect((await wrong({ fields: 'title,nothing' })).pointers).toEqual(['/output/fields/1']);
    expect((await wrong({ fields: 'nothing' })).hints).toContain('title, byline');
    expect((await wrong({ limit: '0' })).pointers).toEqual(['/collect/limit']);
    expect((await wrong({ limit: '100001' })).pointers).toEqual(['/collect/limit']);
    for (const limit of ['-1', '1.5', 'ten', '']) expect((await wrong({ limit })).message).toContain('--limit');
  });

  test('An address that is not public gives an error that explains how to allow it', async () => {
    const input = '{"url":"http://127.0.0.1:8080/"}';
    expect(await wrong({ input })).toMatchObject({
      code: 'blocked_url',
      pointers: ['/input/url'],
      hints: expect.stringContaining('GATEHOUSE_EGRESS_ALLOW'),
    });
    expect((await read({ input }, ['127.0.0.0/8'])).kind).toBe('request');
  });
});
