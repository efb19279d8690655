import { VELOCITY_KEEP_SECONDS } from '../kernel/velocity-limits.ts';
import {
  GROUP_WORDS,
  HEAD_EVICTED,
  HEAD_GROUPS,
  HEAD_LOST,
  HEAD_MADE,
  HEAD_REFUSED,
  HEAD_USED,
  HEAD_WORDS,
  KIND_POPULATION,
  LINE_WORDS,
  RECORD_WORDS,
  SEEN_MIN,
  WAYS,
} from './layout.ts';
import type { VelocityMemory } from './memory.ts';
import { REFUSED, Shares } from './shares.ts';
import { AGE_OVER, ageOf, claimOf, isLeft, isLiving } from './state.ts';

/** Choice: about 20 µs, more than creating a record takes unless its worker is interrupted. */
const SPINS_MAX = 2_000;
/**
 * Choice: all workers use one clock, so their times differ only by the queueing time of a batch. If a state is further ahead than this, the
 * clock was set back, and the state is set to the new time.
 */
const BACK_SECONDS_MAX = 5;
const TAKES_MAX = 8;
const LINE_END = WAYS * 2;

/**
 * Finds and creates records. One instance for each thread, over the same memory.
 *
 * When two workers create the same record at the same time, each claims a slot, publishes its tag there and checks whether the other did
 * the same. A worker that finds a finished record, or one being created in a lower slot, releases its own slot. It checks the lower slots
 * again when its own record is finished, because other workers stop waiting for it after about 20 µs.
 *
 * Losses, per record and only in these cases: the events of workers that wait longer than that for an interrupted creator, which `lost` in
 * the statistics counts; and an event or two when a worker uses a record at the moment when another evicts it, or first touches it after an
 * idle time longer than its windows. A slot whose worker died can be taken by others after 10 s.
 */
export class Table {
  readonly words: Uint32Array;
  /** Whether the last `take` created the record. */
  isNew = false;
  /** Seconds between the last `find` or `take` and the previous use of its record; negative if the clock stepped back. */
  restSeconds = 0;
  /** Owner of the records created next (`shares.ts`). */
  owner = 0;
  /**
   * Leaves out records that were seen after the event, by more than clocks may differ: for events that arrive late. Their structures remove
   * what lies in the future of the present event.
   */
  skipsNewer = false;
  /** Whether a record that is seen again is kept longer (`shares.ts`): not when only a failure of its subject is reported. */
  keepsSeen = true;
  /** Records left out since the table was opened. */
  skipped = 0;
  #isNewer = false;
  readonly #groups: number;
  readonly #shares: Shares;

  readonly #source: Table | null;
  /** Tag, state and words of a record that is copied from the source. */
  readonly #copied: Uint32Array;

  /**
   * With a `source`, records that this table lacks are copied from it when they are looked up. The source is only read, without marking
   * anything as seen; of a record that changes meanwhile, each word is copied as it is at that moment.
   */
  constructor({ words }: VelocityMemory, source: Table | null = null) {
    this.#source = source;
    this.#copied = new Uint32Array(source === null ? 0 : 2 + RECORD_WORDS);
    this.words = new Uint32Array(words);
    this.#groups = this.words[HEAD_GROUPS] ?? 0;
    this.#shares = new Shares(this.words, this.#groups * WAYS);
  }

