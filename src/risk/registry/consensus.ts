import {
  CONSENSUS_RISK,
  CONSENSUS_RISK_MAX,
  CONSENSUS_RISK_STEP,
  CONSENSUS_RISK_UNCONFIRMED,
  CONSENSUS_CUSTOMERS_MIN,
  CONSENSUS_SHOWN_AFTER_SECONDS,
  CONSENSUS_WINDOW_SECONDS,
} from '../../kernel/limits.ts';
import { registryRiskAt } from './registry-risk.ts';

/**
 * Consensus: when fingerprints that customers block are published to all of them. At least 3 distinct customers within 30 days must have
 * reported one. With confirmed evidence of 3 customers the risk is 90, of 5 it is 94, of 10 it is 98; with less it is 60, which is only
 * suspicious.
 */

/** A customer's last report of one kind of evidence against a fingerprint, Unix seconds. */
export interface Sighting {
  readonly customer: number;
  readonly firstSeenSeconds: number;
  readonly lastSeenSeconds: number;
  /** False if the evidence is only BLOCKs of traffic from one network on one day, which anyone can cause with a forged token. */
  readonly isConfirmed: boolean;
}

/** When and by how many customers a fingerprint was seen. */
export interface SeenBy {
  readonly customers: number;
  readonly firstSeenSeconds: number;
  readonly lastSeenSeconds: number;
}

/** The result of the reports of at least 3 distinct customers on a fingerprint. */
export interface Consensus extends SeenBy {
  /** Number of these customers whose evidence is confirmed. */
  readonly confirmed: number;
}

/** The same as it is stored, with what customers are shown of it. */
export interface PublishedConsensus extends Consensus {
  /** When the published number of customers last rose. */
  readonly risenAtSeconds: number;
  /** The number published until then; 0 for none. */
  readonly shownBefore: number;
}

/** One part of a registry entry: an import, or the result of a consensus. */
export interface RegistryPart extends SeenBy {
  /** 0 to 100, as of the time it was last seen. */
  readonly risk: number;
}

/** Returns whether a report still counts. A report with a time in the future counts as if it were made now. */
export function isLive(lastSeenSeconds: number, nowSeconds: number): boolean {
  return nowSeconds - lastSeenSeconds <= CONSENSUS_WINDOW_SECONDS;
}

/** Choice: coarse steps, so that somebody who controls two customers cannot detect when another one joins them. */
const STEPS = [10, 5, CONSENSUS_CUSTOMERS_MIN] as const;

/** Returns a number of customers as others may see it: 3, 5 or 10; 0 for fewer. */
export function coarseCustomers(customers: number): number {
  return STEPS.find((step) => customers >= step) ?? 0;
}

/** Returns 0 for too few customers. Uses the steps of `coarseCustomers`, because the evidence of a decision shows the risk. */
export function consensusRisk({ customers, confirmed }: Pick<Consensus, 'customers' | 'confirmed'>): number {
  if (customers < CONSENSUS_CUSTOMERS_MIN) return 0;
  const step = coarseCustomers(confirmed);
  if (step === 0) return CONSENSUS_RISK_UNCONFIRMED;
  return Math.min(CONSENSUS_RISK_MAX, CONSENSUS_RISK + CONSENSUS_RISK_STEP * (step - CONSENSUS_CUSTOMERS_MIN));
}

/** Computes the consensus of a fingerprint's reports, in any order; null for too few customers. */
export function consensusOf(sightings: Iterable<Sighting>, nowSeconds: number): Consensus | null {
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
  if (customers.size < CONSENSUS_CUSTOMERS_MIN) return null;
  return { customers: customers.size, confirmed: confirmed.size, firstSeenSeconds, lastSeenSeconds };
}

/**
 * Returns the consensus after a new report: `fresh`, with the earlier of both `firstSeenSeconds`. If too few customers reported recently,
 * `fresh` is null; `before` then stays and continues to decay, so that a single customer cannot keep an entry alive.
 */
export function afterSighting(before: Consensus | null, fresh: Consensus | null): Consensus | null {
  if (fresh === null || before === null) return fresh ?? before;
  return { ...fresh, firstSeenSeconds: Math.min(before.firstSeenSeconds, fresh.firstSeenSeconds) };
}

/** Returns `fresh` as it replaces `before` in the store: a rise is published a day later. */
export function published(before: PublishedConsensus | null, fresh: Consensus, nowSeconds: number): PublishedConsensus {
  const hasRisen = before === null || coarseCustomers(fresh.customers) > coarseCustomers(before.customers);
  if (!hasRisen) return { ...fresh, risenAtSeconds: before.risenAtSeconds, shownBefore: before.shownBefore };
  return {
    ...fresh,
    risenAtSeconds: nowSeconds,
    shownBefore: before === null ? 0 : shownCustomers(before, nowSeconds),
  };
}

/** Returns the published number of customers, coarse and delayed; 0 while it is not published. */
export function shownCustomers(
  { customers, risenAtSeconds, shownBefore }: PublishedConsensus,
  nowSeconds: number,
): number {
  const now = coarseCustomers(customers);
  return nowSeconds - risenAtSeconds < CONSENSUS_SHOWN_AFTER_SECONDS ? Math.min(now, shownBefore) : now;
}

/** Returns a consensus as customers see it: null until it is published. */
export function shownConsensus(
  publishedConsensus: PublishedConsensus | null,
  nowSeconds: number,
): PublishedConsensus | null {
  if (publishedConsensus === null) return null;
  const customers = shownCustomers(publishedConsensus, nowSeconds);
  if (customers === 0) return null;
  return { ...publishedConsensus, customers, confirmed: Math.min(customers, publishedConsensus.confirmed) };
}

/**
 * Merges the two parts of an entry, with the risk as of `nowSeconds`: neither part lowers the other's values. Returns null for an entry
 * without parts.
 */
export function effectiveEntry(
  imported: RegistryPart | null,
  publishedConsensus: Consensus | null,
  nowSeconds: number,
): RegistryPart | null {
  const agreed =
    publishedConsensus === null ? null : { ...publishedConsensus, risk: consensusRisk(publishedConsensus) };
  if (imported === null || agreed === null) {
    const part = imported ?? agreed;
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
      registryRiskAt(agreed.risk, agreed.lastSeenSeconds, nowSeconds),
    ),
    customers: Math.max(imported.customers, agreed.customers),
    firstSeenSeconds: Math.min(imported.firstSeenSeconds, agreed.firstSeenSeconds),
    lastSeenSeconds: Math.max(imported.lastSeenSeconds, agreed.lastSeenSeconds),
  };
}
