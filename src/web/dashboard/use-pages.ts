import { effect, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { WirePage } from '../../contract/wire-types.ts';
import { type ApiFault, getJson, readJson, request, toFault } from './api.ts';
import { BRIEF_FAILURES, live } from './use-live.ts';

/** Choice: rows of one list on the page; older ones are dropped while new ones arrive. */
const ROWS_MAX = 5_000;
const RETRY_MS = [2_000, 4_000, 8_000, 15_000, 30_000];

/** Rows of a list of the API, newest first, page after page. */
export interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly fault: ApiFault | null;
  /** True until the first response for this URL. */
  readonly loading: boolean;
  readonly loadingMore: boolean;
  /** There are older rows: `loadMore` adds them. */
  readonly hasMore: boolean;
  /** Pages that were read: the first, and one for each `loadMore`. */
  readonly pagesRead: number;
  readonly asOfMs: number | null;
  readonly retryAtMs: number | null;
  readonly loadMore: () => void;
  readonly refresh: () => void;
  /** Replaces a row in place, for example after a write. */
  readonly replace: (id: string, change: (row: Row) => Row | null) => void;
}

interface PagesState<Row> {
  rows: readonly Row[];
  cursor: string | null;
  fault: ApiFault | null;
  loadingMore: boolean;
  pagesRead: number;
  asOfMs: number | null;
  retryAtMs: number | null;
}

export interface PagesOptions<Row> {
  /** Tells rows apart: a row that comes again replaces the one that is there. */
  readonly idOf: (row: Row) => string;
  /** Milliseconds between polls for newer rows, while the tab is visible and the live switch is on; by default none. */
  readonly everyMs?: number;
  /** The endpoint has `after=<id>`: only rows after that one, so that a poll for newer rows is nearly empty. */
  readonly after?: boolean;
}

const EMPTY = {
  rows: [],
  cursor: null,
  fault: null,
  loadingMore: false,
  pagesRead: 0,
  asOfMs: null,
  retryAtMs: null,
} as const;

/** Reads a paged endpoint. `url` has all parameters but `cursor`; null: nothing yet. Another URL starts again. */
export function usePages<Row>(url: string | null, { idOf, everyMs = 0, after = false }: PagesOptions<Row>): Pages<Row> {
  const state = useMemo(() => signal<PagesState<Row>>(EMPTY), []);
  const poke = useMemo(() => signal(0), []);
  const older = useMemo(() => signal(0), []);

  useEffect(() => {
    state.value = EMPTY;
    if (url === null) return undefined;
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    let isBusy = false;
    let dueMs = 0;

    const plan = (waitMs: number, attempt = newest): void => {
      dueMs = Date.now() + waitMs;
      clearTimeout(timer);
      timer = setTimeout(() => void attempt(), waitMs);
    };
    const fail = (error: unknown, attempt: () => Promise<void>): void => {
      const fault = toFault(error);
      const retries = fault.status === 0 || fault.status === 429 || fault.status >= 500;
      const waitMs = Math.max(RETRY_MS[failures] ?? 30_000, (fault.retryAfterSeconds ?? 0) * 1_000);
      failures++;
      // A 429 passes quickly: it is shown only if it persists.
      const isBrief = fault.status === 429 && failures <= BRIEF_FAILURES;
      if (!isBrief)
        state.value = { ...state.peek(), fault, loadingMore: false, retryAtMs: retries ? Date.now() + waitMs : null };
      if (retries) plan(waitMs, attempt);
    };
    const newest = async (): Promise<void> => {
      if (document.hidden || isBusy) return;
      isBusy = true;
      try {
        const [newestRow] = state.peek().rows;
        const added = !after || newestRow === undefined ? null : await readAfter<Row>(url, idOf(newestRow), end.signal);
        const page = added === null ? await getJson<WirePage<Row>>(url, { signal: end.signal }) : null;
        if (end.signal.aborted) return;
        failures = 0;
        state.value = page === null ? putAbove(state.peek(), added ?? [], idOf) : mergeNewest(state.peek(), page, idOf);
        if (everyMs > 0 && live.peek()) plan(everyMs);
      } catch (error) {
        if (!end.signal.aborted) fail(error, newest);
      } finally {
        isBusy = false;
      }
    };
    const loadOlder = async (): Promise<void> => {
      const { cursor, loadingMore } = state.peek();
      if (cursor === null || loadingMore) return;
      state.value = { ...state.peek(), loadingMore: true };
      try {
        const separator = url.includes('?') ? '&' : '?';
        const page = await getJson<WirePage<Row>>(`${url}${separator}cursor=${encodeURIComponent(cursor)}`, {
          signal: end.signal,
        });
        if (end.signal.aborted) return;
        const now = state.peek();
        const known = new Set(now.rows.map(idOf));
        const rows = [...now.rows, ...page.data.filter((row) => !known.has(idOf(row)))].slice(0, ROWS_MAX);
        const next = rows.length === ROWS_MAX ? null : nextOf(page);
        state.value = { ...now, rows, cursor: next, fault: null, loadingMore: false, pagesRead: now.pagesRead + 1 };
        failures = 0;
        // A retry of this one took the place of the next poll.
        if (everyMs > 0 && live.peek()) plan(everyMs);
      } catch (error) {
        if (!end.signal.aborted) fail(error, loadOlder);
      }
    };

    const onVisible = (): void => {
      if (!document.hidden && dueMs <= Date.now() && (dueMs > 0 || state.peek().asOfMs === null)) void newest();
    };
    document.addEventListener('visibilitychange', onVisible);
    let isFirst = true;
    let pokes = poke.peek();
    let olders = older.peek();
    const stop = effect(() => {
      const isLive = live.value;
      const wasPoked = poke.value !== pokes;
      const wantsOlder = older.value !== olders;
      pokes = poke.value;
      olders = older.value;
      if (!isLive && everyMs > 0) clearTimeout(timer);
      if (wantsOlder) void loadOlder();
      else if (isFirst || wasPoked || (isLive && everyMs > 0)) void newest();
      isFirst = false;
    });
    return () => {
      stop();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
      end.abort();
    };
  }, [url, everyMs]);

  const { rows, cursor, fault, loadingMore, pagesRead, asOfMs, retryAtMs } = state.value;
  return {
    rows,
    fault,
    loading: url !== null && asOfMs === null && fault === null,
    loadingMore,
    hasMore: cursor !== null,
    pagesRead,
    asOfMs,
    retryAtMs,
    loadMore: () => void older.value++,
    refresh: () => void poke.value++,
    replace: (id, change) => {
      const rows = state.peek().rows.flatMap((row) => {
        const changed = idOf(row) === id ? change(row) : row;
        return changed === null ? [] : [changed];
      });
      state.value = { ...state.peek(), rows };
    },
  };
}

