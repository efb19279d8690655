import type { HistoryEvent, Trace } from '../risk/history.ts';
import { stepOf } from '../risk/event-outcome.ts';
import { VELOCITY_ENTITIES_MAX } from '../kernel/velocity-limits.ts';
import { placeValue } from './context-place.ts';
import { codeOfCountry } from './country.ts';
import type { EventKeys } from './event-keys.ts';
import { positionOf } from './places.ts';

/**
 * Stored beside the decision of a login, payment or checkout, so that the velocity store finds its subjects again when its outcome is
 * reported: keyed hashes, and what the event added. Words of 4 bytes, little-endian like all supported machines.
 *
 *   0 version << 28 | index of the account << 24 | entities << 16 | agent << 8 | attributes << 2 | 2 has a location | 1 login
 *   1-2 session   3-4 address, 5 site; 0 without   6 device << 16 | like the account << 15 | accuracy << 10 | country; 0 without
 *   7 position of the location   8 location of the context << 16 | exact agent
 *   then two words an entity: its hash
 *   then two bytes an entity: what was added, and what was there
 *
 * 36 bytes and 10 an entity: 46 to 56 usually, beside about 240 of the decision itself. Version 1 had one byte an entity, and no
 * attributes, accuracy or likeness.
 */
const VERSION = 2;
const LOGIN = 1;
const HAS_PLACE = 2;
const ACCOUNT_SHIFT = 24;
const ACCOUNT_MASK = 7;
const HEAD_WORDS = 9;
const ENTITY_BYTES = 10;
const ATTRIBUTES_SHIFT = 2;
const ATTRIBUTES_MASK = 0x3f;
const IS_ALIKE = 1 << 15;
const ACCURACY_SHIFT = 10;
const ACCURACY_MASK = 0x1f;
const COUNTRY_MASK = 0x3ff;

/** What the account's context was when the event came. */
export interface ContextBefore {
  /** What the account knew of device, exact agent and network: two bits each, `ABSENT` to `FAMILIAR`. */
  readonly attributes: number;
  /** The context resembles the account's, or is its first. */
  readonly isAlike: boolean;
}

export const ABSENT = 0;
/** Seen before, but not yet known. */
export const DOUBTFUL = 1;
export const FAMILIAR = 2;
export const NO_CONTEXT: ContextBefore = { attributes: 0, isAlike: false };

/** What an event added about an entity. */
export const TAUGHT_ENTITY = 1;
export const TAUGHT_NETWORK = 2;
export const TAUGHT_DEVICE = 4;
export const TAUGHT_COUNTRY = 8;
export const TAUGHT_PLACE = 16;
export const TAUGHT_AGENT = 32;
/** The first event of its session that is known of the account, so the session counts because of it, unless its context is doubtful. */
export const TAUGHT_CONTEXT = 64;
/** The account's first context, which is familiar at once. */
export const TAUGHT_FIRST_CONTEXT = 128;
/** Logins of the entity had succeeded there before. */
export const SUCCEEDED_ON_NETWORK = 256;
export const SUCCEEDED_ON_DEVICE = 512;

/** An event as reconstructed from its trace. */
export interface TracedEvent {
  readonly isLogin: boolean;
  readonly atSeconds: number;
  readonly agentHash: number;
  readonly sessionLow: number;
  readonly sessionHigh: number;
  readonly hostLow: number;
  readonly hostHigh: number;
  /** 0 without networks. */
  readonly site: number;
  /** As a member of a set; 0 without a device. */
  readonly device: number;
  /** As a code; 0 without. */
  readonly country: number;
  readonly position: number | null;
  /** Null without a location, and in a trace that does not have it. Rounded up, to the next power of the square root of 2. */
  readonly accuracyKm: number | null;
  readonly context: ContextBefore;
  /** 0 without an agent. */
  readonly exactAgentHash: number;
  /** 0 without. */
  readonly contextPlace: number;
  readonly entities: readonly TracedEntity[];
  /** Index of the account among the entities. */
  readonly account: number;
}

export interface TracedEntity {
  readonly low: number;
  readonly high: number;
  readonly taught: number;
}

/** Writes the trace of one event at a time; the next one overwrites its bytes. */
export class TraceWriter implements Trace {
  readonly bytes = new Uint8Array(4 * HEAD_WORDS + 12 * VELOCITY_ENTITIES_MAX);
  length = 0;
  readonly #words = new Int32Array(this.bytes.buffer);

