import { useEffect, useState } from 'preact/hooks';
import type { BacktestBody, BacktestStartedBody } from '../../../../contract/wire-types.ts';
import { type ApiFault, getJson, send, toFault, v1 } from '../../api.ts';

/** A backtest of the server, as long as it is shown. */
export interface ShownBacktest {
  /** Null before the first response. */
  readonly job: BacktestBody | null;
  readonly fault: ApiFault | null;
  /** Requests a second; null before there are two responses. */
  readonly rate: number | null;
  readonly secondsLeft: number | null;
  readonly retry: () => void;
  readonly cancel: () => void;
}

/** Choice: each response is small, and a person watches the bar. */
const POLL_MS = 700;

const path = (id: string): string => v1(`/policy/backtest/${encodeURIComponent(id)}`);

/** Starts a backtest of a customer's rules since a time, Unix seconds; returns its id. */
export async function startBacktest(rules: readonly object[], since: number): Promise<string> {
  return (await send<BacktestStartedBody>('POST', v1('/policy/backtest'), { rules, since })).id;
}

/** Follows a backtest until it has ended; '' for none. */
export function useBacktest(id: string): ShownBacktest {
  const [state, setState] = useState<Pick<ShownBacktest, 'job' | 'fault' | 'rate' | 'secondsLeft'>>(NOTHING);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    setState(NOTHING);
    if (id === '') return undefined;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let first: { readonly atMs: number; readonly job: BacktestBody } | null = null;
    const poll = async (): Promise<void> => {
      try {
        const job = await getJson<BacktestBody>(path(id), { signal: abort.signal });
        if (job.status === 'running') first ??= { atMs: performance.now(), job };
        setState({ job, fault: null, ...paceOf(first, job) });
        if (isBacktestPending(job)) timer = setTimeout(() => void poll(), POLL_MS);
      } catch (error) {
        if (!abort.signal.aborted) setState((before) => ({ ...before, fault: toFault(error) }));
      }
    };
    void poll();
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [id, turn]);
  const cancel = async (): Promise<void> => {
    try {
      await send('POST', `${path(id)}/cancel`, {});
      setTurn((n) => n + 1);
    } catch (error) {
      setState((before) => ({ ...before, fault: toFault(error) }));
    }
  };
  return { ...state, retry: () => setTurn((n) => n + 1), cancel: () => void cancel() };
}

const NOTHING = { job: null, fault: null, rate: null, secondsLeft: null };

export function isBacktestPending({ status }: BacktestBody): boolean {
  return status === 'queued' || status === 'running';
}

/** Choice: a smaller part says nothing about the rest. */
const PART_MIN = 0.02;

function paceOf(
  first: { readonly atMs: number; readonly job: BacktestBody } | null,
  { replayed, progress }: BacktestBody,
): Pick<ShownBacktest, 'rate' | 'secondsLeft'> {
  const seconds = first === null ? 0 : (performance.now() - first.atMs) / 1_000;
  if (first === null || seconds <= 0 || replayed === first.job.replayed) return { rate: null, secondsLeft: null };
  const part = progress - first.job.progress;
  return {
    rate: (replayed - first.job.replayed) / seconds,
    secondsLeft: part < PART_MIN ? null : (seconds * (1 - progress)) / part,
  };
}
