import { closeSync, openSync } from 'node:fs';
import { join, relative } from 'node:path';
import { KEY_SCOPES } from '../kernel/key-scopes.ts';
import { KEY_NETWORKS_MAX } from '../kernel/limits.ts';
import { canonicalNetwork } from '../kernel/network-set.ts';
import type { Change, ChangeOf, KeyGrant, NewApiKey } from '../state/feed/changes.ts';
import type { NamedItemChange } from '../state/tables/named-list-table.ts';
import { readOwnRule } from '../state/tables/own-rule-table.ts';
import { LIST_ACTIONS } from '../risk/decision.ts';
import { listKindOf } from '../risk/lists/list-kind.ts';
import { NAMED_LIST_NAME, namedListKindOf } from '../risk/lists/named-list.ts';
import type { ListEntryChange } from '../state/tables/list-table.ts';
import type { RegistryEntry } from '../state/tables/registry-table.ts';

/**
 * What the command line and a running server say to each other: one JSON object a line, over a Unix socket in the data directory. Each side
 * first sends its version. Then the client sends one change at a time, and the server answers each with its outcome.
 *
 *   client  {"protocol":1}                                 server  {"protocol":1}
 *   client  {"change":{…},"nowMs":…,"until":"durable"}     server  {"kind":"ok","value":…} or {"kind":"fault","code","detail"}
 *   client  {"link":{"keyHash":"…"}}                       server  the same, with a `LinkReply`
 */
export const CONTROL_PROTOCOL = 1;

/** Changes that the command line makes. */
const KINDS = [
  'customer.created',
  'customer.changed',
  'key.created',
  'key.granted',
  'key.revoked',
  'key.replaced',
  'registry.imported',
  'registry.removed',
  'model.chosen',
  'rule.put',
  'list.put',
  'list.batch',
  'list.removed',
  'named_list.put',
  'named_list.items',
  'named_list.removed',
] as const;
type ControlKind = (typeof KINDS)[number];
export type ControlChange = Extract<Change, { readonly kind: ControlKind }>;

export interface ControlMessage {
  readonly change: ControlChange;
  readonly nowMs: number;
  readonly until: 'durable' | 'visible';
}

/** Measured: the main thread applies 200 imported rows in 0.4 ms; they have some 35 KB. */
export const CONTROL_ENTRIES_MAX = 200;
export const CONTROL_LINE_BYTES_MAX = 131_072;
/** Choice: commands that run at the same time. */
export const CONTROL_CONNECTIONS_MAX = 8;

const KEYS_MAX = 2;
const TEXT_CHARACTERS_MAX = 1_000;
/** The longest value of a list, a user agent. */
const VALUE_MAX = 1_024;

export function isControlChange(change: Change): change is ControlChange {
  return KINDS.some((kind) => kind === change.kind);
}

/** Returns null for anything but a well-formed message: a change must not fail half-way. */
export function readControlMessage(line: string): ControlMessage | null {
  const message = parse(line);
  const { change, nowMs, until } = message ?? {};
  if (!isObject(change) || !isWhole(nowMs) || (until !== 'durable' && until !== 'visible')) return null;
  const read = readChange(change);
  return read === null ? null : { change: read, nowMs, until };
}

/** A request for a link that signs in to the dashboard with a secret key, named by its SHA-256. */
export interface LinkRequest {
  readonly link: { readonly keyHash: string };
}

export type LinkReply =
  | { readonly kind: 'ok'; readonly value: { readonly url: string; readonly expiresAtMs: number } }
  | { readonly kind: 'fault'; readonly code: 'dashboard_off' | 'unknown_key'; readonly detail: string };

/** Returns null for anything but a well-formed request. */
export function readLinkRequest(line: string): LinkRequest | null {
  const link = parse(line)?.['link'];
  if (!isObject(link)) return null;
  const { keyHash } = link;
  return isHash(keyHash) ? { link: { keyHash } } : null;
}

/** Returns the version of the other side; null if the line has none. */
export function readProtocol(line: string): number | null {
  const version = parse(line)?.['protocol'];
  return isWhole(version) ? version : null;
}

