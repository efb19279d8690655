import {
  PROMOTED_RISK,
  PROMOTED_RISK_MAX,
  PROMOTED_RISK_STEP,
  PROMOTION_CUSTOMERS_MIN,
  PROMOTION_WINDOW_SECONDS,
} from '../limits.ts';
import { registryRiskAt } from './registry-risk.ts';

/**
 * The rules by which what customers block becomes known to all: at least 3 distinct customers within 30 days; risk 90, and 2
 * more for each further one, up to 98. Source: open points, section 3.
 */

/** The last time that one customer gave one kind of evidence against a fingerprint, Unix seconds. */
export interface Sighting {
  readonly customer: number;
  readonly firstSeenSeconds: number;
  readonly lastSeenSeconds: number;
}

/** What sightings make of a fingerprint. Its risk follows from the customers. */
export interface Promotion {
  /** Distinct customers, at least 3. */
  readonly customers: number;
  readonly firstSeenSeconds: number;
  readonly lastSeenSeconds: number;
}

/** A part of a registry entry: what an import says, or what a promotion amounts to. */
export interface RegistryPart extends Promotion {
  /** 0 to 100, as it was when it was last seen. */
  readonly risk: number;
}

/** Whether a sighting still counts. One ahead of the clock counts as of now. */
export function isLive(lastSeenSeconds: number, nowSeconds: number): boolean {
  return nowSeconds - lastSeenSeconds <= PROMOTION_WINDOW_SECONDS;
}

/** 0 for too few customers. */
export function promotedRisk(customers: number): number {
  if (customers < PROMOTION_CUSTOMERS_MIN) return 0;
  return Math.min(PROMOTED_RISK_MAX, PROMOTED_RISK + PROMOTED_RISK_STEP * (customers - PROMOTION_CUSTOMERS_MIN));
}

/** What the sightings of a fingerprint amount to, in whatever order they come; null for too few customers. */
export function promotionOf(sightings: Iterable<Sighting>, nowSeconds: number): Promotion | null {
  const customers = new Set<number>();
  let firstSeenSeconds = Number.POSITIVE_INFINITY;
  let lastSeenSeconds = 0;
  for (const sighting of sightings) {
    if (!isLive(sighting.lastSeenSeconds, nowSeconds)) continue;
    customers.add(sighting.customer);
    firstSeenSeconds = Math.min(firstSeenSeconds, sighting.firstSeenSeconds);
    lastSeenSeconds = Math.max(lastSeenSeconds, sighting.lastSeenSeconds);
  }
  if (customers.size < PROMOTION_CUSTOMERS_MIN) return null;
  return { customers: customers.size, firstSeenSeconds, lastSeenSeconds };
}

/**
 * After a new sighting: `fresh` in the place of `before`, with when it was first seen. Without enough customers of late, what
 * was there goes on fading: one customer alone keeps no entry alive.
 */
export function afterSighting(before: Promotion | null, fresh: Promotion | null): Promotion | null {
  if (fresh === null || before === null) return fresh ?? before;
  return { ...fresh, firstSeenSeconds: Math.min(before.firstSeenSeconds, fresh.firstSeenSeconds) };
}

/**
 * The two parts of an entry as one, with the risk as of `nowSeconds`: neither part ever lowers what the other says. null for an
 * entry without parts.
 */
export function effectiveEntry(
  imported: RegistryPart | null,
  promotion: Promotion | null,
  nowSeconds: number,
): RegistryPart | null {
  const promoted = promotion === null ? null : { ...promotion, risk: promotedRisk(promotion.customers) };
  if (imported === null || promoted === null) {
    const part = imported ?? promoted;
    return part && { ...part, risk: registryRiskAt(part.risk, part.lastSeenSeconds, nowSeconds) };
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
