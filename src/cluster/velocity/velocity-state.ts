import { StreamMarks } from '../../velocity/stream-marks.ts';

/** Choice: longer than a batch takes, so that every decision that was counted alone has the mark. */
const ALONE_MS = 1_000;
/** Choice: the shortest window; the counts of longer ones lack what was removed for longer. */
const GAP_MS = 60_000;
/** Choice: how long the operator sees that the history is incomplete. */
const THIN_MS = 3_600_000;

/** Returns whether the counts of present decisions may lack events of other nodes. */
export function isVelocityDegraded(marks: StreamMarks, nowMs: number): boolean {
  return nowMs - marks.count('aloneAtMs') < ALONE_MS || nowMs - marks.count('gapAtMs') < GAP_MS;
}

/** Returns a public sentence about the exchange of events; null if it works. */
export function describeVelocity(marks: StreamMarks, nowMs: number): string | null {
  if (nowMs - marks.count('aloneAtMs') < ALONE_MS) return 'events are counted by this node alone';
  if (marks.count('waiting') > 0 && nowMs - marks.count('aloneAtMs') < GAP_MS)
    return 'events wait to be sent to other nodes';
  if (nowMs - marks.count('gapAtMs') < THIN_MS) return 'events of other nodes were lost in the last hour';
  return null;
}
