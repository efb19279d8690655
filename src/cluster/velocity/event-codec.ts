import type { CustomerNumber } from '../../kernel/brand.ts';
import { unpack } from '../../kernel/pack.ts';
import { PackWriter } from '../../kernel/pack-writer.ts';
import type { SettledEvent } from '../../ports/velocity.ts';
import { type Outcome, OUTCOMES } from '../../risk/event-outcome.ts';
import type { HistoryEvent, Networks, NonceUse, Place } from '../../risk/history.ts';
import { type Fields, itemOf, numberAt, readText, writeText } from './event-fields.ts';
import { COUNTER_FIXED_BYTES, countersOf, writeCounters } from './counter-codec.ts';
import type { BrowserFamily, SystemFamily } from '../../risk/signals/agent-families.ts';

/** An item between nodes: an event that was counted, or an outcome that was reported later. */
export type SharedItem = HistoryEvent | SettledEvent;

/**
 * Packs the items of one batch for other nodes: a byte of version, then msgpack of an array: the time of the first item, ms, and an
 * array per item. Small numbers stand for the entries of the tables below, so a change of a table or of an item's fields
 * raises the version: nodes skip and count what they do not read.
 *
 * Measured (logins and payments with two entities, a location and a collector's token), encrypted: 176 bytes an event in batches of 16,
 * 209 alone. Encoding and encrypting cost a fifth of counting the event, reading it at another node as much.
 */
const VERSION = 1;
/** The same, where an event has an amount as its last field. Version 1 has none, so that older nodes read all else. */
const VERSION_AMOUNTS = 2;

/** The same, where an event has counters of the customer's own as its last field, after the amount or null. */
const VERSION_COUNTERS = 3;

/** Order is part of the format. */
export const BROWSERS: readonly BrowserFamily[] = ['chromium', 'firefox', 'safari', 'other'];
export const SYSTEMS: readonly SystemFamily[] = ['windows', 'macos', 'linux', 'android', 'ios', 'chromeos', 'other'];

const KIND_EVENT = 0;
const KIND_SETTLED = 1;
const EVENT_FIELDS = 18;
const AMOUNT_FIELDS = EVENT_FIELDS + 1;
const COUNTER_FIELDS = EVENT_FIELDS + 2;
const SETTLED_FIELDS = 8;
const PUBLIC_KEY = 1;
/** The location is in 1/10,000 of a degree, as the usual databases have it. */
const SCALED = 2;
/** Site and region are the first three and the first two parts of the address. */
const DERIVED = 4;
const NONE = -1;
/** Stands for a text that the mailbox contains. */
const SAME = -1;
const DEGREE_PARTS = 10_000;
const BYTES_MIN = 16_384;
/** Everything of an item but its texts, with their heads. */
const FIXED_BYTES = 256;
const BYTES_PER_CHARACTER = 3;

/** Encodes batches; the buffer for the work is kept. One per thread. */
export class EventEncoder {
  #writer = new PackWriter(Buffer.alloc(BYTES_MIN));

  /** Returns bytes that belong to the caller. */
  encode(items: readonly SharedItem[]): Buffer {
    this.#reserve(items);
    const writer = this.#writer;
    const [first] = items;
    const baseMs = Math.floor(first?.nowMs ?? 0);
    writer.bytes[0] = versionFor(items);
    writer.end = 1;
    writer.array(1 + items.length);
    writer.number(baseMs);
    for (const item of items) {
      if ('trace' in item) writeSettled(writer, item, baseMs);
      else writeEvent(writer, item, baseMs);
    }
    return Buffer.from(writer.bytes.subarray(0, writer.end));
  }

  #reserve(items: readonly SharedItem[]): void {
    let bytes = FIXED_BYTES;
    for (const item of items) bytes += 'trace' in item ? FIXED_BYTES + item.trace.length : bytesMaxOf(item);
    if (bytes > this.#writer.bytes.length) this.#writer = new PackWriter(Buffer.alloc(2 * bytes));
  }
}

function versionFor(items: readonly SharedItem[]): number {
  let version = VERSION;
  for (const item of items) {
    if ('trace' in item) continue;
    if (item.counters.some(({ counts }) => counts)) return VERSION_COUNTERS;
    if (item.amount !== null) version = VERSION_AMOUNTS;
  }
  return version;
}

/** Returns null for another version, and for bytes that `encode` did not make. */
export function decodeItems(bytes: Uint8Array): readonly SharedItem[] | null {
  const [version = 0] = bytes;
  if (version < VERSION || version > VERSION_COUNTERS) return null;
  try {
    const [baseMs, ...items] = unpack(bytes.subarray(1));
    return items.map((item) => readItem(item as readonly unknown[], baseMs as number));
  } catch {
    return null;
  }
}

