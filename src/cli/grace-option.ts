import { InvalidArgumentError } from 'commander';

/** Source: contract, 3.10 and 10.2: as long as the old key or secret counts beside the new one at most. */
const GRACE_SECONDS_MAX = 7 * 86_400;

export function parseGrace(text: string): number {
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : GRACE_SECONDS_MAX + 1;
  if (seconds <= GRACE_SECONDS_MAX) return seconds;
  throw new InvalidArgumentError(`a whole number of seconds, up to ${GRACE_SECONDS_MAX}`);
}
