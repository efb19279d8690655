/**
 * The connection of one thread to the store that all nodes of a cluster share (Valkey or Redis, single or Cluster). The main thread has
 * one, each score worker has one, and each reader that waits for entries has one of its own.
 */
export interface Link {
  /** False while the store does not answer: `send` then returns faults at once, without waiting. */
  readonly isUp: boolean;
  /**
   * Sends all commands at once, so that those of one shard leave in one write, and returns one result for each, in the same order. Never
   * rejects. A command without a reply when the deadline ends has a fault: whether the store executed it is unknown.
   */
  send(commands: readonly Command[], deadlineMs?: number): Promise<readonly Sent[]>;
  close(): Promise<void>;
}

export type Argument = string | Buffer;
/** Bulk strings are buffers. */
export type Reply = Buffer | string | number | null | readonly Reply[];

export interface Command {
  /** Selects the shard. All keys of a command must be in the slot of this one: put the same hash tag into all. */
  readonly key: string;
  readonly args: readonly Argument[];
}

export type Sent =
  | { readonly kind: 'reply'; readonly reply: Reply }
  /** `refused`: the store answered with an error and executed nothing. `unknown`: no answer. `down`: not sent. */
  | { readonly kind: 'fault'; readonly what: 'refused' | 'unknown' | 'down'; readonly detail: string };

/** Choice: some hundred times the usual round trip, and below what a caller of a decision notices. Source: contract, 20.5. */
export const LINK_DEADLINE_MS = 25;

/** Where the shared store is, and how to sign in there. */
export interface ClusterAddress {
  /** `redis://host:port` or `rediss://host:port`; several for a Cluster. */
  readonly urls: readonly string[];
  readonly user: string | null;
  readonly password: string | null;
}
