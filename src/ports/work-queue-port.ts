/**
 * Work that is stored until it has been done: webhook deliveries and extraction jobs. Consumers claim it, on one node or on several. On a
 * single node the tables of the store are the queue, and claims are in memory; in a cluster it would be streams with consumer groups.
 *
 * Every piece is done at least once. It belongs to one lane: an endpoint, or the customer of a job; a lane is in the order of publishing.
 * A claim ends when it is settled or released, or `leaseMs` after it was made or renewed. From then on others may
 * claim the work: if a consumer dies, its work is claimed by another one and nothing is lost.
 */
export interface WorkQueue<New, Work extends QueuedWork, Report, Reason, Fault> {
  /** Length of a lease: a consumer renews its claims well before. */
  readonly leaseMs: number;
  /** Stores the work in this order. When it resolves, a crash of the process does not lose it. Work whose id is known stays as it is. */
  publish(work: readonly New[], nowMs: number): Promise<QueueAnswer<null, Fault>>;
  /** Returns the lanes with unfinished work, claimed or not. */
  lanes(): MaybeLater<readonly string[]>;
  /** Claims work of a lane that is due and not claimed, oldest first, at most `limit`. */
  claim(order: ClaimOrder): MaybeLater<readonly Claim<Work>[]>;
  /** Extends the claims by another lease from now on. Returns those that this consumer still has. */
  renew(claims: readonly Claim<Work>[], nowMs: number): MaybeLater<readonly Claim<Work>[]>;
  /**
   * Ends claims, in this order. `lost`: somebody else has claimed or ended the work meanwhile, so nothing was stored. An expired claim is
   * settled like any other as long as nobody has claimed its work. After a fault the claims are as they were.
   */
  settle(
    settled: readonly Settled<Work, Report, Reason>[],
    nowMs: number,
  ): Promise<QueueAnswer<readonly SettleOutcome[], Fault>>;
  /** Releases claims without a result: their work can be claimed at once. */
  release(claims: readonly Claim<Work>[]): MaybeLater<void>;
}

type MaybeLater<T> = T | Promise<T>;
export type QueueAnswer<T, Fault> = { readonly kind: 'ok'; readonly value: T } | Fault;
export type SettleOutcome = 'stored' | 'lost';

export interface QueuedWork {
  readonly id: string;
  readonly lane: string;
}

export interface ClaimOrder {
  /** Name of the consumer, unique among all that run. */
  readonly consumer: string;
  readonly lane: string;
  readonly limit: number;
  readonly nowMs: number;
}

export interface Claim<Work> {
  readonly work: Work;
  /** Distinguishes this claim from earlier and later ones of the same work. */
  readonly token: string;
  /** End of the lease, Unix ms. */
  readonly untilMs: number;
}

/**
 * What became of claimed work. `retry`: it is claimed again, not before that time (earlier after a restart of a queue that keeps the time
 * in memory). `dead`: it failed permanently, and is kept with its reason. `done` and `dead` are final.
 */
export type WorkEnd<Reason> =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly atMs: number }
  | { readonly kind: 'dead'; readonly reason: Reason };

export interface Settled<Work, Report, Reason> {
  readonly claim: Claim<Work>;
  readonly end: WorkEnd<Reason>;
  /** What is stored with the work, for example an attempt. */
  readonly report: Report;
}
