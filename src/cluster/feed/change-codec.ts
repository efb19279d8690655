import { unreachable } from '../../kernel/brand.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type { Actor, CommitSlices, Origin } from '../../ports/change-feed.ts';
import { NAMED_LIST_NAME } from '../../risk/lists/named-list.ts';
import { OWN_CODE } from '../../risk/policy/own-rule.ts';
import type { ChangeFormat, ChangeFormats } from '../../state/feed/change-formats.ts';
import type { Change, ChangeKind } from '../../state/feed/changes.ts';
import { requestKey, rowKey } from '../../state/tables/request-rows.ts';
import type { VerifiedChange } from './change-chain.ts';

/**
 * Choice: items of a long change in one entry of the stream: some 15 KB, and 0.1 ms of the main thread to pack or unpack. The parts of a
 * change are appended at once and follow each other in the stream.
 */
const ITEMS_PER_PART = 100;

/** The field of a kind that may be long. */
const LONG_FIELDS: Readonly<Partial<Record<ChangeKind, string>>> = {
  'list.batch': 'entries',
  'named_list.items': 'items',
  'registry.imported': 'entries',
  'rows.expired': 'keys',
  'sightings.noted': 'seen',
  'keys.revoked_again': 'revocations',
  'reviews.queued': 'rows',
  'webhook.health': 'changed',
};

/** A change as it is in the stream, before encryption: the first part has everything but the further items of its long field. */
export async function packChange(
  change: Change,
  { by, nowMs }: Origin,
  version: number,
  format: ChangeFormat,
  slices?: CommitSlices,
): Promise<readonly Buffer[]> {
  const { kind, ...rest } = change;
  let fields: Readonly<Record<string, unknown>> = rest;
  for (let at = format.version; at > version; at--) fields = format.down[at]?.(fields) ?? fields;
  const long = LONG_FIELDS[kind];
  const items = long === undefined ? undefined : fields[long];
  if (long === undefined || !Array.isArray(items) || items.length <= ITEMS_PER_PART) {
    return [pack([kind, version, by, nowMs, fields])];
  }
  const all: readonly unknown[] = items;
  const parts = [pack([kind, version, by, nowMs, { ...fields, [long]: all.slice(0, ITEMS_PER_PART) }])];
  for (let from = ITEMS_PER_PART; from < all.length; from += ITEMS_PER_PART) {
    if (slices?.isOver === true) await slices.begin();
    parts.push(pack(all.slice(from, from + ITEMS_PER_PART)));
  }
  return parts;
}

export type Unpacked =
  | { readonly kind: 'change'; readonly change: Change; readonly origin: Origin }
  /** A newer build wrote it. */
  | { readonly kind: 'unknown'; readonly what: string; readonly version: number };

/** Reads the parts of a change. */
export async function unpackChange(
  parts: readonly Pick<VerifiedChange, 'plain'>[],
  formats: ChangeFormats,
  slices?: CommitSlices,
): Promise<Unpacked> {
  const [first, ...others] = parts;
  const [kind, version, by, nowMs, fields] = first === undefined ? [] : unpack(first.plain);
  const name = String(kind);
  const format = formats[name];
  if (format === undefined || Number(version) > format.version) {
    return { kind: 'unknown', what: name, version: Number(version) };
  }
  let all = fields as Readonly<Record<string, unknown>>;
  const long = LONG_FIELDS[name as ChangeKind];
  if (long !== undefined && others.length > 0) {
    const items = [...(all[long] as readonly unknown[])];
    for (const { plain } of others) {
      if (slices?.isOver === true) await slices.begin();
      items.push(...unpack(plain));
    }
    all = { ...all, [long]: items };
  }
  for (let at = Number(version); at < format.version; at++) all = format.up[at]?.(all) ?? all;
  const change = { ...all, kind: name } as unknown as Change;
  return { kind: 'change', change, origin: { by: String(by) as Actor, nowMs: Number(nowMs) } };
}

const RECORD_KEY = /^[0-9a-f]{32}$/;

/**
 * Returns why `apply` would throw on a change; null if it would not. All nodes would stop at such a change, so it must not get into the
 * stream. Callers of the API never send one.
 */
export function malformationOf(change: Change): string | null {
  switch (change.kind) {
    case 'label.set':
      return requestKey(change.customer, change.decision.requestId) === null ? 'a malformed request id' : null;
    case 'review.judged':
    case 'review.changed':
      return requestKey(change.customer, change.requestId) === null ? 'a malformed request id' : null;
    case 'reviews.queued':
      return change.rows.every(({ requestId }) => requestKey(change.customer, requestId) !== null)
        ? null
        : 'a malformed request id';
    case 'webhook.created':
      return rowKey('wh', change.webhook.customer, change.webhook.id) === null ? 'a malformed webhook id' : null;
    case 'customer.created':
      return /^cus_[0-9A-HJKMNP-TV-Z]{26}$/.test(change.id) ? null : 'a malformed customer id';
    case 'key.created':
    case 'key.granted':
      return change.keys.every(({ hash }) => isHash(hash)) ? null : 'a malformed key';
    case 'list.put':
      return isHash(change.entry.fingerprintHash) ? null : 'a malformed fingerprint';
    case 'list.batch':
    case 'registry.imported':
      return change.entries.every(({ fingerprintHash }) => isHash(fingerprintHash)) ? null : 'a malformed fingerprint';
    case 'sightings.noted':
      return change.seen.every(({ fingerprintHash }) => isHash(fingerprintHash)) ? null : 'a malformed fingerprint';
    case 'rule.put':
      return OWN_CODE.test(change.rule.code) ? null : 'a malformed code of a rule';
    case 'named_list.put':
      return NAMED_LIST_NAME.test(change.name) ? null : 'a malformed name of a list';
    case 'named_list.items':
      return change.items.every(({ key }) => isHash(key)) ? null : 'a malformed key of an item';
    case 'erasure.requested':
      return rowKey('prv', change.customer, change.erasure.id) === null ? 'a malformed id of an erasure' : null;
    case 'erasure.rows': {
      const { lists, namedItems } = change.rows;
      return [...lists, ...namedItems.map(({ key }) => key)].every(isHash) ? null : 'a malformed key of an item';
    }
    case 'watch.created':
      return rowKey('wat', change.watch.customer, change.watch.id) === null ? 'a malformed watch id' : null;
    case 'watch.compared':
      return change.findings.every(({ keyHash }) => RECORD_KEY.test(keyHash)) ? null : 'a malformed key of a record';
    // Keys that no row can have are found to be absent.
    case 'customer.changed':
    case 'customer.deleted':
    case 'key.revoked':
    case 'key.replaced':
    case 'keys.revoked_again':
    case 'list.removed':
    case 'registry.removed':
    case 'model.chosen':
    case 'webhook.changed':
    case 'webhook.removed':
    case 'webhook.rotated':
    case 'webhook.health':
    case 'rule.removed':
    case 'named_list.removed':
    case 'erasure.finished':
    case 'person.exported':
    case 'watch.changed':
    case 'watch.removed':
    case 'watch.begun':
    case 'watch.taken':
    case 'watch.ended':
    case 'rows.expired':
      return null;
    default:
      return unreachable(change);
  }
}

function isHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}
