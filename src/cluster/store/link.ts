import type { BucketCounts } from '../../kernel/bucket-counts.ts';

/**
 * The connection of one thread to the store that all nodes of a cluster share (Valkey or Redis, single or Cluster). The main thread has
 * one, each score worker has one, and each reader that waits for entries has one of its own (`openWaitingLink`).
 */
export interface Link {
  /** False while no primary of the store answers: `send` then returns faults at once, without waiting. */
  readonly isUp: boolean;
  /**
   * Sends all commands at once, so that those of one shard leave in one write, and returns one result for each, in the same order. Never
   * rejects. A command without a reply when the deadline ends has a fault: whether the store executed it is unknown. Commands to a primary
   * that does not answer have the fault `down` at once; those to other primaries are sent.
   */
  send(commands: readonly Command[], deadlineMs?: number): Promise<readonly Sent[]>;
  close(): Promise<void>;
}

/** A link that counts what it does, for metrics. */
export interface MeasuredLink extends Link {
  readonly counts: LinkCounts;
  status(): LinkStatus;
}

export type Argument = string | Buffer;
/** Bulk strings are buffers. */
export type Reply = Buffer | string | number | null | readonly Reply[];

export interface Command {
  /** Selects the shard. All keys of a command must be in the slot of this one: put the same hash tag into all. */
  readonly key: string;
  readonly args: readonly Argument[];
}

export type Sent = { readonly kind: 'reply'; readonly reply: Reply } | SendFault;

/** `refused`: the store answered with an error and executed nothing. `unknown`: no answer. `down`: not sent. */
export interface SendFault {
  readonly kind: 'fault';
  readonly what: 'refused' | 'unknown' | 'down';
  readonly detail: string;
}

/** Choice: some hundred times the usual round trip, and below what a caller of a decision notices. Source: contract, 19.1. */
export const LINK_DEADLINE_MS = 25;
/** Choice: longer than a reader blocks (`XREAD BLOCK` of up to 5 s). */
export const WAITING_DEADLINE_MS = 10_000;

/**
 * Choice: the largest reply that nodes cause has eight entries of 4 MiB; a value written by another client may have hundreds of MB. A
 * connection that brings more is replaced, and this node works alone meanwhile.
 */
export const REPLY_BYTES_MAX = 48 * 2 ** 20;

let refusedReplies = 0;

/** Returns how many replies this thread has refused because of their size. */
export function countOfRefusedReplies(): number {
  return refusedReplies;
}

export class ReplyTooLarge extends Error {
  constructor() {
    refusedReplies++;
    super(`the store sent a reply of more than ${REPLY_BYTES_MAX / 2 ** 20} MiB: somebody else writes to it`);
  }
}

/** Address and credentials of the shared store. */
export interface ClusterAddress {
  /** `redis://host:port` or `rediss://host:port`; several for a Cluster. */
  readonly urls: readonly string[];
  readonly user: string | null;
  readonly password: string | null;
}

/** Totals since the link was opened. */
export interface LinkCounts {
  /** Calls of `send`, each one round trip, and the commands in them. */
  readonly sends: number;
  readonly commands: number;
  /** Commands by fault. */
  readonly faults: Readonly<Record<SendFault['what'], number>>;
  /** Times that a primary was found not to answer any more. */
  readonly opened: number;
  /** Commands that a Cluster redirected to another primary. */
  readonly redirected: number;
  /** Round trips of `send` without fault. */
  readonly roundTripSeconds: BucketCounts;
}

export interface LinkStatus {
  /** Primaries of the store; 0 as long as a Cluster has not been found. */
  readonly stores: number;
  /** Primaries that answer. */
  readonly storesUp: number;
  /** The last fault of each primary that does not answer. */
  readonly details: readonly string[];
  /** The last error with which the store refused a command; null if there was none. */
  readonly refusal: string | null;
}
