import type { CustomerId, CustomerNumber, FingerprintHash } from '../../kernel/brand.ts';
import type { KeyRights } from '../../kernel/key-scopes.ts';
import type { KeyTextKind } from '../../kernel/key-text.ts';
import type { ChangeFeed, ChangeIn } from '../../ports/change-feed.ts';
import type { Label, ReviewVerdict } from '../../risk/judgement.ts';
import type { Webhook, WebhookChange, WebhookHealth, WebhookId } from '../../work/webhook.ts';
import type { WatchStateChanges } from './watch-writes.ts';
import type { OwnRule, TouchedShare } from '../../risk/policy/own-rule.ts';
import type { Customer } from '../tables/customer-table.ts';
import type { StoreFault } from '../tables/durable.ts';
import type { ApiKey } from '../tables/key-table.ts';
import type { JudgedDecision, StoredLabel } from '../tables/label-table.ts';
import type { Erasure, ErasureFinish } from '../tables/erasure-table.ts';
import type { ListEntryChange, ListPut } from '../tables/list-table.ts';
import type { RegistryEntry } from '../tables/registry-table.ts';
import type { ReviewWork, ShadowReview } from '../tables/review-row.ts';
import type { StoredRule } from '../tables/own-rule-table.ts';
import type { NamedListKind } from '../../risk/lists/named-list.ts';
import type { NamedItemChange, NamedItemCounts, NamedList } from '../tables/named-list-table.ts';
import type { SightingKind } from '../tables/sighting-row.ts';
import type { NewSighting } from '../tables/sighting-table.ts';

/**
 * Every write of `state` except deliveries: its fields, and the outcome that `apply` returns. A change holds no secret and no full key,
 * only hashes and encrypted bytes, so that it may be logged, sent to the server by the command line, and replicated.
 *
 * To add one: its line here, its function in `src/state/feed/apply`, and its line in `src/state/feed/apply.ts`.
 */
