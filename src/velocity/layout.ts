/**
 * The velocity table: what is remembered of sessions, addresses, entities and devices, in one piece of shared memory that all
 * workers read and write. 137 bytes a record. A session, an address, an entity and a device take one record each;
 * `…-record.ts` say what is in them. Few need more: an address one for each name of strangers' keys (for an hour),
 * one for sign-ups; an entity one for travels, and one each for devices over 5 and networks over 8 in 30 days; a session one for
 * regions over 5; any of them one for over 12 events in a window.
 *
 *   head    64 bytes: 0 magic   1 version   2 groups   3 records in use   4 records made   5 living records thrown out
 *           6 events lost   7-15 unused
 *   groups  960 bytes each: a line of 64 bytes, then 7 records of 128 bytes
 *           line    way w at words 2w and 2w + 1: tag, state; 14-15 unused
 *           tag     28 bits of the key's hash << 4 | kind of record; 0: nobody's
 *           state   0: empty   1 to 65,536: being made since (Unix seconds & 0xffff) + 1   else: last seen, Unix seconds
 *           record  word 0: the other 32 bits of the key's hash; the kind says what the rest means
 *
 * A key has two candidate groups, one from each part of its hash, so a look-up reads two lines and the record. The key's whole
 * hash stands in the table, so a record finds its groups again in a table of another size.
 *
 * Nothing is locked. Every word that two workers may write is changed by compare-and-swap, and says by itself what it means; no
 * two words must fit together, but for those of a place (`places.ts`). Bounds of what this loses are at `Table`.
 */
export const MAGIC = 0x31544856; // "VHT1"
export const LAYOUT_VERSION = 2;

export const HEAD_WORDS = 16;
export const HEAD_MAGIC = 0;
export const HEAD_VERSION = 1;
export const HEAD_GROUPS = 2;
export const HEAD_USED = 3;
export const HEAD_MADE = 4;
export const HEAD_EVICTED = 5;
export const HEAD_LOST = 6;

export const WAYS = 7;
export const LINE_WORDS = 16;
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
export const KIND_MASK = 15;

const HOUR = 3_600;
const DAY = 24 * HOUR;

/**
 * Seconds after which a record of a kind is thrown out before others that were not seen for longer: nothing that it counts is
 * inside of a window any more. By kind; 0 is no kind.
 */
const IDLE_SECONDS: readonly number[] = [0, DAY, DAY, DAY, 30 * DAY, 30 * DAY, DAY, 30 * DAY, HOUR, DAY, HOUR, DAY];

export function idleSecondsOf(tag: number): number {
  return IDLE_SECONDS[tag & KIND_MASK] ?? 0;
}
