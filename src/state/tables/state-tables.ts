import {
  AUDIT_ENTRIES_PER_CUSTOMER_MAX,
  LIST_ENTRIES_PER_CUSTOMER_MAX,
  LABELS_PER_CUSTOMER_MAX,
  SHADOW_REVIEWS_EVICTION_ROWS_MAX,
  SHADOW_REVIEWS_PER_CUSTOMER_MAX,
  SIGHTINGS_AUTOMATIC_PER_CUSTOMER_MAX,
  SIGHTINGS_PER_CUSTOMER_MAX,
} from '../../kernel/limits.ts';
import { NAMED_ITEMS_MAX, NAMED_LISTS_MAX } from '../../risk/lists/named-list.ts';
import { OWN_RULES_MAX } from '../../risk/policy/own-rule.ts';
import { WATCHES_MAX } from '../../work/watch.ts';
import type { Audit } from './audit-table.ts';
import type { Counters } from './counters.ts';
import type { Customers } from './customer-table.ts';
import type { ApiKeys } from './key-table.ts';
import type { Erasures } from './erasure-table.ts';
import type { Labels } from './label-table.ts';
import type { ListKinds } from './list-kinds-table.ts';
import type { Lists } from './list-table.ts';
import type { NamedLists } from './named-list-table.ts';
import {
  NAMED_LIST_VERSION_BYTES_MAX,
  NAMED_LIST_VERSIONS_BYTES_MAX,
  type NamedListVersions,
} from './named-list-versions-table.ts';
import type { Registry } from './registry-table.ts';
import type { ShadowReviews } from './review-table.ts';
import type { RowCounters } from './row-counters.ts';
import type { OwnRules } from './own-rule-table.ts';
import type { Sightings } from './sighting-table.ts';
import type { Watches } from './watch-table.ts';
import type { Webhooks } from './webhook-table.ts';

/** The tables that only `apply` writes. */
export interface StateTables {
  readonly audit: Audit;
  readonly counters: Counters;
  readonly rowCounters: RowCounters;
  readonly customers: Customers;
  readonly apiKeys: ApiKeys;
  readonly lists: Lists;
  readonly listKinds: ListKinds;
  readonly registry: Registry;
  readonly sightings: Sightings;
  readonly labels: Labels;
  readonly shadowReviews: ShadowReviews;
  readonly webhooks: Webhooks;
  readonly rules: OwnRules;
  readonly namedLists: NamedLists;
  readonly namedListVersions: NamedListVersions;
  readonly erasures: Erasures;
  readonly watches: Watches;
}

/** Maximum numbers of rows for each customer. */
export interface StateBounds {
  readonly listEntries: number;
  readonly labels: number;
  readonly shadowReviews: number;
  /** Rows scanned to find those to evict. */
  readonly shadowReviewsScanned: number;
  readonly sightings: number;
  /** The part of `sightings` that BLOCKs by traffic may use. */
  readonly sightingsAutomatic: number;
  readonly auditEntries: number;
  /** Source: contract, 10.1. */
  readonly webhooks: number;
  /** Source: contract, 6.8. */
  readonly rules: number;
  /** Source: contract, 7.6. */
  readonly namedLists: number;
  /** In all its lists. Source: contract, 7.6. */
  readonly namedListItems: number;
  /** Bytes of what one write of a named list replaced, and of all that are kept for the customer. */
  readonly namedListVersionBytes: number;
  readonly namedListVersionsBytes: number;
  /** Source: contract, 11.7. */
  readonly watches: number;
}

export const STATE_BOUNDS: StateBounds = {
  listEntries: LIST_ENTRIES_PER_CUSTOMER_MAX,
  labels: LABELS_PER_CUSTOMER_MAX,
  shadowReviews: SHADOW_REVIEWS_PER_CUSTOMER_MAX,
  shadowReviewsScanned: SHADOW_REVIEWS_EVICTION_ROWS_MAX,
  sightings: SIGHTINGS_PER_CUSTOMER_MAX,
  sightingsAutomatic: SIGHTINGS_AUTOMATIC_PER_CUSTOMER_MAX,
  auditEntries: AUDIT_ENTRIES_PER_CUSTOMER_MAX,
  webhooks: 20,
  rules: OWN_RULES_MAX,
  namedLists: NAMED_LISTS_MAX,
  namedListItems: NAMED_ITEMS_MAX,
  namedListVersionBytes: NAMED_LIST_VERSION_BYTES_MAX,
  namedListVersionsBytes: NAMED_LIST_VERSIONS_BYTES_MAX,
  watches: WATCHES_MAX,
};