  /** Returns the index of the record's first word and marks it as seen now; 0 if there is none. */
  find(low: number, high: number, kind: number, nowSeconds: number): number {
    const tag = tagOf(high, kind);
    const record = this.#look(this.#groupOfLow(low), tag, low >>> 0, nowSeconds);
    if (record !== 0) return record;
    const other = this.#look(this.#groupOfHigh(high), tag, low >>> 0, nowSeconds);
    if (other !== 0 || this.#source === null || !this.#copy(this.#source, low, high, kind, nowSeconds)) return other;
    return this.find(low, high, kind, nowSeconds);
  }

  /** Returns the index of the record's first word without marking it as seen; 0 if there is none. Sets `restSeconds`. */
  peek(low: number, high: number, kind: number, nowSeconds: number): number {
    const words = this.words;
    const tag = tagOf(high, kind);
    for (const line of [this.#groupOfLow(low), this.#groupOfHigh(high)]) {
      for (let way = 0; way < LINE_END; way += 2) {
        const record = recordOf(line, way);
        if (words[line + way] !== tag || words[record] !== low >>> 0) continue;
        const seen = words[line + way + 1] ?? 0;
        this.restSeconds = nowSeconds - seen;
        if (seen >= SEEN_MIN && this.restSeconds <= VELOCITY_KEEP_SECONDS) return record;
      }
    }
    return 0;
  }

  /**
   * Returns the index of the record's first word, creating the record if needed; 0 when it is unavailable: the event is then not counted in
   * it.
   */
  take(low: number, high: number, kind: number, nowSeconds: number): number {
    for (let n = 0; n < TAKES_MAX; n++) {
      this.#isNewer = false;
      const found = this.find(low, high, kind, nowSeconds);
      if (found !== 0) {
        this.isNew = false;
        return found;
      }
      if (this.#isNewer) return 0;
      const made = this.#make(low >>> 0, high, kind, nowSeconds);
      if (made === REFUSED) {
        Atomics.add(this.words, HEAD_REFUSED, 1);
        return 0;
      }
      if (made !== 0) {
        this.isNew = true;
        this.restSeconds = 0;
        return made;
      }
    }
    this.lose();
    return 0;
  }

  /** Returns the number of records of a key, of all kinds. */
  count(low: number, high: number): number {
    const words = this.words;
    let found = 0;
    for (const line of [this.#groupOfLow(low), this.#groupOfHigh(high)]) {
      for (let way = 0; way < LINE_END; way += 2) {
        if ((words[line + way] ?? 0) >>> 4 === (high & 0xfffffff) && words[recordOf(line, way)] === low >>> 0) found++;
      }
    }
    return found;
  }

  /** Removes the records of a key, of all kinds, with their content. Returns their number. */
  forget(low: number, high: number): number {
    const words = this.words;
    let forgotten = 0;
    for (const line of [this.#groupOfLow(low), this.#groupOfHigh(high)]) {
      for (let way = 0; way < LINE_END; way += 2) {
        const at = line + way;
        const record = recordOf(line, way);
        if ((words[at] ?? 0) >>> 4 !== (high & 0xfffffff) || words[record] !== low >>> 0) continue;
        // A worker that sees the record meanwhile changes its state.
        for (let state = words[at + 1] ?? 0; state >= SEEN_MIN; state = Atomics.load(words, at + 1)) {
          this.#giveBack(at, state);
        }
        words.fill(0, record, record + RECORD_WORDS);
        forgotten++;
      }
    }
    return forgotten;
  }

  /** Keeps a record longer than those that were seen once. */
  keep(record: number): void {
    const inGroup = (record - HEAD_WORDS) % GROUP_WORDS;
    this.#shares.keep(record - inGroup, (2 * (inGroup - LINE_WORDS)) / RECORD_WORDS);
  }

  /** Counts an event that a record could not store. */
  lose(): void {
    Atomics.add(this.words, HEAD_LOST, 1);
  }

  /**
   * Puts back a record of `source` with its tag at `at`, for its `owner`. Nothing else may use the table meanwhile. Returns the state
   * previously in the slot; -1 if all slots hold records that are kept longer, were seen later, or belong to other owners' shares.
   */
  putBack(
    source: Uint32Array,
    at: number,
    seen: number,
    { owner, isKept }: { readonly owner: number; readonly isKept: boolean },
    nowSeconds: number,
  ): number {
    const words = this.words;
    const tag = source[at] ?? 0;
    const one = this.#groupOfLow(source[at + 2] ?? 0);
    const other = this.#groupOfHigh(tag >>> 4);
    const to = this.#place(one, other, owner, nowSeconds);
    if (to < 0) return -1;
    const line = to - wayOf(to);
    const old = words[to + 1] ?? 0;
    const age = ageOf(words[to] ?? 0, old, nowSeconds);
    const isOthers = old !== 0 && age < AGE_OVER && this.#shares.ownerAt(line, wayOf(to)) !== owner;
    const isOldKept = old !== 0 && age < AGE_OVER && this.#shares.isKept(line, wayOf(to));
    const isOlder = isOldKept === isKept ? age <= ageOf(tag, seen, nowSeconds) : isOldKept;
    if (!isOthers && old !== 0 && age < AGE_OVER && isOlder) return -1;
    if (old !== 0) this.#shares.disown(line, wayOf(to));
    this.#shares.own(line, wayOf(to), owner);
    if (isKept) this.#shares.keep(line, wayOf(to));
    words[to] = tag;
    words[to + 1] = seen;
    const record = recordAt(to);
    for (let i = 0; i < RECORD_WORDS; i++) words[record + i] = source[at + 2 + i] ?? 0;
    return old;
  }

  /** Resets the counts of all owners, for an empty table. */
  clearShares(): void {
    this.#shares.clear();
  }

  /** Returns whether the source has the record. */
  #copy(source: Table, low: number, high: number, kind: number, nowSeconds: number): boolean {
    const record = source.peek(low, high, kind, nowSeconds);
    if (record === 0) return false;
    const copied = this.#copied;
    copied[0] = tagOf(high, kind);
    for (let i = 0; i < RECORD_WORDS; i++) copied[2 + i] = source.words[record + i] ?? 0;
    const seen = nowSeconds - source.restSeconds;
    const isBack = this.putBack(copied, 0, seen, { owner: this.owner, isKept: true }, nowSeconds) >= 0;
    return isBack && this.peek(low, high, kind, nowSeconds) !== 0;
  }

  #groupOfLow(low: number): number {
    return HEAD_WORDS + Math.floor((low >>> 0) * this.#groups * 2 ** -32) * GROUP_WORDS;
  }

  #groupOfHigh(high: number): number {
    return HEAD_WORDS + Math.floor((high & 0xfffffff) * this.#groups * 2 ** -28) * GROUP_WORDS;
  }

  #look(line: number, tag: number, low: number, nowSeconds: number): number {
    const words = this.words;
    for (let way = 0; way < LINE_END; way += 2) {
      if (words[line + way] !== tag) continue;
      const record = recordOf(line, way);
      if (words[record] === low && this.#touch(line, way, tag, nowSeconds)) return record;
    }
    return 0;
  }

  /** Marks the record as seen, so that it is not evicted while in use. Returns false if it is not there, or not yet. */
  #touch(line: number, way: number, tag: number, nowSeconds: number): boolean {
    const words = this.words;
    const at = line + way;
    let seen = words[at + 1] ?? 0;
    if (seen < SEEN_MIN) seen = this.#await(at, tag, nowSeconds);
    const rest = nowSeconds - seen;
    if (seen < SEEN_MIN || rest > VELOCITY_KEEP_SECONDS) return false;
    this.restSeconds = rest;
    if (rest <= 0 && rest >= -BACK_SECONDS_MAX) return true;
    if (rest < 0 && this.skipsNewer) {
      this.skipped++;
      this.#isNewer = true;
      return false;
    }
    const was = Atomics.compareExchange(words, at + 1, seen, nowSeconds);
    if (this.keepsSeen) this.#shares.keep(line, way);
    return was === seen || (was >= SEEN_MIN && Atomics.load(words, at) === tag);
  }

  /**
   * Waits for the worker that creates the record. Returns the slot's state, a time if the record is ready. Does not wait for a worker that
   * died.
   */
  #await(at: number, tag: number, nowSeconds: number): number {
    const words = this.words;
    for (let n = 0; n < SPINS_MAX; n++) {
      const state = Atomics.load(words, at + 1);
      if (state >= SEEN_MIN || isLeft(state, nowSeconds) || Atomics.load(words, at) !== tag) return state;
    }
    return 0;
  }

  /** Returns 0 if another worker was faster, or created the same record; REFUSED if the owner's share is used up. */
  #make(low: number, high: number, kind: number, nowSeconds: number): number {
    const words = this.words;
    const tag = tagOf(high, kind);
    const one = this.#groupOfLow(low);
    const other = this.#groupOfHigh(high);
    const at = this.#place(one, other, this.owner, nowSeconds);
    if (at < 0) return at === REFUSED ? REFUSED : 0;
    const old = words[at + 1] ?? 0;
    const claim = claimOf(nowSeconds);
    const isOthers = old !== 0 && old < SEEN_MIN && !isLeft(old, nowSeconds);
    if (isOthers || Atomics.compareExchange(words, at + 1, old, claim) !== old) return 0;
    const oldTag = Atomics.exchange(words, at, 0);
    const line = at - wayOf(at);
    if (old !== 0) this.#shares.disown(line, wayOf(at));
    this.#shares.own(line, wayOf(at), this.owner);
    // A customer's own records: some of them are used once a day.
    if (kind === KIND_POPULATION) this.#shares.keep(line, wayOf(at));
    const record = recordAt(at);
    for (let i = record + RECORD_WORDS - 1; i > record; i--) words[i] = 0;
    words[record] = low;
    Atomics.store(words, at, tag);
    if (old === 0) Atomics.add(words, HEAD_USED, 1);
    const isDouble = this.#isMade(one, at, tag, low, nowSeconds) || this.#isMade(other, at, tag, low, nowSeconds);
    if (isDouble) {
      this.#giveBack(at, claim);
      return 0;
    }
    if (Atomics.compareExchange(words, at + 1, claim, nowSeconds) !== claim) return 0;
    // This thread may have been interrupted since the check, for longer than another worker waits.
    if (this.#isLower(one, at, tag, low, nowSeconds) || this.#isLower(other, at, tag, low, nowSeconds)) {
      this.#giveBack(at, nowSeconds);
      return 0;
    }
    Atomics.add(words, HEAD_MADE, 1);
    if (isLiving(oldTag, old, nowSeconds)) Atomics.add(words, HEAD_EVICTED, 1);
    return record;
  }

  /**
   * Finds the slot for a new record: an empty one in the group that has more of them, else one whose record no longer counts, else one that
   * `shares.ts` chooses. Returns the index of its tag; -1 if records are being created in all slots, or REFUSED.
   */
  #place(one: number, other: number, owner: number, nowSeconds: number): number {
    const words = this.words;
    let best = -1;
    let bestAge = -1;
    let empties = 0;
    for (let n = 0; n < 2; n++) {
      const line = n === 0 ? one : other;
      let found = 0;
      for (let way = 0; way < LINE_END; way += 2) {
        const state = words[line + way + 1] ?? 0;
        const age = ageOf(words[line + way] ?? 0, state, nowSeconds);
        if (state === 0) found++;
        if (age < bestAge || (age === bestAge && (state !== 0 || found <= empties))) continue;
        best = line + way;
        bestAge = age;
      }
      empties = found;
    }
    return bestAge < AGE_OVER && best >= 0 ? this.#shares.choose(one, other, owner) : best;
  }

