import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { WirePage } from '../../contract/wire-types.ts';
import { type ApiFault, getJson, readJson, request } from './api.ts';
import { Poller } from './poller.ts';

/** Choice: rows of one list on the page; older ones are dropped while new ones arrive. */
const ROWS_MAX = 5_000;

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

export interface PagesOptions<Row, Body = WirePage<Row>> {
  /** Identifies a row: one that comes again replaces the one that is there. */
  readonly idOf: (row: Row) => string;
  /** Milliseconds between polls for newer rows, while the tab is visible and the live switch is on; by default none. */
  readonly everyMs?: number;
  /** The endpoint has `after=<id>`: only rows after that one, so that a poll for newer rows is nearly empty. */
  readonly after?: boolean;
  /** For an endpoint whose pages have another form. */
  readonly toPage?: (body: Body) => WirePage<Row>;
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
export function usePages<Row, Body = WirePage<Row>>(url: string | null, options: PagesOptions<Row, Body>): Pages<Row> {
  const { idOf, everyMs = 0, after = false, toPage } = options;
  const readPage = async (pageUrl: string, end: AbortSignal): Promise<WirePage<Row>> => {
    const body = await getJson<Body & WirePage<Row>>(pageUrl, { signal: end });
    return toPage === undefined ? body : toPage(body);
  };
  const state = useMemo(() => signal<PagesState<Row>>(EMPTY), []);
  const poller = useRef<Poller | null>(null);

  useEffect(() => {
    state.value = EMPTY;
    if (url === null) return undefined;
    poller.current = new Poller({
      everyMs,
      poll: (end) => readNewest({ url, state, idOf, readPage }, after, end),
      isLoaded: () => state.peek().asOfMs !== null,
      onFault: (fault, retryAtMs) => void (state.value = { ...state.peek(), fault, loadingMore: false, retryAtMs }),
    });
    return poller.current.start();
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
    loadMore: () => {
      if (url === null || state.peek().loadingMore) return;
      poller.current?.read((end) => readOlder({ url, state, idOf, readPage }, end));
    },
    refresh: () => poller.current?.poll(),
    replace: (id, change) => {
      const rows = state.peek().rows.flatMap((row) => {
        const changed = idOf(row) === id ? change(row) : row;
        return changed === null ? [] : [changed];
      });
      state.value = { ...state.peek(), rows };
    },
  };
}

interface PagesReader<Row> extends Pick<PagesOptions<Row>, 'idOf'> {
  readonly url: string;
  readonly state: Signal<PagesState<Row>>;
  readonly readPage: (url: string, end: AbortSignal) => Promise<WirePage<Row>>;
}

async function readNewest<Row>(reader: PagesReader<Row>, after: boolean, end: AbortSignal): Promise<void> {
  const { url, state, idOf, readPage } = reader;
  const [newestRow] = state.peek().rows;
  const added = !after || newestRow === undefined ? null : await readAfter<Row>(url, idOf(newestRow), end);
  const page = added === null ? await readPage(url, end) : null;
  if (end.aborted) return;
  state.value = page === null ? putAbove(state.peek(), added ?? [], idOf) : mergeNewest(state.peek(), page, idOf);
}

async function readOlder<Row>({ url, state, idOf, readPage }: PagesReader<Row>, end: AbortSignal): Promise<void> {
  const { cursor } = state.peek();
  if (cursor === null) return;
  state.value = { ...state.peek(), loadingMore: true };
  const separator = url.includes('?') ? '&' : '?';
  const page = await readPage(`${url}${separator}cursor=${encodeURIComponent(cursor)}`, end);
  if (end.aborted) return;
  const now = state.peek();
  const known = new Set(now.rows.map(idOf));
  const rows = [...now.rows, ...page.data.filter((row) => !known.has(idOf(row)))].slice(0, ROWS_MAX);
  const isFull = rows.length === ROWS_MAX;
  state.value = {
    ...now,
    rows,
    cursor: isFull ? null : nextOf(page),
    fault: null,
    loadingMore: false,
    pagesRead: now.pagesRead + 1,
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
  // All known rows are within the page: the rest begins after it.
  const cursor = older.length === 0 ? nextOf(page) : now.cursor;
  return { ...fresh, rows, cursor: page.has_more ? cursor : null };
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
