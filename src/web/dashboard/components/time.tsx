import type { JSX } from 'preact';
import { formatAgo, formatTime, formatUtc } from '../format.ts';
import { now } from '../now.ts';

/** A time in the browser's zone with UTC in its title. `ago`: as the time since then. 0 is no time: a virtual clock that was not set. */
export function Time({ at, ago = false }: { readonly at: number | null; readonly ago?: boolean }): JSX.Element {
  if (at === null || at === 0) return <span class="faint">–</span>;
  return (
    <time class="num" dateTime={new Date(at * 1_000).toISOString()} title={formatUtc(at)}>
      {ago ? formatAgo(at, now.value) : formatTime(at, now.value)}
    </time>
  );
}
