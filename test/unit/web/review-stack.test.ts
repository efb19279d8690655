import { describe, expect, test } from 'vitest';
import type { ShadowReviewRow } from '../../../src/contract/wire-types.ts';
import { findPlace } from '../../../src/web/dashboard/pages/review/review-stack.ts';

const ROWS = Array.from({ length: 10 }, (_, n) => ({ request_id: `req_${n}` })) as unknown as ShadowReviewRow[];

function ids(rows: readonly (ShadowReviewRow | null)[]): (string | null)[] {
  return rows.map((row) => row?.request_id ?? null);
}

/** The event types of the first decisions; the rest is not loaded. */
function known(...events: (string | null)[]): (id: string) => string | null | undefined {
  return (id) => events[Number(id.slice(4))];
}

const nothing = (): undefined => undefined;

describe('The stack of reviews', () => {
  test('shows the decision of the URL, its neighbours, and loads two more', () => {
    const place = findPlace(ROWS, 'req_3', '', 200, nothing);
    expect(ids([place.previous, place.row, place.next])).toEqual(['req_2', 'req_3', 'req_4']);
    expect(place.load).toEqual(['req_3', 'req_4', 'req_5']);
    expect(place.index).toBe(3);
  });

  test('shows the first one for an id that is not in the queue, and ends at both ends', () => {
    const first = findPlace(ROWS, 'req_gone', '', 200, nothing);
    expect(ids([first.previous, first.row])).toEqual([null, 'req_0']);
    expect(ids([findPlace(ROWS, 'req_9', '', 200, nothing).next])).toEqual([null]);
    const empty = findPlace([], '', '', 200, nothing);
    expect([empty.row, empty.isSearching, empty.isStopped]).toEqual([null, false, false]);
  });

  test('loads four at a time until one has the event type', () => {
    const before = findPlace(ROWS, '', 'signup', 200, known('login', 'login'));
    expect([before.row, before.isSearching]).toEqual([null, true]);
    expect(before.load).toEqual(['req_2', 'req_3', 'req_4', 'req_5']);
    const after = findPlace(ROWS, '', 'signup', 200, known('login', null, 'signup', 'login', 'signup'));
    expect(ids([after.previous, after.row, after.next])).toEqual([null, 'req_2', 'req_4']);
    expect(after.isSearching).toBe(false);
  });

  test('stops when it has looked at as many as it may, and only then', () => {
    const login = (): string => 'login';
    const stopped = findPlace(ROWS, '', 'signup', 4, login);
    expect([stopped.row, stopped.isSearching, stopped.isStopped]).toEqual([null, false, true]);
    const ended = findPlace(ROWS, '', 'signup', 10, login);
    expect([ended.row, ended.isSearching, ended.isStopped]).toEqual([null, false, false]);
  });
});