export type StateChanges = WatchStateChanges & {
  'customer.created': {
    readonly fields: { readonly id: CustomerId; readonly name: string };
    readonly outcome: Customer;
  };
  /** Members that are absent stay as they are. The outcome is the changed customer; null if there is none. */
  'customer.changed': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly name?: string;
      /** Whether all keys of the customer are refused. They stay as they are, and count again when it ends. */
      readonly isSuspended?: boolean;
    };
    readonly outcome: Customer | null;
  };
  /** Removes the row of a customer, whose other rows are gone (`deleteCustomer`). The audit log of the installation has it. */
  'customer.deleted': {
    readonly fields: { readonly customer: CustomerNumber; readonly id: string; readonly rows: number };
    readonly outcome: boolean;
  };
  /** All of the keys or none. Their numbers are issued by `apply`; the outcome has the order of `keys`. */
  'key.created': {
    readonly fields: {
      readonly customer: CustomerNumber;
      /** Limit of each key; null for the default of its kind at the time of reading. */
      readonly rateLimit: number | null;
      readonly keys: readonly NewApiKey[];
    };
    readonly outcome: readonly ApiKey[];
  };
  /**
   * Keys with a name and rights. Not a `key.created`, which a node of an earlier version would apply without the rights; a change of a kind
   * that a live node does not know is refused. `validKeysMax`: null for the operator.
   */
  'key.granted': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly rateLimit: number | null;
      readonly keys: readonly NewApiKey[];
      readonly grant: KeyGrant;
      readonly validKeysMax: number | null;
    };
    readonly outcome: readonly ApiKey[] | 'limit_reached';
  };
  'key.revoked': { readonly fields: { readonly hash: string }; readonly outcome: Revocation };
  /** The key expires at `endSeconds`, Unix seconds. `replacedBy`: prefix of the new key. The outcome is null for a revoked key. */
  'key.replaced': {
    readonly fields: { readonly hash: string; readonly replacedBy: string; readonly endSeconds: number };
    readonly outcome: ApiKey | null;
  };
  /** Revocations made earlier that a restored store does not contain. The outcome is the number of keys that were still live. */
  'keys.revoked_again': {
    readonly fields: { readonly revocations: readonly (readonly [hash: string, atSeconds: number])[] };
    readonly outcome: number;
  };
  'list.put': {
    readonly fields: { readonly customer: CustomerNumber; readonly entry: ListEntryChange };
    readonly outcome: ListPut | 'limit_reached';
  };
  /** All of the entries or none; the outcome has their order. */
  'list.batch': {
    readonly fields: { readonly customer: CustomerNumber; readonly entries: readonly ListEntryChange[] };
    readonly outcome: readonly ListPut[] | 'limit_reached';
  };
  /** The outcome is whether an unexpired entry existed. */
  'list.removed': {
    readonly fields: { readonly customer: CustomerNumber; readonly fingerprintHash: FingerprintHash };
    readonly outcome: boolean;
  };
  /** Imported entries, all or none. They replace earlier imports; consensuses stay. */
  'registry.imported': {
    readonly fields: {
      readonly entries: readonly RegistryEntry[];
      /** Set on the last part of an import: the number of entries of all parts. */
      readonly total: number | null;
    };
    readonly outcome: null;
  };
  /** Removes the entry and all sightings of a fingerprint. If they stayed, the next customer that blocks it would publish it again. */
  'registry.removed': { readonly fields: { readonly fingerprintHash: FingerprintHash }; readonly outcome: Forgotten };
  /** An operator has chosen another model, for the audit log only: the choice itself is a file. Null: the files beside that file. */
  'model.chosen': {
    readonly fields: {
      readonly how: 'promoted' | 'rolled_back' | 'resumed';
      readonly id: string | null;
      readonly previous: string | null;
      /** Names of the gates that the operator overruled. */
      readonly overruled: readonly string[];
    };
    readonly outcome: null;
  };
  /** Evidence of a customer against fingerprints. Pass a few hundred at most: each takes some 10 µs of the main thread. */
  'sightings.noted': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly evidence: SightingKind;
      readonly seen: readonly NewSighting[];
    };
    readonly outcome: Noted;
  };
  'label.set': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly decision: JudgedDecision;
      readonly label: Label;
      readonly note: string | null;
      readonly judging: Judging;
    };
    readonly outcome: StoredLabel;
  };
  /** The outcome is the row with its verdict; null if the customer's queue does not contain it. */
  'review.judged': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly requestId: string;
      readonly verdict: ReviewVerdict;
      readonly judging: Judging;
    };
    readonly outcome: ShadowReview | null;
  };
  /** Members that are absent stay as they are. The outcome is as for `review.judged`. */
  'review.changed': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly requestId: string;
      readonly change: ReviewChange;
      /** The queued row, if it waits for its write. */
      readonly waiting: ShadowReview | null;
    };
    readonly outcome: ShadowReview | null;
  };
  /** The outcome is the number of rows that were evicted to make room. */
  'reviews.queued': {
    readonly fields: { readonly customer: CustomerNumber; readonly rows: readonly ShadowReview[] };
    readonly outcome: number;
  };
  'webhook.created': {
    readonly fields: {
      readonly webhook: Webhook;
      /** The encrypted secrets. */
      readonly sealed: Uint8Array;
    };
    readonly outcome: 'created' | 'limit_reached';
  };
  /** The outcome is the changed webhook; null if there is none. Its secrets stay. */
  'webhook.changed': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly id: WebhookId;
      readonly change: WebhookChange & { readonly health?: WebhookHealth };
    };
    readonly outcome: Webhook | null;
  };
  /** The outcome is whether it existed. Its deliveries stay in the log. */
  'webhook.removed': {
    readonly fields: { readonly customer: CustomerNumber; readonly id: WebhookId };
    readonly outcome: boolean;
  };
  /** `conflict`: another rotation came first; read the secrets again. */
  'webhook.rotated': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly id: WebhookId;
      readonly sealed: Uint8Array;
      /** The encrypted secrets that `sealed` was made from. */
      readonly replaces: Uint8Array;
    };
    readonly outcome: Webhook | 'conflict' | null;
  };
  /** The only change that is not awaited on the disk: later deliveries report the health again. Removed webhooks stay removed. */
  'webhook.health': {
    readonly fields: {
      /** `newFailures`: times of the failed deliveries since the node saved this health before, Unix ms. */
      readonly changed: readonly (Pick<Webhook, 'customer' | 'id' | 'health'> & {
        readonly newFailures?: readonly number[];
      })[];
    };
    readonly outcome: null;
  };
  /** Writes a customer's own rule. The audit log has it. */
  'rule.put': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly rule: OwnRule;
      /** Entity tags, of which the present rule must have one; `*` for any. Null for no condition. */
      readonly ifMatch: readonly string[] | null;
      /** Given by the circuit breaker: why it sets the rule back to `observe`. */
      readonly tripped?: TouchedShare;
    };
    readonly outcome: RulePut;
  };
  /** `unknown`: there was no such rule. `stale`: it has another tag. */
  'rule.removed': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly code: string;
      readonly ifMatch: readonly string[] | null;
    };
    readonly outcome: 'removed' | 'unknown' | 'stale';
  };
  /** Makes a list, or changes its note. */
  'named_list.put': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly name: string;
      readonly listKind: NamedListKind;
      readonly note: string | null;
    };
    readonly outcome: NamedListPut;
  };
  /**
   * Adds and removes items; of two with one key the later counts. `unknown`: there is no list of that name and number. Pass a hundred at
   * most: each takes some 6 µs of the main thread.
   */
  'named_list.items': {
    readonly fields: {
      readonly customer: CustomerNumber;
      readonly name: string;
      readonly number: number;
      readonly items: readonly NamedItemChange[];
      /**
       * Changes with the same id that follow each other make one version, which can be brought back. Absent in changes of version 1, after
       * which earlier versions cannot be brought back.
       */
      readonly writeId?: string;
      /** The version that the change is part of bringing back. */
      readonly restores?: number;
    };
    readonly outcome: NamedItemCounts | 'unknown' | 'limit_reached';
  };
  /** The outcome is whether it existed. */
  'named_list.removed': {
    readonly fields: { readonly customer: CustomerNumber; readonly name: string };
    readonly outcome: boolean;
  };
  /** Someone asks for the erasure of a person. `known`: it was recorded before. The audit log has its id, not whom it is about. */
  'erasure.requested': {
    readonly fields: { readonly customer: CustomerNumber; readonly erasure: Erasure };
    readonly outcome: 'recorded' | 'known' | 'limit_reached';
  };
  /** Someone exports what is kept about a person, for the audit log only: it has the id of the export, not whom it is about. */
  'person.exported': {
    readonly fields: { readonly customer: CustomerNumber; readonly id: string; readonly subject: string };
    readonly outcome: null;
  };
  /** Removes rows about an erased person, and what people wrote beside rows that stay. Pass a hundred at most. */
  'erasure.rows': {
    readonly fields: { readonly customer: CustomerNumber; readonly rows: ErasedRows };
    /** The number of rows that were changed. */
    readonly outcome: number;
  };
  /** The erasure is complete on the node that answered the call. What identifies the person goes, except marks. */
  'erasure.finished': {
    readonly fields: { readonly customer: CustomerNumber; readonly id: string; readonly finish: ErasureFinish };
    readonly outcome: boolean;
  };
  /** Removes those of the rows that are still expired when the change is applied. The outcome is their number. */
  'rows.expired': {
    readonly fields: { readonly table: ExpiringTable; readonly keys: readonly Buffer[] };
    readonly outcome: number;
  };
};

