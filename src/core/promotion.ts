import {
  PROMOTED_RISK,
  PROMOTED_RISK_MAX,
  PROMOTED_RISK_STEP,
  PROMOTED_RISK_UNCONFIRMED,
  PROMOTION_CUSTOMERS_MIN,
  PROMOTION_SHOWN_AFTER_SECONDS,
  PROMOTION_WINDOW_SECONDS,
} from '../limits.ts';
import { registryRiskAt } from './registry-risk.ts';

/**
 * The rules by which what customers block becomes known to all: at least 3 distinct customers within 30 days. With confirmed
 * evidence of 3 the risk is 90, of 5 it is 94, of 10 it is 98; with less it is 60, which is suspicious and no more.
 */

/** The last time that one customer gave one kind of evidence against a fingerprint, Unix seconds. */
export interface Sighting {
  readonly customer: number;
  readonly firstSeenSeconds: number;
  readonly lastSeenSeconds: number;
  /** More than BLOCKs of traffic from one place on one day, which anyone can bring about with a forged token. */
  readonly isConfirmed: boolean;
}

/** When and by how many customers a fingerprint was seen. */
export interface SeenBy {
  readonly customers: number;
  readonly firstSeenSeconds: number;
  readonly lastSeenSeconds: number;
}

/** What sightings make of a fingerprint, by at least 3 distinct customers. */
export interface Consensus extends SeenBy {
  /** Of these customers, those whose evidence is confirmed. */
  readonly confirmed: number;
}

/** The same as it is stored, with what customers are shown of it. */
export interface Promotion extends Consensus {
  /** When the number of customers, as it is shown, rose last. */
  readonly risenAtSeconds: number;
  /** What was shown until then; 0 for nothing. */
  readonly shownBefore: number;
}

/** A part of a registry entry: what an import says, or what a promotion amounts to. */
export interface RegistryPart extends SeenBy {
  /** 0 to 100, as it was when it was last seen. */
  readonly risk: number;
}

/** Whether a sighting still counts. One ahead of the clock counts as of now. */
export function isLive(lastSeenSeconds: number, nowSeconds: number): boolean {
  return nowSeconds - lastSeenSeconds <= PROMOTION_WINDOW_SECONDS;
}

/** Choice: who has two customers of its own cannot tell from these steps when another one joins them. */
const STEPS = [10, 5, PROMOTION_CUSTOMERS_MIN] as const;

/** A number of customers as others may learn it: 3, 5 or 10; 0 for fewer. */
export function coarseCustomers(customers: number): number {
  return STEPS.find((step) => customers >= step) ?? 0;
}

/** 0 for too few customers. In the steps of `coarseCustomers`, because the evidence of a decision shows the risk. */
export function promotedRisk({ customers, confirmed }: Pick<Consensus, 'customers' | 'confirmed'>): number {
  if (customers < PROMOTION_CUSTOMERS_MIN) return 0;
  const step = coarseCustomers(confirmed);
  if (step === 0) return PROMOTED_RISK_UNCONFIRMED;
  return Math.min(PROMOTED_RISK_MAX, PROMOTED_RISK + PROMOTED_RISK_STEP * (step - PROMOTION_CUSTOMERS_MIN));
}

/** What the sightings of a fingerprint amount to, in whatever order they come; null for too few customers. */
export function promotionOf(sightings: Iterable<Sighting>, nowSeconds: number): Consensus | null {
  const customers = new Set<number>();
  const confirmed = new Set<number>();
  let firstSeenSeconds = Number.POSITIVE_INFINITY;
  let lastSeenSeconds = 0;
  for (const sighting of sightings) {
    if (!isLive(sighting.lastSeenSeconds, nowSeconds)) continue;
    customers.add(sighting.customer);
    if (sighting.isConfirmed) confirmed.add(sighting.customer);
    firstSeenSeconds = Math.min(firstSeenSeconds, sighting.firstSeenSeconds);
    lastSeenSeconds = Math.max(lastSeenSeconds, sighting.lastSeenSeconds);
  }
  if (customers.size < PROMOTION_CUSTOMERS_MIN) return null;
  return { customers: customers.size, confirmed: confirmed.size, firstSeenSeconds, lastSeenSeconds };
}

/**
 * After a new sighting: `fresh` in the place of `before`, with when it was first seen. Without enough customers of late, what
 * was there goes on fading: one customer alone keeps no entry alive.
 */
export function afterSighting(before: Consensus | null, fresh: Consensus | null): Consensus | null {
  if (fresh === null || before === null) return fresh ?? before;
  return { ...fresh, firstSeenSeconds: Math.min(before.firstSeenSeconds, fresh.firstSeenSeconds) };
}

/** `fresh` as it is stored in the place of `before`: a rise is shown a day later. */
export function published(before: Promotion | null, fresh: Consensus, nowSeconds: number): Promotion {
  const hasRisen = before === null || coarseCustomers(fresh.customers) > coarseCustomers(before.customers);
  if (!hasRisen) return { ...fresh, risenAtSeconds: before.risenAtSeconds, shownBefore: before.shownBefore };
  return {
    ...fresh,
    risenAtSeconds: nowSeconds,
    shownBefore: before === null ? 0 : shownCustomers(before, nowSeconds),
  };
}

/** How many customers are shown, coarse and late; 0 while nothing is. */
export function shownCustomers({ customers, risenAtSeconds, shownBefore }: Promotion, nowSeconds: number): number {
  const now = coarseCustomers(customers);
  return nowSeconds - risenAtSeconds < PROMOTION_SHOWN_AFTER_SECONDS ? Math.min(now, shownBefore) : now;
}

/** A promotion as a customer is shown it: null while it is not. */
export function shownPromotion(promotion: Promotion | null, nowSeconds: number): Promotion | null {
  if (promotion === null) return null;
  const customers = shownCustomers(promotion, nowSeconds);
  if (customers === 0) return null;
  return { ...promotion, customers, confirmed: Math.min(customers, promotion.confirmed) };
}

/**
 * The two parts of an entry as one, with the risk as of `nowSeconds`: neither part ever lowers what the other says. null for an
 * entry without parts.
 */
export function effectiveEntry(
  imported: RegistryPart | null,
  promotion: Consensus | null,
  nowSeconds: number,
): RegistryPart | null {
  const promoted = promotion === null ? null : { ...promotion, risk: promotedRisk(promotion) };
  if (imported === null || promoted === null) {
    const part = imported ?? promoted;
    if (part === null) return null;
    const { customers, firstSeenSeconds, lastSeenSeconds } = part;
    return {
      risk: registryRiskAt(part.risk, lastSeenSeconds, nowSeconds),
      customers,
      firstSeenSeconds,
      lastSeenSeconds,
    };
  }
  return {
    risk: Math.max(
      registryRiskAt(imported.risk, imported.lastSeenSeconds, nowSeconds),
      registryRiskAt(promoted.risk, promoted.lastSeenSeconds, nowSeconds),
    ),
    customers: Math.max(imported.customers, promoted.customers),
    firstSeenSeconds: Math.min(imported.firstSeenSeconds, promoted.firstSeenSeconds),
    lastSeenSeconds: Math.max(imported.lastSeenSeconds, promoted.lastSeenSeconds),
  };
}