  #giveBack(at: number, state: number): void {
    Atomics.store(this.words, at, 0);
    if (Atomics.compareExchange(this.words, at + 1, state, 0) !== state) return;
    Atomics.sub(this.words, HEAD_USED, 1);
    this.#shares.disown(at - wayOf(at), wayOf(at));
  }

  /** Returns whether a lower slot of the group holds the same record, or will. */
  #isLower(line: number, mine: number, tag: number, low: number, nowSeconds: number): boolean {
    const words = this.words;
    const end = Math.min(LINE_END, mine - line);
    for (let way = 0; way < end; way += 2) {
      if (Atomics.load(words, line + way) !== tag || words[recordOf(line, way)] !== low) continue;
      const state = Atomics.load(words, line + way + 1);
      const isComing = state < SEEN_MIN && state !== 0 && !isLeft(state, nowSeconds);
      if (isComing || (state >= SEEN_MIN && nowSeconds - state <= VELOCITY_KEEP_SECONDS)) return true;
    }
    return false;
  }

  /** Returns whether another slot of the group holds the same record, or will. */
  #isMade(line: number, mine: number, tag: number, low: number, nowSeconds: number): boolean {
    const words = this.words;
    for (let way = 0; way < LINE_END; way += 2) {
      const at = line + way;
      if (at === mine || Atomics.load(words, at) !== tag || words[recordOf(line, way)] !== low) continue;
      let state = Atomics.load(words, at + 1);
      if (state < SEEN_MIN) {
        if (isLeft(state, nowSeconds)) continue;
        // The worker with the lower slot wins, whichever was first: both see each other, or one is done before the other checks.
        if (at < mine) return true;
        state = this.#await(at, tag, nowSeconds);
      }
      if (state >= SEEN_MIN && nowSeconds - state <= VELOCITY_KEEP_SECONDS) return Atomics.load(words, at) === tag;
    }
    return false;
  }
}

/** Tags are unsigned, like states and words of records. */
function tagOf(high: number, kind: number): number {
  return ((high << 4) | kind) >>> 0;
}

function recordOf(line: number, way: number): number {
  return line + LINE_WORDS + (way >> 1) * RECORD_WORDS;
}

function recordAt(at: number): number {
  const way = wayOf(at);
  return recordOf(at - way, way);
}

/** Returns the number of words between the start of the line and the tag. */
function wayOf(at: number): number {
  return (at - HEAD_WORDS) % GROUP_WORDS;
}
