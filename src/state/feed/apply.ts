import type { Origin } from '../../ports/change-feed.ts';
import {
  changeCustomer,
  deleteCustomerRow,
  createCustomer,
  createKeys,
  grantKeys,
  replaceKey,
  revokeAgain,
  revokeKey,
} from './apply/accounts.ts';
import type { Applying, Apply } from './apply/applying.ts';
import { eraseRows, finishErasure, noteExport, recordErasure } from './apply/erasures.ts';
import { removeExpired } from './apply/expiry.ts';
import { changeReview, judgeReview, queueReviews, setLabel } from './apply/judgements.ts';
import { putEntries, putEntry, removeListEntry } from './apply/lists.ts';
import { changeNamedItems, putNamedList, removeNamedList } from './apply/named-lists.ts';
import { putRule, removeRule } from './apply/rules.ts';
import { forgetFingerprint, importEntries, noteModel, noteSightings } from './apply/sightings.ts';
import {
  beginWatch,
  changeWatch,
  compareWatch,
  createWatch,
  endWatch,
  removeWatch,
  takeWatch,
} from './apply/watches.ts';
import { changeWebhook, createWebhook, removeWebhook, rotateWebhook, setHealth } from './apply/webhooks.ts';
import type { Change, ChangeKind, OutcomeOf } from './changes.ts';
import { STATE_BOUNDS, type StateBounds, type StateTables } from '../tables/state-tables.ts';

const APPLY: { readonly [Kind in ChangeKind]: Apply<Kind> } = {
  'customer.created': createCustomer,
  'customer.changed': changeCustomer,
  'customer.deleted': deleteCustomerRow,
  'key.created': createKeys,
  'key.granted': grantKeys,
  'key.revoked': revokeKey,
  'key.replaced': replaceKey,
  'keys.revoked_again': revokeAgain,
  'list.put': putEntry,
  'list.batch': putEntries,
  'list.removed': removeListEntry,
  'registry.imported': importEntries,
  'registry.removed': forgetFingerprint,
  'model.chosen': noteModel,
  'sightings.noted': noteSightings,
  'label.set': setLabel,
  'review.judged': judgeReview,
  'review.changed': changeReview,
  'reviews.queued': queueReviews,
  'webhook.created': createWebhook,
  'webhook.changed': changeWebhook,
  'webhook.removed': removeWebhook,
  'webhook.rotated': rotateWebhook,
  'webhook.health': setHealth,
  'rule.put': putRule,
  'rule.removed': removeRule,
  'named_list.put': putNamedList,
  'named_list.items': changeNamedItems,
  'named_list.removed': removeNamedList,
  'erasure.requested': recordErasure,
  'person.exported': noteExport,
  'erasure.rows': eraseRows,
  'erasure.finished': finishErasure,
  'watch.created': createWatch,
  'watch.changed': changeWatch,
  'watch.removed': removeWatch,
  'watch.begun': beginWatch,
  'watch.taken': takeWatch,
  'watch.compared': compareWatch,
  'watch.ended': endWatch,
  'rows.expired': removeExpired,
};

/**
 * Applies a change to the tables. Must be called inside a write transaction. With the functions in `apply/`, this is the only code that
 * writes these tables. It decides limits and conflicts and issues the numbers of customers and keys, so its outcome follows from the change
 * and the tables alone: it reads no clock, no randomness and nothing in memory.
 */
export function apply<One extends Change>(
  tables: StateTables,
  change: One,
  origin: Origin,
  bounds: StateBounds = STATE_BOUNDS,
): OutcomeOf<One['kind']> {
  // The compiler cannot relate the two members of one kind that the table pairs.
  const run = APPLY[change.kind] as (at: Applying, change: One) => OutcomeOf<One['kind']>;
  return run(applying(tables, origin, bounds), change);
}

export function applying(tables: StateTables, { by, nowMs }: Origin, bounds: StateBounds): Applying {
  return { tables, bounds, by, nowMs, nowSeconds: Math.floor(nowMs / 1000) };
}