function bytesMaxOf({
  eventType,
  sessionId,
  networks,
  country,
  mail,
  entities,
  device,
  browser,
  counters,
}: HistoryEvent): number {
  let characters = eventType.length + sessionId.length + (country?.length ?? 0);
  characters += (device?.length ?? 0) + (browser?.length ?? 0);
  if (networks !== null) characters += networks.host.length + networks.site.length + networks.region.length;
  if (mail !== null) characters += mail.spelling.length + mail.canonical.length + mail.registrable.length;
  let heads = 0;
  for (const { name, value } of entities) {
    characters += name.length + value.length;
    heads += 8;
  }
  for (const { subject, member } of counters) {
    characters += subject.length + member.length;
    heads += COUNTER_FIXED_BYTES;
  }
  return FIXED_BYTES + heads + BYTES_PER_CHARACTER * characters;
}

function writeEvent(writer: PackWriter, event: HistoryEvent, baseMs: number): void {
  const { networks, place, agent, entities, grant, amount } = event;
  const isScaled = place !== null && isWhole(place.latitude) && isWhole(place.longitude);
  const isDerived = networks !== null && isV4(networks);
  const counted = event.counters.filter(({ counts }) => counts);
  writer.array(counted.length > 0 ? COUNTER_FIELDS : amount === null ? EVENT_FIELDS : AMOUNT_FIELDS);
  writer.small(KIND_EVENT);
  writer.small((event.publicKey ? PUBLIC_KEY : 0) | (isScaled ? SCALED : 0) | (isDerived ? DERIVED : 0));
  writer.compact(event.customer);
  writer.compact(event.nowMs - baseMs);
  writeText(writer, event.eventType);
  writeText(writer, event.sessionId);
  writeNetworks(writer, networks, isDerived);
  writeTextOrNull(writer, event.country);
  if (place === null) writer.null();
  else {
    writer.array(3);
    writer.compact(isScaled ? Math.round(place.latitude * DEGREE_PARTS) : place.latitude);
    writer.compact(isScaled ? Math.round(place.longitude * DEGREE_PARTS) : place.longitude);
    writer.compact(place.accuracyKm);
  }
  writer.small(agent === null ? NONE : (BROWSERS.indexOf(agent.browser) << 3) | SYSTEMS.indexOf(agent.system));
  writer.compact(event.agentHash);
  writer.compact(event.exactAgentHash);
  writer.compact(event.agentLanguageHash);
  writeMail(writer, event);
  writer.small(outcomeNumber(event.outcome));
  writer.array(2 * entities.length);
  for (const { name, value } of entities) {
    writeText(writer, name);
    writeText(writer, value);
  }
  writer.array(2);
  writeTextOrNull(writer, event.device);
  writeTextOrNull(writer, event.browser);
  if (grant === null) writer.null();
  else {
    writer.array(3);
    for (const value of [grant.nonceLow, grant.nonceHigh, grant.seq]) writer.compact(value);
  }
  if (amount !== null) {
    writer.array(2);
    writer.compact(amount.value);
    writeText(writer, amount.currency);
  } else if (counted.length > 0) writer.null();
  if (counted.length > 0) writeCounters(writer, counted);
}

/** Names an entity of the event instead of its text: most mailboxes are one. */
function writeMail(writer: PackWriter, { mail, entities }: HistoryEvent): void {
  if (mail === null) return writer.null();
  const { spelling, canonical, registrable } = mail;
  writer.array(3);
  writeNamed(writer, canonical, entities);
  if (spelling === canonical) writer.small(SAME);
  else writeNamed(writer, spelling, entities);
  if (domainOf(canonical) === registrable) writer.small(SAME);
  else writeText(writer, registrable);
}

function domainOf(canonical: string): string {
  return canonical.slice(canonical.lastIndexOf('@') + 1);
}

function writeNamed(writer: PackWriter, text: string, entities: HistoryEvent['entities']): void {
  const at = entities.findIndex(({ value }) => value === text);
  if (at >= 0 && at < 128) writer.small(at);
  else writeText(writer, text);
}

function writeNetworks(writer: PackWriter, networks: Networks | null, isDerived: boolean): void {
  if (networks === null) return writer.null();
  if (isDerived) return writeText(writer, networks.host);
  writer.array(3);
  for (const text of [networks.host, networks.site, networks.region]) writeText(writer, text);
}

function writeSettled(writer: PackWriter, settled: SettledEvent, baseMs: number): void {
  writer.array(SETTLED_FIELDS);
  writer.small(KIND_SETTLED);
  writer.small(settled.publicKey ? PUBLIC_KEY : 0);
  writer.compact(settled.customer);
  writer.compact(settled.nowMs - baseMs);
  writer.number(settled.occurredAtMs);
  writer.small(outcomeNumber(settled.before));
  writer.small(outcomeNumber(settled.outcome));
  writer.binary(settled.trace, settled.trace.length);
}

function writeTextOrNull(writer: PackWriter, text: string | null): void {
  if (text === null) writer.null();
  else writeText(writer, text);
}

function isV4({ host, site, region }: Networks): boolean {
  return derivedFrom(host).site === site && derivedFrom(host).region === region;
}

