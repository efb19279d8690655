/** Choice: a step occupies a worker's slot while it waits. For a longer wait the job postpones the step. */
export const RETRY_AFTER_MS_MAX = 60_000;
/** Choice: the first wait is up to half a second, and each further one up to twice as long. */
const BACKOFF_FIRST_MS = 500;
const BACKOFF_MS_MAX = 10_000;

/**
 * Returns the wait before the attempt after `retry` retries: evenly distributed between zero and a growing limit, so that clients that
 * failed together do not return together.
 */
export function backoffMs(retry: number, random: () => number): number {
  return random() * Math.min(BACKOFF_MS_MAX, BACKOFF_FIRST_MS * 2 ** retry);
}

/** Parses `Retry-After`, seconds or an HTTP date, into a wait (ms); null if it is absent or invalid. Source: RFC 9110, 10.2.3. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // All three HTTP date formats start with a weekday. Date.parse accepts much more than dates.
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return null;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
