import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { reportOf, type ExtractReport } from '../../../src/cli/extract/report.ts';
import { readRequest } from '../../../src/cli/extract/build-request.ts';
import { FAILURE_REASONS } from '../../../src/work/extraction-job.ts';
import { ended, queuedState, type ExtractionState } from '../../../src/work/extraction-state.ts';
import { generic } from '../../../src/extract/connectors/generic.ts';

async function report(
  state: Partial<ExtractionState>,
  failure: Parameters<typeof ended>[1] = null,
  more: Partial<ExtractReport> & { readonly detail?: string; readonly limit?: string } = {},
): Promise<{
  readonly text: string;
  readonly json: Record<string, unknown>;
  readonly failed: boolean;
  readonly isBeside: boolean;
}> {
  const asked = await readRequest(
    {
      connector: 'generic',
      operation: 'page.article',
      input: '{"url":"https://www.example.com/"}',
      format: 'ndjson',
      limit: more.limit ?? '10',
    },
    [generic],
    { egressAllow: [] },
    Readable.from([]),
  );
  if (asked.kind === 'wrong') throw new Error('wrong');
  const outcome = reportOf({
    request: asked.request,
    end: {
      state: ended({ ...queuedState(), ...state }, failure, 1, 0),
      detail: more.detail ?? null,
      entries: [],
    },
    durationMs: 1_234.5,
    out: null,
    records: null,
    ...more,
  });
  if (outcome.kind === 'error') throw new Error(outcome.message);
  const { text, failed = false, isBeside = false } = outcome;
  return { text, json: outcome.json as Record<string, unknown>, failed, isBeside };
}

describe('the report of a job', () => {
  test('The report of a successful job contains its counts, on another stream than the records', async () => {
    const { text, failed, isBeside } = await report({ collected: 1, pages: 2, duplicates: 3, errors: 1 });
    expect([text, failed, isBeside]).toEqual([
      '1 record from 2 pages in 1.2 s, 3 duplicates skipped, 1 error',
      false,
      true,
    ]);
  });

  test('The report of a job whose records are in a file contains the file name, on standard output', async () => {
    const { text, isBeside } = await report({ collected: 2, pages: 1 }, null, { out: 'a.csv' });
    expect([text, isBeside]).toEqual(['2 records from 1 page in 1.2 s, in a.csv', false]);
  });

  test('The report of a job that reached its limit mentions that there is more, unless the source announced no more', async () => {
    expect((await report({ collected: 10 })).text).toContain('use --limit or --all for more, if there are more.');
    expect((await report({ collected: 10, announced: 1_204 })).text).toContain('of the 1204 that the source announces');
    expect((await report({ collected: 10, announced: 10 })).text).not.toContain('--limit');
    expect((await report({ collected: 9 })).text).not.toContain('--limit');
  });

  test.each(FAILURE_REASONS)(
    'The report of a job that failed with %s contains the reason, the first line of its detail and what to do',
    async (reason) => {
      const { text, failed } = await report({ collected: 1 }, { reason, retryable: false }, { detail: 'at x\n  in y' });
      const lines = text.split('\n');
      expect(failed).toBe(true);
      expect(lines[1]).toBe(`error: ${reason}: at x`);
      expect(lines[2]).toMatch(/^[A-Z].+/);
      expect(lines).toHaveLength(3);
    },
  );

  test('The JSON report has the form of a job of the service, with the failure detail, and with the records if they are collected', async () => {
    const { json } = await report({ collected: 1, pages: 1, credits: 1, tier: 'standard' }, null, {
      records: [{ a: 1 }],
    });
    expect(json).toEqual({
      status: 'succeeded',
      connector: 'generic',
      operation: 'page.article',
      counts: { collected: 1, target: 1, pages: 1, errors: 0, duplicates: 0 },
      usage: { credits: 1, tier: 'standard' },
      notes: [],
      failure: null,
      errors: [],
      duration_ms: 1_235,
      out: null,
      records: [{ a: 1 }],
    });
    const failed = await report({}, { reason: 'timeout', retryable: true }, { detail: 'at x' });
    expect(failed.json['failure']).toEqual({ reason: 'timeout', retryable: true, detail: 'at x' });
    expect(failed.json).not.toHaveProperty('records');
  });

  test('The report contains the notes of the job as text and as JSON', async () => {
    const { json, text } = await report({ collected: 1, notes: ['list_incomplete'] }, null);
    expect(json['notes']).toEqual([{ code: 'list_incomplete', message: expect.stringContaining('sitemap') }]);
    expect(text).toMatch(/^note: .*sitemap/m);
  });
});
