import { describe, expect, test } from 'vitest';
import { CHANGE_FORMATS } from '../../../../src/state/feed/change-formats.ts';
import { NO_WORK } from '../../../../src/state/tables/review-row.ts';

/** A row of the review queue, with what older nodes do not know. */
const row = (why: string): Readonly<Record<string, unknown>> => ({
  requestId: 'req_1',
  why,
  work: { ...NO_WORK, note: 'n' },
});
const old = (why: string): Readonly<Record<string, unknown>> => ({ requestId: 'req_1', why });

describe('changes of the review queue beside nodes of version 1', () => {
  test('An older node gets sampled rows as it knows them, and no REVIEW that only the new queue holds', () => {
    const down = CHANGE_FORMATS['reviews.queued'].down[2];
    expect(down?.({ customer: 1, rows: [row('sample'), row('review')] })).toEqual({
      customer: 1,
      rows: [old('sample')],
    });
  });

  test.each(['label.set', 'review.judged'] as const)(
    '%s keeps its verdict without a row that cannot be held',
    (kind) => {
      const down = CHANGE_FORMATS[kind].down[2];
      const judged = (waiting: unknown) => ({ verdict: 'fraud', judging: { waiting, isEvidence: true } });
      expect(down?.(judged(row('review')))).toEqual(judged(null));
      expect(down?.(judged(row('sample')))).toEqual(judged(old('sample')));
      expect(down?.(judged(null))).toEqual(judged(null));
    },
  );

  test('Rows of an older node have no assignee, no note and no end', () => {
    const up = CHANGE_FORMATS['reviews.queued'].up[1];
    expect(up?.({ customer: 1, rows: [old('sample')] })).toEqual({
      customer: 1,
      rows: [{ ...old('sample'), work: NO_WORK }],
    });
    const judged = { judging: { waiting: old('sample') } };
    expect(CHANGE_FORMATS['review.judged'].up[1]?.(judged)).toEqual({
      judging: { waiting: { ...old('sample'), work: NO_WORK } },
    });
  });
});

test('An older node gets a webhook and its changes without a filter', () => {
  const down = CHANGE_FORMATS['webhook.created'].down[2];
  expect(down?.({ webhook: { id: 'wh_1', filter: 'score > 90' }, sealed: 's' })).toEqual({
    webhook: { id: 'wh_1' },
    sealed: 's',
  });
  const change = { url: 'https://receiver.test/', filter: null };
  expect(down?.({ id: 'wh_1', change })).toEqual({ id: 'wh_1', change: { url: 'https://receiver.test/' } });
});

test('A node of version 2 gets a webhook and its changes without headers, and with the filter', () => {
  const down = CHANGE_FORMATS['webhook.changed'].down[3];
  const change = { filter: 'score > 90', headers: { names: ['a'], sealed: 's' } };
  expect(down?.({ id: 'wh_1', change })).toEqual({ id: 'wh_1', change: { filter: 'score > 90' } });
});