function readChange(change: Fields): ControlChange | null {
  switch (change['kind']) {
    case 'customer.created': {
      const { id, name } = change;
      const isRead = isText(id) && /^cus_[0-9A-HJKMNP-TV-Z]{26}$/.test(id) && isText(name);
      return isRead ? { kind: 'customer.created', id: id as ChangeOf<'customer.created'>['id'], name } : null;
    }
    case 'customer.changed': {
      const { customer, name, isSuspended } = change;
      const isRead =
        isU32(customer) &&
        (name === undefined || isText(name)) &&
        (isSuspended === undefined || typeof isSuspended === 'boolean');
      if (!isRead) return null;
      const changed = {
        ...(name !== undefined && { name }),
        ...(typeof isSuspended === 'boolean' && { isSuspended }),
      };
      return { kind: 'customer.changed', customer: customer as ChangeOf<'customer.changed'>['customer'], ...changed };
    }
    case 'key.created':
    case 'key.granted':
    case 'key.revoked':
    case 'key.replaced':
      return readKeyChange(change);
    case 'registry.imported': {
      const { entries, total } = change;
      if (!isList(entries, CONTROL_ENTRIES_MAX) || !(total === null || isWhole(total))) return null;
      return entries.every(isEntry) ? { kind: 'registry.imported', entries, total } : null;
    }
    case 'registry.removed': {
      const { fingerprintHash: hash } = change;
      const fingerprintHash = hash as ChangeOf<'registry.removed'>['fingerprintHash'];
      return isHash(hash) ? { kind: 'registry.removed', fingerprintHash } : null;
    }
    case 'model.chosen': {
      const { how, id, previous, overruled } = change;
      if ((how !== 'promoted' && how !== 'rolled_back' && how !== 'resumed') || !isTexts(overruled)) return null;
      if ((id !== null && !isText(id)) || (previous !== null && !isText(previous))) return null;
      return { kind: 'model.chosen', how, id, previous, overruled: overruled as readonly string[] };
    }
    case 'rule.put': {
      const { customer, rule, ifMatch } = change;
      const read = readOwnRule(rule);
      if (!isU32(customer) || read === null || !isText(read.when) || !isText(read.note) || ifMatch !== null)
        return null;
      if (read.eventTypes !== null && !isTexts(read.eventTypes)) return null;
      return { kind: 'rule.put', customer: customer as ChangeOf<'rule.put'>['customer'], rule: read, ifMatch };
    }
    case 'list.put': {
      const { customer, entry } = change;
      const of = customer as ChangeOf<'list.put'>['customer'];
      return isU32(customer) && isListEntry(entry) ? { kind: 'list.put', customer: of, entry } : null;
    }
    case 'list.batch': {
      const { customer, entries } = change;
      const of = customer as ChangeOf<'list.batch'>['customer'];
      if (!isU32(customer) || !isList(entries, CONTROL_ENTRIES_MAX) || !entries.every(isListEntry)) return null;
      return { kind: 'list.batch', customer: of, entries };
    }
    case 'list.removed': {
      const { customer, fingerprintHash: hash } = change;
      const of = customer as ChangeOf<'list.removed'>['customer'];
      const fingerprintHash = hash as ChangeOf<'list.removed'>['fingerprintHash'];
      return isU32(customer) && isHash(hash) ? { kind: 'list.removed', customer: of, fingerprintHash } : null;
    }
    default:
      return readNamedListChange(change);
  }
}

function readKeyChange(change: Fields): ControlChange | null {
  if (change['kind'] === 'key.revoked') {
    const { hash } = change;
    return isHash(hash) ? { kind: 'key.revoked', hash } : null;
  }
  if (change['kind'] === 'key.replaced') {
    const { kind, hash, replacedBy, endSeconds } = change;
    return isHash(hash) && isText(replacedBy) && isU32(endSeconds) ? { kind, hash, replacedBy, endSeconds } : null;
  }
  const { kind, customer: of, rateLimit, keys, grant } = change;
  if (!isU32(of) || !(rateLimit === null || isU32(rateLimit)) || !isList(keys, KEYS_MAX)) return null;
  if (!keys.every(isNewKey)) return null;
  const customer = of as ChangeOf<'key.created'>['customer'];
  if (kind === 'key.created') return { kind, customer, rateLimit, keys };
  return isGrant(grant) ? { kind: 'key.granted', customer, rateLimit, keys, grant, validKeysMax: null } : null;
}

function readNamedListChange({ kind, customer: of, name, ...rest }: Fields): ControlChange | null {
  if (!isU32(of) || !isText(name) || !NAMED_LIST_NAME.test(name)) return null;
  const customer = of as ChangeOf<'named_list.put'>['customer'];
  switch (kind) {
    case 'named_list.put': {
      const { listKind, note } = rest;
      const known = isText(listKind) ? namedListKindOf(listKind) : null;
      return known !== null && (note === null || isText(note)) ? { kind, customer, name, listKind: known, note } : null;
    }
    case 'named_list.items': {
      const { number, items, writeId, restores } = rest;
      if (!isU32(number) || !isList(items, CONTROL_ENTRIES_MAX) || !items.every(isNamedItem)) return null;
      if (!(writeId === undefined || isText(writeId)) || !(restores === undefined || isU32(restores))) return null;
      const write = { ...(writeId !== undefined && { writeId }), ...(restores !== undefined && { restores }) };
      return { kind, customer, name, number, items, ...write };
    }
    case 'named_list.removed':
      return { kind, customer, name };
    default:
      return null;
  }
}

