import type { JsonAnswer } from '../../base/connector.ts';
import { integerOf } from './json.ts';

/**
 * If this was the last request that the source's window allows, returns the time until the next one opens, by the source's clock.
 * `prefix`: of the headers `<prefix>-remaining` and `<prefix>-reset`, the latter in Unix seconds.
 */
export function restOfWindow(
  { headers }: Pick<JsonAnswer, 'headers'>,
  prefix: 'x-ratelimit' | 'ratelimit',
): { readonly pauseSeconds?: number } {
  const reset = integerOf(headers[`${prefix}-reset`]);
  const now = Date.parse(headers['date'] ?? '') / 1_000;
  return headers[`${prefix}-remaining`] === '0' && reset !== null && reset > now ? { pauseSeconds: reset - now } : {};
}