/** Rows of `state` about a person. */
export interface ErasedRows {
  /** Keys of list entries, 64 hex digits. */
  readonly lists: readonly string[];
  readonly namedItems: readonly { readonly list: number; readonly key: string }[];
  /** Numbers of named lists whose earlier versions go, because they name the person. */
  readonly versions: readonly number[];
  /** Decisions whose labels and reviews lose their notes. */
  readonly notes: readonly string[];
  /** Stored keys of audit entries that lose what they are about. */
  readonly audit: readonly Buffer[];
}

export type ChangeKind = keyof StateChanges;
export type Change = ChangeIn<StateChanges>;
export type ChangeOf<Kind extends ChangeKind> = { readonly kind: Kind } & StateChanges[Kind]['fields'];
export type OutcomeOf<Kind extends ChangeKind> = StateChanges[Kind]['outcome'];

/** The port of this store, and its part that only writes. */
export type StateFeed = ChangeFeed<StateChanges, StoreFault>;
export type Committer = Pick<StateFeed, 'commit'>;

/** Tables whose rows have an age. */
export type ExpiringTable =
  | 'audit'
  | 'lists'
  | 'labels'
  | 'shadowReviews'
  | 'sightings'
  | 'registry'
  | 'namedListItems'
  | 'namedListVersions'
  | 'watchSeen'
  | 'watchChanges';

/** What a new pair of keys is called and may do. The scopes of a public key follow from its kind. */
export interface KeyGrant extends KeyRights {
  /** Empty without a name. */
  readonly name: string;
}

/** A key before its number is issued. */
export interface NewApiKey {
  readonly kind: KeyTextKind;
  /** SHA-256 of the key's text, 64 lower-case hex digits. */
  readonly hash: string;
  /** The first 12 characters. */
  readonly prefix: string;
  /** Empty for a secret key. */
  readonly origins: readonly string[];
}

/** `stale`: the present rule has another tag, or there is none. */
export type RulePut =
  | { readonly kind: 'created' | 'replaced'; readonly rule: StoredRule }
  | { readonly kind: 'limit_reached' }
  | { readonly kind: 'stale' };

export type NamedListPut =
  | { readonly kind: 'created' | 'replaced'; readonly list: NamedList }
  /** The kind of a list stays. */
  | { readonly kind: 'other_kind'; readonly list: NamedList }
  | { readonly kind: 'limit_reached' };

export type Revocation = 'revoked' | 'already_revoked' | 'unknown';

/** What a person does about a row of the review queue. */
export interface ReviewChange extends Partial<Pick<ReviewWork, 'assignee' | 'note'>> {
  /** true: closed without a verdict; false: open again. */
  readonly closed?: boolean;
}

/** What a verdict needs that is only in memory. */
export interface Judging {
  /** The queued row, if it waits for its write; it is then written with the verdict. */
  readonly waiting: ShadowReview | null;
  /** Whether the shared registry accepts the verdict `fraud` of this decision as evidence. */
  readonly isEvidence: boolean;
}

export interface Noted {
  /** Number of sightings written. */
  readonly written: number;
  /** Number of sightings refused because the customer has no room left for their fingerprints. */
  readonly refused: number;
}

export interface Forgotten {
  /** Whether the registry had an entry. */
  readonly entry: boolean;
  /** Number of customers whose sightings were removed. */
  readonly customers: number;
}
