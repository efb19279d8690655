import type { ChangeKind } from './changes.ts';
import { NO_WORK } from '../tables/review-row.ts';

/**
 * Versions of the kinds of changes, for nodes of two versions that run side by side during an upgrade.
 *
 * A node writes a change in the newest version that all live nodes know, so `down` leads from each version to the one before. It reads all
 * older versions (`up`), because the stream holds changes of a day and of nodes that were not upgraded yet. A node that meets a version
 * that it does not know stops applying and waits for its upgrade.
 *
 * Raise the version of a kind when its fields change, and also when `apply` makes something else of them, or a bound in `STATE_BOUNDS`
 * changes: all nodes must make the same of an entry. A change whose fields name its version then tells `apply` which effect it has.
 */
export interface ChangeFormat {
  readonly version: number;
  /** Version → fields of that version to those of the next. */
  readonly up: Readonly<Record<number, ChangeFields>>;
  /** Version → fields of that version to those of the one before. */
  readonly down: Readonly<Record<number, ChangeFields>>;
}

export type ChangeFields = (fields: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
export type ChangeFormats = Readonly<Record<string, ChangeFormat>>;

/** Rows of the review queue, without what version 1 does not know; null for a row that it cannot hold. */
function withoutWork(row: unknown): unknown {
  const { work: _work, ...rest } = row as Readonly<Record<string, unknown>>;
  return rest['why'] === 'review' ? null : rest;
}

function withWork(row: unknown): unknown {
  return { ...(row as Readonly<Record<string, unknown>>), work: NO_WORK };
}

/** Since version 2 REVIEW decisions are in the queue, and its rows have an assignee, a note and an end. */
const QUEUED: ChangeFormat = {
  version: 2,
  up: { 1: ({ rows, ...rest }) => ({ ...rest, rows: (rows as readonly unknown[]).map(withWork) }) },
  down: {
    2: ({ rows, ...rest }) => ({
      ...rest,
      rows: (rows as readonly unknown[]).map(withoutWork).filter((row) => row !== null),
    }),
  },
};

/** A change whose `judging` can hold such a row. */
const JUDGED: ChangeFormat = {
  version: 2,
  up: { 1: (fields) => withWaiting(fields, withWork) },
  down: { 2: (fields) => withWaiting(fields, withoutWork) },
};

function withWaiting(
  { judging, ...rest }: Readonly<Record<string, unknown>>,
  form: (row: unknown) => unknown,
): Readonly<Record<string, unknown>> {
  const { waiting, ...others } = judging as Readonly<Record<string, unknown>>;
  return { ...rest, judging: { ...others, waiting: waiting === null ? null : form(waiting) } };
}

/**
 * Since version 2 an entry has a kind, a value and event types. A node that knows version 1 takes a value for a fingerprint, and it counts
 * there only when it is written again after the upgrade.
 */
const LISTED: ChangeFormat = {
  version: 2,
  up: { 1: (fields) => fields },
  down: {
    2: ({ entry, entries, ...rest }) => ({
      ...rest,
      ...(entry === undefined ? {} : { entry: withoutKind(entry) }),
      ...(entries === undefined ? {} : { entries: (entries as readonly unknown[]).map(withoutKind) }),
    }),
  },
};

function withoutKind(entry: unknown): unknown {
  const { kind: _kind, value: _value, eventTypes: _types, ...rest } = entry as Readonly<Record<string, unknown>>;
  return rest;
}

/**
 * Since version 2 a webhook has a filter, a format and fields, since version 3 headers and further events. For a node of an older version
 * they are absent until it is written again.
 */
const WEBHOOK: ChangeFormat = {
  version: 3,
  up: { 1: (fields) => fields, 2: (fields) => fields },
  down: {
    3: (fields) => mapWebhook(fields, withoutHeadersAndEvents),
    2: (fields) => mapWebhook(fields, withoutSettings),
  },
};

/** `webhook` or `change`, whichever is there, through `map`. */
function mapWebhook(
  { webhook, change, ...rest }: Readonly<Record<string, unknown>>,
  map: (webhook: unknown) => unknown,
): Readonly<Record<string, unknown>> {
  return {
    ...rest,
    ...(webhook === undefined ? {} : { webhook: map(webhook) }),
    ...(change === undefined ? {} : { change: map(change) }),
  };
}

function withoutHeadersAndEvents(webhook: unknown): unknown {
  const { headers: _headers, events: _events, ...rest } = webhook as Readonly<Record<string, unknown>>;
  return rest;
}

function withoutSettings(webhook: unknown): unknown {
  const { filter: _filter, format: _format, fields: _fields, ...rest } = webhook as Readonly<Record<string, unknown>>;
  return rest;
}

/** Since version 2 a change belongs to a write, which is a version of its list, and an item that comes back keeps when it was created. */
const LISTED_ITEMS: ChangeFormat = {
  version: 2,
  up: { 1: (fields) => fields },
  down: {
    2: ({ writeId: _write, restores: _restores, items, ...rest }) => ({
      ...rest,
      items: (items as readonly unknown[]).map(withoutCreation),
    }),
  },
};

function withoutCreation(item: unknown): unknown {
  const { createdAtSeconds: _created, ...rest } = item as Readonly<Record<string, unknown>>;
  return rest;
}

const FIRST: ChangeFormat = { version: 1, up: {}, down: {} };

export const CHANGE_FORMATS: Readonly<Record<ChangeKind, ChangeFormat>> = {
  'customer.created': FIRST,
  'customer.deleted': FIRST,
  'customer.changed': FIRST,
  'key.created': FIRST,
  'key.granted': FIRST,
  'key.revoked': FIRST,
  'key.replaced': FIRST,
  'keys.revoked_again': FIRST,
  'list.put': LISTED,
  'list.batch': LISTED,
  'list.removed': FIRST,
  'registry.imported': FIRST,
  'registry.removed': FIRST,
  'model.chosen': FIRST,
  'sightings.noted': FIRST,
  'label.set': JUDGED,
  'review.judged': JUDGED,
  'review.changed': FIRST,
  'reviews.queued': QUEUED,
  'webhook.created': WEBHOOK,
  'webhook.changed': WEBHOOK,
  'webhook.removed': FIRST,
  'webhook.rotated': FIRST,
  'webhook.health': FIRST,
  'rule.put': FIRST,
  'rule.removed': FIRST,
  'named_list.put': FIRST,
  'named_list.items': LISTED_ITEMS,
  'named_list.removed': FIRST,
  'erasure.requested': FIRST,
  'person.exported': FIRST,
  'erasure.rows': FIRST,
  'erasure.finished': FIRST,
  'watch.created': FIRST,
  'watch.changed': FIRST,
  'watch.removed': FIRST,
  'watch.begun': FIRST,
  'watch.taken': FIRST,
  'watch.compared': FIRST,
  'watch.ended': FIRST,
  'rows.expired': FIRST,
};
