import type { CustomerNumber } from '../kernel/brand.ts';

/** A dashboard session as nodes share it; it holds neither the session's id nor a key. */
export interface SessionRow {
  /** SHA-256 of the session's id, lower-case hex. */
  readonly idHash: string;
  /** SHA-256 of the secret key that the session stands for. */
  readonly keyHash: string;
  readonly customer: CustomerNumber;
  /** First characters of the key. */
  readonly prefix: string;
  readonly createdAtMs: number;
}

/** The sessions in the memory of one node. */
export interface SessionTable {
  rows(): readonly SessionRow[];
  /** Adds a session of another node unless it is known. */
  adopt(row: SessionRow): void;
  endHashed(idHash: string): void;
  endAll(keyHash: string): void;
}

/** The sign-in codes that one node has issued. */
export interface CodeTable {
  /** Uses up the code with this hash. Returns the hash of its key; null if it is unknown, used or expired. */
  redeemHashed(codeHash: string, nowMs: number): string | null;
}

/**
 * Makes dashboard sessions and sign-in codes of one node those of all, so that a balancer may send a person to any node. Absent on a single
 * node. Nothing here rejects: without the other nodes a person stays signed in at the node where they signed in.
 */
export interface SignInShare {
  /** Resolves when all nodes that answer know the session. */
  opened(row: SessionRow): Promise<void>;
  ended(idHash: string): Promise<void>;
  endedAll(keyHash: string): Promise<void>;
  /**
   * Uses up a code that this node does not know, at the node that issued it. `codeHash`: SHA-256 of the code, lower-case hex. Returns the
   * hash of its key; null if it is not valid, or that node does not answer.
   */
  redeemed(codeHash: string): Promise<string | null>;
}
