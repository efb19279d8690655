import { describe, expect, test } from 'vitest';
import type { FailureEntry, FailureReason } from '../../../../src/work/extraction-job.ts';
import { ended, type ExtractionState, queuedState } from '../../../../src/work/extraction-state.ts';
import { endFields } from '../../../../src/extract/engine/canonical-log-line.ts';
import type { Job } from '../../../../src/state/tables/extractions/job-row.ts';

const JOB = {
  id: 'ext_1',
  customer: 7,
  requestId: 'req_1',
  connector: 'tests',
  operation: 'search.posts',
} as unknown as Job;

const entry = (reason: FailureReason, detail: string): FailureEntry => ({ atMs: 1, reason, step: 'a', detail });

function detailOf(reason: FailureReason, entries: readonly FailureEntry[], state: Partial<ExtractionState> = {}) {
  const before = { ...queuedState(), startedAtMs: 1_000, ...state };
  return endFields({ job: JOB, state: ended(before, { reason, retryable: false }, 3_500, 0) }, entries)['detail'];
}

describe('endFields', () => {
  test('the log line of an ended job contains its result', () => {
    const state = ended({ ...queuedState(), startedAtMs: 1_000, collected: 3, pages: 2, credits: 2 }, null, 3_500, 0);
    expect(endFields({ job: JOB, state }, [])).toEqual({
      id: 'ext_1',
      customer: 7,
      request_id: 'req_1',
      connector: 'tests',
      operation: 'search.posts',
      status: 'succeeded',
      reason: null,
      detail: null,
      records: 3,
      pages: 2,
      errors: 0,
      credits: 2,
      duration_ms: 2_500,
    });
  });

  test('the log line contains the detail of the failure that ended the job, which came last', () => {
    const entries = [
      entry('timeout', 'slow once'),
      entry('timeout', 'slow again'),
      entry('schema_mismatch', 'a record was dropped'),
    ];
    expect(detailOf('timeout', entries)).toBe('slow again');
    expect(detailOf('timeout', entries, { isWide: true, collected: 1 })).toBe('slow again');
    expect(detailOf('cancelled', entries)).toBeNull();
  });

  test("the log line of a crawl that found nothing contains the detail of the first page's failure", () => {
    const entries = [entry('source_not_found', 'nothing at b'), entry('source_not_found', 'nothing at c')];
    expect(detailOf('source_not_found', entries, { isWide: true })).toBe('nothing at b');
  });

  test('the log line is a single line of limited length', () => {
    expect(detailOf('internal_error', [entry('internal_error', 'TypeError: x\n    at y\r\n\u0000\u202E at z ')])).toBe(
      'TypeError: x at y at z',
    );
    expect(detailOf('timeout', [entry('timeout', 'x'.repeat(10_000))])).toHaveLength(400);
  });

  test('the log line contains no query of a URL, because it may contain tokens', () => {
    const detail = 'https://ada:pw@a.example/x?key=hush&b=1#c: status 500, went to "HTTP://b.example?token=hush"';
    expect(detailOf('source_unavailable', [entry('source_unavailable', detail)])).toBe(
      'https://a.example/x?… status 500, went to "HTTP://b.example?…"',
    );
  });
});
