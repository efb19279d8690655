import { InvalidArgumentError } from 'commander';

/** Returns Unix seconds of an option that is given as such, or as a date. */
export function parseTime(text: string): number {
  const seconds = /^\d{1,12}$/.test(text) ? Number(text) : Math.floor(Date.parse(text) / 1000);
  if (!Number.isSafeInteger(seconds) || seconds < 0) throw new InvalidArgumentError('Unix seconds, or a date');
  return seconds;
}
