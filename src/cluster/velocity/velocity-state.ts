import type { StreamMarks } from '../../velocity/stream-marks.ts';

/** Choice: longer than a batch takes, so that every decision that was counted alone has the mark. */
const ALONE_MS = 1_000;
/** Choice: the shortest window; the counts of longer ones lack what was removed for longer. */
const GAP_MS = 60_000;
/** Choice: how long the operator sees that the history is incomplete. */
const THIN_MS = 3_600_000;

/** Returns whether the counts of present decisions may lack events of other nodes. */
export function isVelocityDegraded(marks: StreamMarks): boolean {
  const sinceLossMs = Math.min(marks.sinceMs('foundGap'), marks.sinceMs('foundUnreadable'));
  return sinceLossMs < GAP_MS || marks.sinceMs('countedAlone') < ALONE_MS;
}

export interface VelocityState {
  /** Counts of present decisions may lack events of other nodes, or other nodes lack events of this one. */
  readonly isBroken: boolean;
  /** A public sentence; empty if all is well. */
  readonly detail: string;
}

/** The exchange of events, as the layer `velocity` shows it. */
export function readVelocityState(marks: StreamMarks): VelocityState {
  const sinceAloneMs = marks.sinceMs('countedAlone');
  const sinceGapMs = marks.sinceMs('foundGap');
  if (sinceAloneMs < ALONE_MS) return { isBroken: true, detail: 'events are counted by this node alone' };
  if (marks.count('waiting') > 0 && sinceAloneMs < GAP_MS)
    return { isBroken: true, detail: 'events wait to be sent to other nodes' };
  if (marks.sinceMs('foundUnreadable') < GAP_MS)
    return { isBroken: true, detail: 'events of nodes of another version are not counted here' };
  if (sinceGapMs < THIN_MS)
    return { isBroken: sinceGapMs < GAP_MS, detail: 'events of other nodes were lost in the last hour' };
  if (marks.sinceMs('beganThin') < THIN_MS)
    return { isBroken: false, detail: 'this node began in the last hour, with the latest events of the others only' };
  return { isBroken: false, detail: '' };
}
