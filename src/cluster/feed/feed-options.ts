import type { ChangeFormats } from '../../state/feed/change-formats.ts';
import type { StoreFault } from '../../state/tables/durable.ts';
import type { StateBounds } from '../../state/tables/state-tables.ts';
import type { Link } from '../store/link.ts';

export interface FeedOptions {
  readonly link: Link;
  /** A link of the feed's own: its reader waits for entries on it. */
  readonly waiting: Link;
  /** `keyFor('cluster-values')`, the same on all nodes. */
  readonly key: Buffer;
  /** Unique in the cluster. */
  readonly node: string;
  /** Version of the build. */
  readonly version: string;
  /** Called with faults of this node's store; `store_stuck` must end the process. */
  readonly onFault?: (fault: StoreFault) => void;
  /**
   * Called when the data must be replaced by another node's after the start: the process must end, and its next start does that. Without
   * it the tables are replaced while they are in use.
   */
  readonly onReplace?: (detail: string) => void;
  /** Called with the id of each entry that was skipped because no node of the cluster wrote it for its place. */
  readonly onBroken?: (id: string) => void;
  readonly bounds?: Partial<StateBounds>;
  readonly formats?: ChangeFormats;
  /** Version of the tables. */
  readonly tables?: number;
  readonly keepMs?: number;
  readonly keepBytesMax?: number;
  readonly trimMs?: number;
  readonly commitMsMax?: number;
  readonly reportMs?: number;
  /** Milliseconds to wait for the other nodes' reports before a damaged stream is founded again. */
  readonly foundWaitMs?: number;
  /** Milliseconds that a start waits for a store that does not answer, or for a change that it cannot apply. */
  readonly startMs?: number;
}
