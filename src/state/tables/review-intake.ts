import { BoundedCache } from '../../kernel/bounded-cache.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { SHADOW_REVIEWS_KEEP_SECONDS, SHADOW_REVIEWS_PER_CUSTOMER_MAX } from '../../kernel/limits.ts';
import { REVIEW_SHARES, type ReviewKind, reviewKindOf } from '../../risk/judgement.ts';
import type { ShadowReview } from './review-row.ts';

/** Rows that a customer may still queue; fractions are room that grows. */
interface Room {
  /** Time of the newest row. */
  atMs: number;
  /** By kind, at most a day's share. */
  readonly own: Record<ReviewKind, number>;
  /** What kinds left unused, at most a day's. */
  shared: number;
}

const DAY_MS = 86_400_000;
/** Choice: as many as fit until the first of them ends. */
export const REVIEWS_PER_DAY = Math.floor(SHADOW_REVIEWS_PER_CUSTOMER_MAX / (SHADOW_REVIEWS_KEEP_SECONDS / 86_400));
/** Choice: customers whose room is in memory, some 2 MB; one that is forgotten begins with a day's. */
const CUSTOMERS_MAX = 10_000;
const KINDS = Object.keys(REVIEW_SHARES) as readonly ReviewKind[];

/**
 * Decides which rows enter the shadow review queue, so that a challenger that disagrees with everything pushes out neither samples nor open
 * work. Each kind has its share of `perDay` rows and what the others leave unused. Samples use room up and are never refused: their rate
 * bounds them. Times are those of the rows. Each node of a cluster counts what it queues.
 */
export class ReviewIntake {
  readonly #perDay: number;
  readonly #rooms = new BoundedCache<CustomerNumber, Room>(CUSTOMERS_MAX / 2);

  constructor(perDay: number) {
    this.#perDay = perDay;
  }

  admits(customer: CustomerNumber, row: Pick<ShadowReview, 'why' | 'decision' | 'wouldBe' | 'occurredAtMs'>): boolean {
    // Open work: somebody waits for the verdict.
    if (row.decision === 'REVIEW') return true;
    const kind = reviewKindOf(row.why, row.wouldBe ?? row.decision);
    const room = this.#grown(customer, row.occurredAtMs);
    if (room.own[kind] >= 1) room.own[kind]--;
    else if (room.shared >= 1) room.shared--;
    else return kind === 'sampled';
    return true;
  }

  #grown(customer: CustomerNumber, atMs: number): Room {
    const known = this.#rooms.get(customer);
    const room = known ?? { atMs, own: { passed: 0, stopped: 0, sampled: 0 }, shared: 0 };
    if (known === undefined) this.#rooms.set(customer, room);
    const days = known === undefined ? 1 : Math.max(0, atMs - room.atMs) / DAY_MS;
    room.atMs = Math.max(room.atMs, atMs);
    for (const kind of KINDS) {
      const share = REVIEW_SHARES[kind] * this.#perDay;
      const grown = room.own[kind] + share * days;
      room.own[kind] = Math.min(share, grown);
      room.shared = Math.min(this.#perDay, room.shared + grown - room.own[kind]);
    }
    return room;
  }
}
