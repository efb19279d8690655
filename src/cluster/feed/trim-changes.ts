import type { Link } from '../store/link.ts';
import { firstFrom, trimFeed } from './feed-store.ts';

/**
 * Choice: how long a node may be away and still catch up from the stream: a day, and 64 MiB of changes (some 200,000). After more it takes
 * a snapshot.
 */
export const KEEP_MS = 24 * 3_600_000;
export const KEEP_BYTES_MAX = 67_108_864;

export interface Keeping {
  readonly keepMs: number;
  readonly keepBytesMax: number;
}

/** Removes changes that are older than what is kept and that every live node has applied. Returns the number of removed entries. */
export async function trimChanges(
  link: Link,
  /** The newest change that this node has applied. */
  head: { readonly cluster: string; readonly number: number },
  /** The lowest number that a live node has applied. */
  appliedByAll: number,
  nowMs: number,
  { keepMs, keepBytesMax }: Keeping,
): Promise<number> {
  const [oldest, newest] = [await firstFrom(link, 0), await firstFrom(link, head.number)];
  if (oldest.kind === 'away' || newest.kind === 'away' || oldest.value === null || newest.value === null) return 0;
  const bytes = newest.value.bytes;
  // Numbers have no gap, and times and bytes grow with them: the first change to keep is found by halving.
  let low = oldest.value.number;
  let high = Math.min(head.number, appliedByAll + 1);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const entry = await firstFrom(link, middle);
    if (entry.kind === 'away' || entry.value === null) return 0;
    const isKept = nowMs - entry.value.atMs <= keepMs && bytes - entry.value.bytes <= keepBytesMax;
    if (isKept) high = middle;
    else low = middle + 1;
  }
  if (low <= oldest.value.number) return 0;
  const trimmed = await trimFeed(link, head.cluster, low);
  return trimmed.kind === 'ok' ? trimmed.value : 0;
}
