/**
 * The velocity table: what is remembered of sessions, addresses, entities and devices, in one piece of shared memory that all workers read
 * and write. 137 bytes a record, and 1,088 of the table's head. A session, an address, an entity and a device take one record each;
 * `…-record.ts` say what is in them. Few need more: an address one for each name of strangers' keys (for an hour), one for sign-ups; a
 * device one for its networks from the second on; an entity one for travels, one for its contexts once it logs in or pays, and one each
 * for devices over 5 and networks over 8 in 30 days; a session one for regions over 5; any of them one for over 12 events in a window, and
 * one from its first outcome on. A customer whose outcomes are known has up to 56 of them (`population-record.ts`), and each customer up
 * to 67 for what is common (`context-population.ts`). Of crowds a customer has up to 75 (`crowd-surges.ts`), one for each 15 subjects that
 * came once (`first-touch.ts`), and further ones: for an account, an address or a network from its second login of a kind on
 * (`login-crowds.ts`), for a session of over 15 events (`page-records.ts`), for each person with a card (`value-records.ts`), for a mail
 * domain, and for a mailbox that is not spelled plainly (`mail-records.ts`).
 *
 *   head    1,088 bytes: 0 magic   1 version   2 groups   3 records in use   4 records made   5 living records thrown out
 *           6 events lost   7 records in use of public keys   8 records refused   9-15 unused
 *           16-271 records in use of each owner (`shares.ts`)
 *   groups  960 bytes each: a line of 64 bytes, then 7 records of 128 bytes
 *           line    way w at words 2w and 2w + 1: tag, state; byte 56 + w: who made it (`shares.ts`); byte 63 unused
 *           tag     28 bits of the key's hash << 4 | kind of record; 0: nobody's
 *           state   0: empty   1 to 65,536: being made since (Unix seconds & 0xffff) + 1   else: last seen, Unix seconds
 *           record  word 0: the other 32 bits of the key's hash; the kind says what the rest means
 *
 * A key has two candidate groups, one from each part of its hash, so a look-up reads two lines and the record. The key's whole hash stands
 * in the table, so a record finds its groups again in a table of another size.
 *
 * Nothing is locked. Every word that two workers may write is changed by compare-and-swap, and says by itself what it means; no two words
 * must fit together, but for those of a place (`places.ts`). Bounds of what this loses are at `Table`.
 */
export const MAGIC = 0x31544856; // "VHT1"
export const LAYOUT_VERSION = 3;

export const HEAD_WORDS = 272;
export const HEAD_MAGIC = 0;
export const HEAD_VERSION = 1;
export const HEAD_GROUPS = 2;
export const HEAD_USED = 3;
export const HEAD_MADE = 4;
export const HEAD_EVICTED = 5;
export const HEAD_LOST = 6;
export const HEAD_PUBLIC = 7;
export const HEAD_REFUSED = 8;
export const HEAD_OWNERS = 16;
export const OWNERS = 256;

export const WAYS = 7;
export const LINE_WORDS = 16;
/** Word of a line. */
export const AT_OWNERS = 14;
export const RECORD_WORDS = 32;
export const GROUP_WORDS = LINE_WORDS + WAYS * RECORD_WORDS;

/** States from here on are times. */
export const SEEN_MIN = 65_537;

/** Kinds of records. */
export const KIND_SESSION = 1;
export const KIND_ADDRESS = 2;
export const KIND_SIGNUPS = 3;
export const KIND_ENTITY = 4;
export const KIND_TRAVELS = 5;
/** Members of a set, of the last 24 h at most. */
export const KIND_SET = 6;
/** Members of a set of an entity, which are kept longer. */
export const KIND_LONG_SET = 7;
export const KIND_BUSY = 8;
export const KIND_SKETCH = 9;
/** Members of a set of the last hour. */
export const KIND_HOUR_SET = 10;
export const KIND_DEVICE = 11;
export const KIND_OUTCOMES = 12;
/**
 * The same of an entity, which keep longer where its logins succeeded; and the contexts of an account, which are kept as long and go by
 * the account's own key, as no outcomes do.
 */
export const KIND_ENTITY_OUTCOMES = 14;
/** Of a customer: what fails at the moment, and what usually does. */
export const KIND_POPULATION = 13;
export const KIND_MASK = 15;

const HOUR = 3_600;
const DAY = 24 * HOUR;

/**
 * Seconds after which a record of a kind is thrown out before others that were not seen for longer: nothing that it counts is
 * inside of a window any more.
 */
const IDLE_SECONDS = new Uint32Array(KIND_MASK + 1);
for (const kind of [KIND_SESSION, KIND_ADDRESS, KIND_SIGNUPS, KIND_SET, KIND_SKETCH, KIND_DEVICE, KIND_OUTCOMES])
  IDLE_SECONDS[kind] = DAY;
for (const kind of [KIND_ENTITY, KIND_TRAVELS, KIND_LONG_SET, KIND_ENTITY_OUTCOMES]) IDLE_SECONDS[kind] = 30 * DAY;
for (const kind of [KIND_BUSY, KIND_HOUR_SET]) IDLE_SECONDS[kind] = HOUR;
IDLE_SECONDS[KIND_POPULATION] = 9 * DAY;

export function idleSecondsOf(tag: number): number {
  return IDLE_SECONDS[tag & KIND_MASK] ?? 0;
}
