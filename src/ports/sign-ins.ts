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
  readonly lastSeenAtMs: number;
}

/** The sessions in the memory of one node. */
export interface SessionTable {
  rows(): readonly SessionRow[];
  /** Adds a session of another node, or takes over its later use. */
  adopt(row: SessionRow): void;
  endHashed(idHash: string): void;
  endAll(keyHash: string): void;
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
  /** `codeHash`: SHA-256 of a sign-in code, lower-case hex. */
  issued(codeHash: string, keyHash: string, keptMs: number): Promise<void>;
  /** Uses up a code for all nodes. `own`: the key that this node has for it. Returns the hash of its key; null if it is not valid. */
  redeemed(codeHash: string, own: string | null): Promise<string | null>;
}
