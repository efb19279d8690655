import type { CustomerNumber } from '../../kernel/brand.ts';
import type { Watch, WatchCounts, WatchEnd, WatchFinding, WatchId, WatchSettings } from '../../work/watch.ts';

/** The writes of watches: a part of `StateChanges`. */
export type WatchStateChanges = {
  'watch.created': { readonly fields: { readonly watch: Watch }; readonly outcome: 'created' | 'limit_reached' };
  /** Members that are absent stay as they are. The outcome is the changed watch; null if there is none. */
  'watch.changed': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly id: WatchId;
      readonly change: Partial<WatchSettings & Pick<Watch, 'anchorMs' | 'dueAtMs' | 'tokenHash'>>;
      /** Whether what it saw before counts no more. A run that is on its way is then abandoned. */
      readonly resets: boolean;
    };
    readonly outcome: Watch | null;
  };
  /** The outcome is whether it existed. What it saw and found is removed later. */
  'watch.removed': {
    readonly fields: { readonly customer: CustomerNumber; readonly id: WatchId };
    readonly outcome: boolean;
  };
  /** `stale`: that run has begun before, or another is on its way. Null: there is no such watch. */
  'watch.begun': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly id: WatchId;
      /** One more than that of the last run. */
      readonly run: number;
      /** Null for a run that was asked for. */
      readonly dueAtMs: number | null;
      readonly missed: number;
      readonly nextDueAtMs: number;
      /** Null leaves it to any node that runs jobs. */
      readonly node: string | null;
    };
    readonly outcome: Watch | 'stale' | null;
  };
  /** Hands a run from one node to another, and names its job. The outcome is whether it was still with the node `from`. */
  'watch.taken': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly id: WatchId;
      readonly run: number;
      readonly from: string | null;
      readonly node: string;
      readonly job: string | null;
    };
    readonly outcome: boolean;
  };
  /**
   * Findings of a run, in their order. What was applied before changes nothing, so a part may be repeated. The outcome is whether the run
   * is on its way. Pass a hundred at most.
   */
  'watch.compared': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly id: WatchId;
      readonly run: number;
      readonly findings: readonly WatchFinding[];
    };
    readonly outcome: boolean;
  };
  /** The outcome is what the run found; null if it was not on its way. */
  'watch.ended': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly id: WatchId;
      readonly run: number;
      readonly end: WatchEnd;
    };
    readonly outcome: WatchCounts | null;
  };
};