function isNamedItem(item: unknown): item is NamedItemChange {
  if (!isObject(item)) return false;
  const { key, value, expiresAtSeconds, isRemoved, createdAtSeconds } = item;
  const isValue = value === null || (typeof value === 'string' && value.length <= VALUE_MAX);
  const isExpiry = expiresAtSeconds === null || isU32(expiresAtSeconds);
  const isCreation = createdAtSeconds === undefined || isU32(createdAtSeconds);
  return isHash(key) && isValue && isExpiry && isCreation && typeof isRemoved === 'boolean';
}

function isListEntry(value: unknown): value is ListEntryChange {
  if (!isObject(value)) return false;
  const { fingerprintHash, kind, value: listed, action, note, expiresAtSeconds, eventTypes } = value;
  const isKind = kind === undefined || (isText(kind) && listKindOf(kind) !== null);
  const isValue = listed === undefined || listed === null || (typeof listed === 'string' && listed.length <= VALUE_MAX);
  const isExpiry = expiresAtSeconds === null || isU32(expiresAtSeconds);
  const areTypes = eventTypes === undefined || isTexts(eventTypes);
  const isAction = LIST_ACTIONS.some((one) => one === action);
  return (
    isHash(fingerprintHash) && isKind && isValue && isAction && (note === null || isText(note)) && isExpiry && areTypes
  );
}

type Fields = Readonly<Record<string, unknown>>;

function parse(line: string): Fields | null {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isList(value: unknown, itemsMax: number): value is readonly unknown[] {
  return Array.isArray(value) && value.length <= itemsMax;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= TEXT_CHARACTERS_MAX;
}

function isHash(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isU32(value: unknown): value is number {
  return isWhole(value) && value <= 0xffff_ffff;
}

function isNewKey(value: unknown): value is NewApiKey {
  if (!isObject(value)) return false;
  const { kind, hash, prefix, origins } = value;
  return (kind === 'secret' || kind === 'public') && isHash(hash) && isText(prefix) && isTexts(origins);
}

function isGrant(value: unknown): value is KeyGrant {
  if (!isObject(value)) return false;
  const { name, scopes, expiresAtSeconds, networks } = value;
  const areScopes =
    isList(scopes, KEY_SCOPES.length) && scopes.every((one) => KEY_SCOPES.some((scope) => scope === one));
  const areNetworks =
    isList(networks, KEY_NETWORKS_MAX) &&
    networks.every((one) => typeof one === 'string' && canonicalNetwork(one) === one);
  return isText(name) && areScopes && (expiresAtSeconds === null || isWhole(expiresAtSeconds)) && areNetworks;
}

function isTexts(value: unknown): boolean {
  return isList(value, TEXT_CHARACTERS_MAX) && value.every(isText);
}

function isEntry(value: unknown): value is RegistryEntry {
  if (!isObject(value)) return false;
  const { fingerprintHash, risk, customers, firstSeenSeconds, lastSeenSeconds } = value;
  const isRisk = typeof risk === 'number' && risk >= 0 && risk <= 100;
  return isHash(fingerprintHash) && isRisk && isU32(customers) && isWhole(firstSeenSeconds) && isWhole(lastSeenSeconds);
}

export interface ControlAddress {
  readonly path: string;
  /** Must be called when the path is not used any more. */
  release(): void;
}

export const CONTROL_SOCKET = 'control.sock';
/** Source: sys/un.h of macOS, 104 bytes with the final zero; Linux has 108. */
const PATH_BYTES_MAX = 103;

/**
 * Returns a path of the socket that is short enough for the system: as it is, relative to the working directory, or on Linux through
 * an open descriptor of the folder. Null if none of them is.
 */
export function controlAddress(dataDir: string): ControlAddress | null {
  const path = join(dataDir, CONTROL_SOCKET);
  for (const candidate of [path, relative(process.cwd(), path)]) {
    if (Buffer.byteLength(candidate) <= PATH_BYTES_MAX) return { path: candidate, release: () => {} };
  }
  if (process.platform !== 'linux') return null;
  const folder = openSync(dataDir, 'r');
  return { path: `/proc/self/fd/${folder}/${CONTROL_SOCKET}`, release: () => closeSync(folder) };
}
