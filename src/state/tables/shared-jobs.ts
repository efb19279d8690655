import type { SharedPoliteness } from '../../ports/politeness.ts';
import type { ExtractStore } from './extract-store.ts';
import type { StoredJob } from './extractions/job-rows.ts';
import type { JobNumber } from './extractions/row-keys.ts';

/**
 * The extraction jobs of a cluster, as the engine of one node sees them. Every node has all jobs with their records in its own store; each
 * job is run by one node.
 */
export interface SharedJobs {
  /** The tables of this node. A write resolves when it is in the log of all nodes and in these tables. */
  readonly store: ExtractStore;
  readonly politeness: SharedPoliteness;
  /** Returns whether this node runs the job. */
  owns(job: JobNumber): boolean;
  /** Applies the log from now on. Resolves when what it contains now is applied, or the shared store does not answer. */
  follow(): Promise<void>;
  /** Calls `listener` for what other nodes change, and for changes of owners. */
  onNews(listener: (news: JobNews) => void): void;
  /** Whether nothing of other nodes is applied and nothing can be written, because a newer build wrote to the log. */
  readonly isStopped: boolean;
  /**
   * Resolves when everything in the log at the time of the call is applied, or the shared store does not answer. Returns whether this node
   * has all jobs then.
   */
  caughtUp(): Promise<boolean>;
  state(): SharedJobsState;
  /** Sets the nodes that are alive, this one among them. Jobs of all others are taken over. */
  setNodes(nodes: readonly LiveNode[]): void;
  close(): Promise<void>;
}

export interface SharedJobsState {
  /** Entries of the log that this node has not applied. */
  readonly behind: number;
  /** Entries that the store had lost and that this node has put back since its start. */
  readonly putBack: number;
  /** Entries of the log that no node has written for their place, and that this node has removed. */
  readonly refused: number;
  /** Entries were missing, and no node gave the jobs that they belong to. */
  readonly isIncomplete: boolean;
}

export interface LiveNode {
  readonly id: string;
  readonly runsJobs: boolean;
}

export type JobNews =
  /** This node runs the job from now on: continue with its open steps, or with its delivery if it has ended. */
  | {
      readonly kind: 'adopted';
      readonly stored: StoredJob;
      /** Id of the node that ran it; empty if none did. */
      readonly from: string;
    }
  /** Another node runs the job from now on, or it was removed here. */
  | { readonly kind: 'lost'; readonly job: JobNumber }
  /** Another node ended the job, which may be one that this node runs. */
  | { readonly kind: 'ended'; readonly stored: StoredJob };