function nextOf(page: WirePage<unknown>): string | null {
  return page.has_more ? page.next_cursor : null;
}

/** Puts a new first page above the rows that are there. A gap between them starts the list again: no row may silently be missing. */
function mergeNewest<Row>(now: PagesState<Row>, page: WirePage<Row>, idOf: (row: Row) => string): PagesState<Row> {
  const pagesRead = Math.max(1, now.pagesRead);
  const fresh = { fault: null, loadingMore: now.loadingMore, pagesRead, asOfMs: Date.now(), retryAtMs: null };
  const ids = new Set(page.data.map(idOf));
  const touches = now.rows.some((row) => ids.has(idOf(row)));
  if (!touches || now.asOfMs === null) {
    return { ...fresh, rows: page.data, cursor: nextOf(page), loadingMore: false, pagesRead: 1 };
  }
  const last = page.data.at(-1);
  const lastId = last === undefined ? '' : idOf(last);
  // Rows within the page's reach that it no longer has were removed.
  const from = now.rows.findIndex((row) => idOf(row) === lastId);
  const older = from === -1 ? now.rows.filter((row) => !ids.has(idOf(row))) : now.rows.slice(from + 1);
  const rows = page.has_more ? [...page.data, ...older].slice(0, ROWS_MAX) : page.data;
  return { ...fresh, rows, cursor: page.has_more ? now.cursor : null };
}

function putAbove<Row>(now: PagesState<Row>, added: readonly Row[], idOf: (row: Row) => string): PagesState<Row> {
  const ids = new Set(added.map(idOf));
  const rows =
    added.length === 0 ? now.rows : [...added, ...now.rows.filter((row) => !ids.has(idOf(row)))].slice(0, ROWS_MAX);
  return { ...now, rows, fault: null, asOfMs: Date.now(), retryAtMs: null };
}

/** Returns the rows after one; null if that one is no longer known or there are too many, so that the list starts again. */
async function readAfter<Row>(url: string, id: string, signal: AbortSignal): Promise<readonly Row[] | null> {
  const separator = url.includes('?') ? '&' : '?';
  const response = await request(`${url}${separator}after=${encodeURIComponent(id)}`, { signal, accept: [404] });
  if (response.status === 404) return null;
  const page = await readJson<WirePage<Row>>(response);
  return page.has_more ? null : page.data;
}
