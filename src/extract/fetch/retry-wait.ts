/** Choice: a step holds a worker's place while it waits, so for what the source asks beyond this the job puts the step off. */
export const RETRY_AFTER_MS_MAX = 60_000;
/** Choice: the first wait is up to half a second, and each further one up to twice as long. */
const BACKOFF_FIRST_MS = 500;
const BACKOFF_MS_MAX = 10_000;

/**
 * Before the attempt after `retry` retries: between nothing and a bound that grows, evenly, so that those who failed together do not
 * come back together.
 */
export function backoffMs(retry: number, random: () => number): number {
  return random() * Math.min(BACKOFF_MS_MAX, BACKOFF_FIRST_MS * 2 ** retry);
}

/** `Retry-After`, seconds or an HTTP date, as a wait; null where there is none that can be read. Source: RFC 9110, 10.2.3. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // Dates have a weekday in all three forms, and Date.parse takes far more than dates.
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return null;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