function derivedFrom(host: string): Networks {
  const site = host.slice(0, Math.max(0, host.lastIndexOf('.')));
  return { host, site, region: site.slice(0, Math.max(0, site.lastIndexOf('.'))) };
}

function isWhole(degrees: number): boolean {
  return Math.round(degrees * DEGREE_PARTS) / DEGREE_PARTS === degrees && !Object.is(degrees, -0);
}

function outcomeNumber(outcome: Outcome | null): number {
  return outcome === null ? NONE : OUTCOMES.indexOf(outcome);
}

function readItem(fields: Fields, baseMs: number): SharedItem {
  const hasEventFields = fields.length >= EVENT_FIELDS && fields.length <= COUNTER_FIELDS;
  if (fields[0] === KIND_EVENT && hasEventFields) return readEvent(fields, baseMs);
  if (fields[0] === KIND_SETTLED && fields.length === SETTLED_FIELDS) return readSettled(fields, baseMs);
  throw new Error('an item has the wrong form');
}

function readEvent(fields: Fields, baseMs: number): HistoryEvent {
  const flags = numberAt(fields, 1);
  const entities = entitiesOf(fields[15] as Fields);
  const agent = numberAt(fields, 9);
  const [device, browser] = fields[16] as Fields;
  return {
    customer: numberAt(fields, 2) as CustomerNumber,
    publicKey: (flags & PUBLIC_KEY) !== 0,
    nowMs: baseMs + numberAt(fields, 3),
    eventType: readText(fields[4]),
    sessionId: readText(fields[5]),
    networks: networksOf(fields[6], (flags & DERIVED) !== 0),
    country: textOrNull(fields[7]),
    place: placeOf(fields[8], (flags & SCALED) !== 0),
    agent: agent === NONE ? null : { browser: itemOf(BROWSERS, agent >> 3), system: itemOf(SYSTEMS, agent & 7) },
    agentHash: numberAt(fields, 10),
    exactAgentHash: numberAt(fields, 11),
    agentLanguageHash: numberAt(fields, 12),
    mail: mailOf(fields[13], entities),
    outcome: outcomeOf(numberAt(fields, 14)),
    entities,
    device: textOrNull(device),
    browser: textOrNull(browser),
    grant: grantOf(fields[17]),
    amount: amountOf(fields[EVENT_FIELDS]),
    counters: countersOf(fields[AMOUNT_FIELDS]),
  };
}

function amountOf(value: unknown): HistoryEvent['amount'] {
  return Array.isArray(value) ? { value: numberAt(value, 0), currency: readText(value[1]) } : null;
}

function readSettled(fields: Fields, baseMs: number): SettledEvent {
  const outcome = outcomeOf(numberAt(fields, 6));
  const trace = fields[7];
  if (outcome === null || !(trace instanceof Uint8Array)) throw new Error('an outcome has the wrong form');
  return {
    customer: numberAt(fields, 2) as CustomerNumber,
    publicKey: (numberAt(fields, 1) & PUBLIC_KEY) !== 0,
    trace: Uint8Array.from(trace),
    occurredAtMs: numberAt(fields, 4),
    nowMs: baseMs + numberAt(fields, 3),
    before: outcomeOf(numberAt(fields, 5)),
    outcome,
  };
}

function textOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : readText(value);
}

function outcomeOf(at: number): Outcome | null {
  return at === NONE ? null : itemOf(OUTCOMES, at);
}

function networksOf(value: unknown, isDerived: boolean): Networks | null {
  if (value === null) return null;
  if (isDerived) return derivedFrom(readText(value));
  const [host, site, region] = value as Fields;
  return { host: readText(host), site: readText(site), region: readText(region) };
}

function placeOf(value: unknown, isScaled: boolean): Place | null {
  if (value === null) return null;
  const fields = value as Fields;
  const parts = isScaled ? DEGREE_PARTS : 1;
  return {
    latitude: numberAt(fields, 0) / parts,
    longitude: numberAt(fields, 1) / parts,
    accuracyKm: numberAt(fields, 2),
  };
}

function entitiesOf(fields: Fields): HistoryEvent['entities'] {
  const entities: { name: string; value: string }[] = [];
  for (let at = 0; at < fields.length; at += 2)
    entities.push({ name: readText(fields[at]), value: readText(fields[at + 1]) });
  return entities;
}

function mailOf(value: unknown, entities: HistoryEvent['entities']): HistoryEvent['mail'] {
  if (value === null) return null;
  const [first, second, third] = value as Fields;
  const named = (field: unknown): string =>
    typeof field === 'number' ? itemOf(entities, field).value : readText(field);
  const canonical = named(first);
  const registrable = third === SAME ? domainOf(canonical) : readText(third);
  return { spelling: second === SAME ? canonical : named(second), canonical, registrable };
}

function grantOf(value: unknown): NonceUse | null {
  if (value === null) return null;
  const fields = value as Fields;
  return { nonceLow: numberAt(fields, 0), nonceHigh: numberAt(fields, 1), seq: numberAt(fields, 2) };
}