  write(event: HistoryEvent, keys: EventKeys, taught: Uint16Array, context: ContextBefore): void {
    const { bytes } = this;
    const words = this.#words;
    const { place } = event;
    const { entities, entityLow, entityHigh } = keys;
    const isLogin = stepOf(event.eventType) === 'login';
    const flags = (isLogin ? LOGIN : 0) | (place === null ? 0 : HAS_PLACE) | (context.attributes << ATTRIBUTES_SHIFT);
    const account = Math.max(0, keys.account) & ACCOUNT_MASK;
    words[0] = (VERSION << 28) | (account << ACCOUNT_SHIFT) | (entities << 16) | (event.agentHash << 8) | flags;
    words[1] = keys.sessionLow;
    words[2] = keys.sessionHigh;
    const hasNetworks = event.networks !== null;
    words[3] = hasNetworks ? keys.hostLow : 0;
    words[4] = hasNetworks ? keys.hostHigh : 0;
    words[5] = keys.site;
    const accuracy = place === null ? 0 : codeOfAccuracy(place.accuracyKm) << ACCURACY_SHIFT;
    words[6] = (keys.device << 16) | (context.isAlike ? IS_ALIKE : 0) | accuracy | codeOfCountry(event.country);
    words[7] = place === null ? 0 : positionOf(place);
    words[8] = (placeValue(event, keys) << 16) | event.exactAgentHash;
    let at = HEAD_WORDS;
    for (let n = 0; n < entities; n++) {
      words[at++] = entityLow[n] ?? 0;
      words[at++] = entityHigh[n] ?? 0;
    }
    let end = at * 4;
    for (let n = 0; n < entities; n++) {
      bytes[end++] = (taught[n] ?? 0) & 0xff;
      bytes[end++] = (taught[n] ?? 0) >>> 8;
    }
    this.length = end;
  }
}

/** Returns null for bytes that were not written by a `TraceWriter` of this version or the one before. */
export function readTrace(bytes: Uint8Array, occurredAtMs: number): TracedEvent | null {
  const head = bytes.length < 4 * HEAD_WORDS ? 0 : wordOf(bytes, 0);
  const entities = (head >>> 16) & 0xff;
  const entityBytes = head >>> 28 === VERSION ? ENTITY_BYTES : ENTITY_BYTES - 1;
  const isKnown = head >>> 28 === VERSION || head >>> 28 === VERSION - 1;
  if (!isKnown || bytes.length !== 4 * HEAD_WORDS + entityBytes * entities) return null;
  const taughtAt = 4 * HEAD_WORDS + 8 * entities;
  const deviceAndCountry = wordOf(bytes, 6);
  const placeAndAgent = wordOf(bytes, 8);
  const accuracy = (deviceAndCountry >>> ACCURACY_SHIFT) & ACCURACY_MASK;
  return {
    isLogin: (head & LOGIN) !== 0,
    atSeconds: Math.floor(occurredAtMs / 1_000),
    agentHash: (head >>> 8) & 0xff,
    sessionLow: wordOf(bytes, 1),
    sessionHigh: wordOf(bytes, 2),
    hostLow: wordOf(bytes, 3),
    hostHigh: wordOf(bytes, 4),
    site: wordOf(bytes, 5),
    device: deviceAndCountry >>> 16,
    country: deviceAndCountry & COUNTRY_MASK,
    position: (head & HAS_PLACE) === 0 ? null : wordOf(bytes, 7) >>> 0,
    accuracyKm: accuracy === 0 ? null : accuracyOfCode(accuracy),
    context: {
      attributes: (head >>> ATTRIBUTES_SHIFT) & ATTRIBUTES_MASK,
      isAlike: (deviceAndCountry & IS_ALIKE) !== 0,
    },
    exactAgentHash: placeAndAgent & 0xffff,
    contextPlace: placeAndAgent >>> 16,
    account: (head >>> ACCOUNT_SHIFT) & ACCOUNT_MASK,
    entities: Array.from({ length: entities }, (_none, n) => ({
      low: wordOf(bytes, HEAD_WORDS + 2 * n),
      high: wordOf(bytes, HEAD_WORDS + 2 * n + 1),
      taught:
        entityBytes === ENTITY_BYTES
          ? (bytes[taughtAt + 2 * n] ?? 0) | ((bytes[taughtAt + 2 * n + 1] ?? 0) << 8)
          : (bytes[taughtAt + n] ?? 0),
    })),
  };
}

/** Returns 1 to 31: twice the logarithm to the base 2, rounded up. */
function codeOfAccuracy(km: number): number {
  return Math.min(ACCURACY_MASK, 1 + Math.ceil(2 * Math.log2(Math.max(0, km || 0) + 1)));
}

function accuracyOfCode(code: number): number {
  return Math.round(2 ** ((code - 1) / 2) - 1);
}

/** Returns a signed word, like keys. The bytes need not be aligned. */
function wordOf(bytes: Uint8Array, word: number): number {
  const at = 4 * word;
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
}
