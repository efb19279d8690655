import { RATE_WINDOW_SECONDS } from '../kernel/limits.ts';
import type { RateState } from '../ports/admission.ts';

/** Returns the rate-limit fields of every response, each line beginning with CRLF: three of the contract and two of the IETF. */
export function rateFields(state: RateState): string {
  const { limit, remaining, resetSeconds, retryAfterSeconds } = state;
  return (
    `\r\nX-SVC-Rl-Limit: ${limit}\r\nX-SVC-Rl-Remaining: ${remaining}\r\nX-SVC-Rl-Reset: ${resetSeconds}` +
    `\r\nRateLimit-Policy: "default";q=${limit};w=${RATE_WINDOW_SECONDS}` +
    `\r\nRateLimit: "default";r=${remaining};t=${retryAfterSeconds}`
  );
}
