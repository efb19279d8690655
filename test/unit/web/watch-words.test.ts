import { expect, test } from 'vitest';
import type { WatchChangeRow, WatchRow } from '../../../src/contract/wire-types.ts';
import {
  differencesOf,
  foundWords,
  scheduleOf,
  watchState,
} from '../../../src/web/dashboard/pages/watches/watch-words.ts';

const LAST = { status: 'succeeded', reason: null, complete: true, records: 120, new: 2, changed: 0, gone: 1 };
const watch = (change: object): WatchRow =>
  ({ status: 'waiting', baseline: true, last_run: LAST, ...change }) as unknown as WatchRow;
const change = (given: object): WatchChangeRow =>
  ({ id: 'wat-1', at: 1, key: { id: 1 }, ...given }) as unknown as WatchChangeRow;

test('The state of a watch is that of its last run, unless one is on its way or it is paused', () => {
  const word = (given: object): string => watchState(watch(given)).word;
  expect(word({})).toBe('Watching');
  expect(word({ status: 'paused' })).toBe('Paused');
  expect(word({ status: 'running' })).toBe('Running');
  expect(word({ last_run: null })).toBe('No run yet');
  expect(word({ last_run: { ...LAST, complete: false } })).toBe('Incomplete');
  expect(word({ baseline: false })).toBe('No baseline yet');
});

test('A failed run says why, also while the watch is paused', () => {
  const failed = { last_run: { ...LAST, status: 'failed', reason: 'too_many_records' } };
  expect(watchState(watch(failed))).toEqual({ tone: 'bad', word: 'Failed', why: 'It has more than 5,000 records' });
  expect(watchState(watch({ ...failed, status: 'paused' })).why).toBe('It has more than 5,000 records');
  expect(foundWords(watch(failed))).toBeNull();
});

test('A run that succeeded says what it found', () => {
  expect(foundWords(watch({}))).toBe('2 new, 1 gone in 120 records');
  expect(foundWords(watch({ last_run: { ...LAST, records: 1, new: 0, gone: 0 } }))).toBe('nothing changed in 1 record');
});

test('A schedule is an interval or a cron line in UTC', () => {
  expect(scheduleOf({ every: '1h', cron: null })).toBe('every 1h');
  expect(scheduleOf({ every: null, cron: '0 6 * * *' })).toBe('0 6 * * * (UTC)');
});

test('A changed record shows the compared values that differ, by paths into the record too', () => {
  const row = change({
    kind: 'changed',
    record: { price: { amount: 6 }, title: 'new title', stock: 3 },
    before: { 'price.amount': 5, stock: 3 },
  });
  expect(differencesOf(row, ['price.amount', 'stock'])).toEqual([{ path: 'price.amount', before: '5', after: '6' }]);
});

test('A watch of whole records shows members that came and went, and takes no order for a difference', () => {
  const row = change({
    kind: 'changed',
    record: { b: { y: 1, x: 2 }, added: 'now' },
    before: { b: { x: 2, y: 1 }, left: 'then' },
  });
  expect(differencesOf(row, null)).toEqual([
    { path: 'left', before: 'then', after: null },
    { path: 'added', before: null, after: 'now' },
  ]);
});

test('A new record shows what it is, one that is gone what it was, and values that were not kept none', () => {
  expect(differencesOf(change({ kind: 'new', record: { a: 1, b: null } }), ['a'])).toEqual([
    { path: 'a', before: null, after: '1' },
  ]);
  expect(differencesOf(change({ kind: 'gone', record: null, before: { a: 1 } }), ['a'])).toEqual([
    { path: 'a', before: '1', after: null },
  ]);
  expect(differencesOf(change({ kind: 'changed', record: { a: 1 } }), ['a'])).toEqual([]);
});
