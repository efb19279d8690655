import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type ApiFault, readJson, request } from './api.ts';
import { Poller } from './poller.ts';

/** The state of a URL on a page. Old data stay while new ones are requested, and after a failure. */
export interface Live<T> {
  readonly data: T | undefined;
  /** The last attempt's; null after a success. With `data` it is a stale view, without an error. */
  readonly fault: ApiFault | null;
  /** True until the first response. */
  readonly loading: boolean;
  /** When `data` came, ms. */
  readonly asOfMs: number | null;
  readonly retryAtMs: number | null;
  readonly refresh: () => void;
}

interface LiveState<T> {
  data: T | undefined;
  fault: ApiFault | null;
  asOfMs: number | null;
  retryAtMs: number | null;
}

export interface LiveOptions {
  /** Milliseconds between requests while the tab is visible and the live switch is on; by default one request only. */
  readonly everyMs?: number;
  /** Statuses besides 2xx that have data. */
  readonly accept?: readonly number[];
}

const EMPTY = { data: undefined, fault: null, asOfMs: null, retryAtMs: null } as const;

/**
 * Requests JSON and repeats it. `url` null: nothing yet. Data are dropped when the path of the URL changes, and kept when only its query
 * does. A request is aborted when its URL is no longer wanted; a hidden tab requests nothing; an unchanged `ETag` changes nothing.
 */
export function useLive<T>(url: string | null, { everyMs = 0, accept = [] }: LiveOptions = {}): Live<T> {
  const state = useMemo(() => signal<LiveState<T>>(EMPTY), []);
  const poller = useRef<Poller | null>(null);
  const path = useRef<string | null>(null);

  useEffect(() => {
    const newPath = url?.split('?')[0] ?? null;
    if (path.current !== newPath) state.value = EMPTY;
    path.current = newPath;
    if (url === null) return undefined;
    let etag: string | null = null;
    const poll = async (end: AbortSignal): Promise<void> => {
      const headers = etag === null ? {} : { 'If-None-Match': etag };
      const response = await request(url, { headers, signal: end, accept: [304, ...accept] });
      const data = response.status === 304 ? state.peek().data : await readJson<T>(response);
      if (end.aborted) return;
      etag = response.headers.get('etag');
      state.value = { data, fault: null, asOfMs: Date.now(), retryAtMs: null };
    };
    poller.current = new Poller({
      everyMs,
      poll,
      isLoaded: () => state.peek().asOfMs !== null,
      onFault: (fault, retryAtMs) => void (state.value = { ...state.peek(), fault, retryAtMs }),
    });
    return poller.current.start();
  }, [url, everyMs]);

  const { data, fault, asOfMs, retryAtMs } = state.value;
  const loading = url !== null && data === undefined && fault === null;
  return { data, fault, loading, asOfMs, retryAtMs, refresh: () => poller.current?.poll() };
}
