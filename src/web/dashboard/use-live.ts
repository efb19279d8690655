import { effect, signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type ApiFault, readJson, request, toFault } from './api.ts';

/** The live switch of the top bar. Off: nothing is requested unless somebody asks. */
export const live = signal(true);

/** Choice: waits after consecutive failures, ms; a Retry-After that is longer counts instead. */
const BACK_OFF_MS = [2_000, 4_000, 8_000, 15_000, 30_000];

/** Choice: consecutive 429 responses that are retried without a message. */
export const BRIEF_FAILURES = 2;

/** What a page shows of a URL. Old data stay while new ones are requested, and after a failure. */
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
  const poke = useMemo(() => signal(0), []);
  const path = useRef<string | null>(null);

  useEffect(() => {
    const newPath = url?.split('?')[0] ?? null;
    if (path.current !== newPath) state.value = EMPTY;
    path.current = newPath;
    if (url === null) return undefined;
    let etag: string | null = null;
    let failures = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let current: AbortController | null = null;
    let dueMs = 0;

    const plan = (waitMs: number): void => {
      dueMs = Date.now() + waitMs;
      clearTimeout(timer);
      timer = setTimeout(attempt, waitMs);
    };
    const attempt = async (): Promise<void> => {
      if (document.hidden) return;
      current?.abort();
      const own = new AbortController();
      current = own;
      try {
        const headers = etag === null ? {} : { 'If-None-Match': etag };
        const response = await request(url, { headers, signal: own.signal, accept: [304, ...accept] });
        const data = response.status === 304 ? state.peek().data : await readJson<T>(response);
        if (own.signal.aborted) return;
        etag = response.headers.get('etag');
        failures = 0;
        state.value = { data, fault: null, asOfMs: Date.now(), retryAtMs: null };
        if (everyMs > 0 && live.peek()) plan(everyMs);
      } catch (error) {
        if (own.signal.aborted) return;
        const fault = toFault(error);
        const retries = fault.status === 0 || fault.status === 429 || fault.status >= 500;
        const waitMs = Math.max(BACK_OFF_MS[failures] ?? 30_000, (fault.retryAfterSeconds ?? 0) * 1_000);
        failures++;
        // A 429 passes quickly: it is shown only if it persists.
        const isBrief = fault.status === 429 && failures <= BRIEF_FAILURES;
        if (!isBrief) state.value = { ...state.peek(), fault, retryAtMs: retries ? Date.now() + waitMs : null };
        if (retries) plan(waitMs);
      } finally {
        if (current === own) current = null;
      }
    };
    const onVisible = (): void => {
      if (!document.hidden && dueMs <= Date.now() && (dueMs > 0 || state.peek().asOfMs === null)) void attempt();
    };
    document.addEventListener('visibilitychange', onVisible);
    // Runs at once, at every refresh, and when the live switch is turned on again.
    let isFirst = true;
    let pokes = poke.peek();
    const stop = effect(() => {
      const isLive = live.value;
      const wasPoked = poke.value !== pokes;
      pokes = poke.value;
      if (!isLive && everyMs > 0) clearTimeout(timer);
      if (isFirst || wasPoked || (isLive && everyMs > 0)) void attempt();
      isFirst = false;
    });
    return () => {
      stop();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
      current?.abort();
    };
  }, [url, everyMs]);

  const { data, fault, asOfMs, retryAtMs } = state.value;
  const loading = url !== null && data === undefined && fault === null;
  return { data, fault, loading, asOfMs, retryAtMs, refresh: () => void poke.value++ };
}
