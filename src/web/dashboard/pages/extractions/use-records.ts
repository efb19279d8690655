import { useEffect, useState } from 'preact/hooks';
import type { RecordPageBody } from '../../../../contract/wire-types.ts';
import { type ApiFault, getJson, toFault, v1 } from '../../api.ts';

export type ExtractedRecord = RecordPageBody['records'][number];

export interface Records {
  readonly rows: readonly ExtractedRecord[];
  readonly fault: ApiFault | null;
  readonly loading: boolean;
  readonly loadingMore: boolean;
  readonly hasMore: boolean;
  readonly asOfMs: number | null;
  readonly retryAtMs: number | null;
  readonly loadMore: () => void;
  readonly refresh: () => void;
}

interface State {
  readonly rows: readonly ExtractedRecord[];
  readonly cursor: string | null;
  readonly fault: ApiFault | null;
  readonly loadingMore: boolean;
  readonly asOfMs: number | null;
}

const EMPTY: State = { rows: [], cursor: null, fault: null, loadingMore: false, asOfMs: null };
const PAGE_RECORDS = 50;

/** The URL of a page of records, those of an unfinished job too. */
export function recordsUrl(id: string, query: Readonly<Record<string, string | number | null>>): string {
  return v1(`/extractions/${encodeURIComponent(id)}/records`, { partial: true, ...query });
}

/** Reads records of a job page after page. `version` changes when there may be more, for example with the number collected. */
export function useRecords(id: string, version: string): Records {
  const [state, setState] = useState<State>(EMPTY);
  const [turn, setTurn] = useState(0);
  useEffect(() => setState(EMPTY), [id]);
  useEffect(() => {
    const end = new AbortController();
    getJson<RecordPageBody>(recordsUrl(id, { limit: PAGE_RECORDS, format: 'json' }), { signal: end.signal }).then(
      (page) => {
        setState((now) => {
          const isLonger = now.rows.length > page.records.length;
          const cursor = page.has_more ? page.next_cursor : null;
          return {
            rows: isLonger ? now.rows : page.records,
            cursor: isLonger ? now.cursor : cursor,
            fault: null,
            loadingMore: false,
            asOfMs: Date.now(),
          };
        });
      },
      (error: unknown) => {
        if (!end.signal.aborted) setState((now) => ({ ...now, fault: toFault(error) }));
      },
    );
    return () => end.abort();
  }, [id, version, turn]);

  const loadMore = (): void => {
    const { cursor } = state;
    if (cursor === null || state.loadingMore) return;
    setState((now) => ({ ...now, loadingMore: true }));
    getJson<RecordPageBody>(recordsUrl(id, { limit: PAGE_RECORDS, format: 'json', cursor })).then(
      (page) =>
        setState((now) => ({
          ...now,
          rows: now.cursor === cursor ? [...now.rows, ...page.records] : now.rows,
          cursor: page.has_more ? page.next_cursor : null,
          loadingMore: false,
        })),
      (error: unknown) => setState((now) => ({ ...now, fault: toFault(error), loadingMore: false })),
    );
  };
  const { rows, cursor, fault, loadingMore, asOfMs } = state;
  return {
    rows,
    fault,
    loading: asOfMs === null && fault === null,
    loadingMore,
    hasMore: cursor !== null,
    asOfMs,
    retryAtMs: null,
    loadMore,
    refresh: () => setTurn((n) => n + 1),
  };
}
