import { randomBytes } from 'node:crypto';
import { setImmediate, setTimeout as pause } from 'node:timers/promises';
import { Applier, type Unapplied } from '../../velocity/applier.ts';
import { SenderWindows } from '../../velocity/sender-windows.ts';
import type { VelocityMemory } from '../../velocity/memory.ts';
import { idOfWord, StreamMarks, wordOfId } from '../../velocity/stream-marks.ts';
import type { EncryptedValues } from '../store/encrypted-values.ts';
import { type Link, LINK_DEADLINE_MS, type Sent } from '../store/link.ts';
import { velocityKey } from '../store/store-keys.ts';
import { ENTRY_HEAD_BYTES, type EntryHead, EntryNumbers, readEntryHead, withHead } from './entry-head.ts';
import { decodeItems, EventEncoder, type SharedItem } from './event-codec.ts';
import { ForeignEvents } from './foreign-events.ts';
import { OUTBOX_BYTES_MAX, type Outgoing, StreamOutbox } from './outbox.ts';
import { ID_AHEAD_MS_MAX, exchange, type Exchanged, type VelocityStreamEntry } from './stream-functions.ts';

/**
 * Entries of a stream that one decision reads. Choice: 32 batches of 16 events take some 3 ms to apply; with three nodes a decision usually
 * finds two.
 */
export const ENTRIES_PER_DECISION_MAX = 32;
/** Choice: a reader in the background may wait longer than a decision. */
const READ_DEADLINE_MS = 1_000;
/** Choice: others apply what one round trip brings within a turn or two, unless the system has stopped their thread. */
const APPLY_TURNS = 3;
const APPLY_PAUSE_MS = 1;
/** Choice: how soon after an outage other nodes get what waited, if no decision takes it along. */
const RETRY_MS = 100;
/**
 * Choice: older entries are refused. Streams reach back 5 minutes (`STREAM_AGE_MS`), items wait for the store during an outage, and clocks
 * of nodes differ. What is written again can be applied once more within this time only, by a node that has started since.
 */
export const ENTRY_AGE_MS = 900_000;
/** Choice: what waited for longer would be too old when others read it. */
const WAIT_MS_MAX = ENTRY_AGE_MS - 60_000;

/** State that all exchanges of this node share. */
export interface ExchangeOptions {
  readonly memory: VelocityMemory;
  readonly values: EncryptedValues;
  readonly link: Link;
}

/**
 * Exchanges events with the other nodes: one per thread, over the thread's link. Sends this thread's items and applies what others sent
 * before them, in one round trip.
 *
 * Exactly once: a stream's mark moves from entry to entry by compare-and-swap in memory that all threads share, and the thread that moves
 * it applies the entry. Threads that read the same entries at the same time share the work; a decision then waits until the others have
 * applied their part. A thread that dies in between loses at most the one entry that it was about to apply. Entries of this life are left
 * out by the store. An entry that is in the stream a second time is recognised by its sender's number (`SenderWindows`), and by its age.
 *
 * Never rejects, and never throws.
 */
export class VelocityExchange {
  readonly #link: Link;
  readonly #values: EncryptedValues;
  readonly #marks: StreamMarks;
  readonly #applier: Applier;
  readonly #foreign: ForeignEvents;
  readonly #encoder = new EventEncoder();
  readonly #windows: SenderWindows;
  readonly #life: bigint;
  readonly #lifeText: string;
  readonly #sender: string;
  readonly #numbers = new EntryNumbers();
  readonly #outboxes = new Map<number, StreamOutbox>();
  /** Positions that were found to be gone, by stream. */
  readonly #gone = new Map<number, string>();
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor({ memory, values, link }: ExchangeOptions) {
    this.#link = link;
    this.#values = values;
    this.#marks = new StreamMarks(memory.marks);
    this.#applier = new Applier(memory.appliers);
    this.#foreign = new ForeignEvents(memory);
    this.#windows = new SenderWindows(memory.marks);
    this.#life = this.#marks.life;
    this.#lifeText = this.#life.toString(16);
    this.#sender = `${this.#lifeText}-${randomBytes(6).toString('hex')}`;
  }

  get isUp(): boolean {
    return this.#link.isUp;
  }

  /** Queues items for a stream. This node's table must contain them when the exchange ends, or soon after. */
  put(stream: number, items: readonly SharedItem[]): void {
    // Encrypted once, however often it is sent.
    const writtenMs = Date.now();
    const head = { life: this.#life, ...this.#numbers.next(stream), writtenMs };
    const sealed = this.#values.encrypt(velocityKey(stream), withHead(head, this.#encoder.encode(items)));
    this.#outboxOf(stream).add(sealed, items.length, writtenMs);
    this.#waitingBytes += sealed.length;
    this.#marks.add('waiting', items.length);
    while (this.#waitingBytes > OUTBOX_BYTES_MAX && this.#drop());
  }

  /** Sends what waits for these streams and applies what comes. True if this thread now knows everything before its own items. */
  async run(streams: Iterable<number>): Promise<boolean> {
    const trips: Trip[] = [];
    for (const stream of streams) this.#plan(stream, ENTRIES_PER_DECISION_MAX, trips);
    const { isComplete } = await this.#travel(trips);
    if (!isComplete) return false;
    const unapplied = this.#applier.unapplied(trips);
    return unapplied.length === 0 || this.#untilApplied(unapplied);
  }

  /** Waits for other threads. Returns false if one takes longer than a decision may wait for the store. */
  async #untilApplied(unapplied: readonly Unapplied[]): Promise<boolean> {
    const endMs = performance.now() + LINK_DEADLINE_MS;
    for (let turn = 1; unapplied.some((one) => this.#applier.isWaiting(one)); turn++) {
      if (performance.now() > endMs) return false;
      if (turn <= APPLY_TURNS) await setImmediate();
      else await pause(APPLY_PAUSE_MS);
    }
    return true;
  }

  /** Reads these streams without sending. Returns those that have more entries; null if the store did not answer for all. */
  async read(streams: Iterable<number>, entriesMax: number): Promise<readonly number[] | null> {
    const trips: Trip[] = [];
    for (const stream of streams) trips.push({ stream, one: null, after: this.#after(stream), entriesMax });
    const { more, isAnswered } = await this.#travel(trips, READ_DEADLINE_MS);
    return isAnswered ? more : null;
  }

  /** Sends later what waits, if no exchange takes it along before. */
  retryLater(): void {
    if (this.#timer !== null || this.#isClosed || this.#waitingBytes === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.flush().then(() => this.retryLater());
    }, RETRY_MS).unref();
  }

  /** Sends what waits for these streams, and reads nothing. */
  async send(streams: Iterable<number>): Promise<void> {
    const trips: Trip[] = [];
    for (const stream of streams) this.#plan(stream, null, trips);
    await this.#travel(trips);
  }

  /** Sends what waits, as much as one round trip takes along. */
  async flush(): Promise<void> {
    const trips: Trip[] = [];
    if (this.#link.isUp) for (const [stream, { size }] of this.#outboxes) if (size > 0) this.#plan(stream, null, trips);
    await this.#travel(trips);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #outboxOf(stream: number): StreamOutbox {
    const found = this.#outboxes.get(stream);
    if (found !== undefined) return found;
    const made = new StreamOutbox();
    this.#outboxes.set(stream, made);
    return made;
  }

  /**
   * Drops a position that is too far ahead, from a snapshot or a wrong clock: the stream has been started again. `SenderWindows` recognises
   * entries that were read before.
   */
  #after(stream: number): string {
    const mark = this.#marks.read(stream);
    const after = idOfWord(mark);
    if (isPlausible(after)) return after;
    this.#marks.giveUp(stream, mark);
    return idOfWord(0n);
  }

  /** Only the last command of a stream reads: everything before it is then in the stream. */
  #plan(stream: number, entriesMax: number | null, trips: Trip[]): void {
    const outbox = this.#outboxOf(stream);
    const fromMs = Date.now() - WAIT_MS_MAX;
    for (let old = outbox.dropBefore(fromMs); old !== null; old = outbox.dropBefore(fromMs)) this.#lose(old);
    const taken = outbox.nextEntries();
    const last = taken.length - 1;
    for (const [at, one] of taken.entries()) {
      const reads = entriesMax !== null && at === last;
      trips.push({ stream, one, after: reads ? this.#after(stream) : null, entriesMax: entriesMax ?? 0 });
    }
    if (taken.length === 0 && entriesMax !== null)
      trips.push({ stream, one: null, after: this.#after(stream), entriesMax });
  }

  async #travel(trips: readonly Trip[], deadlineMs = LINK_DEADLINE_MS): Promise<Travelled> {
    if (trips.length === 0) return { isComplete: true, isAnswered: true, more: [] };
    const results = await exchange(
      this.#link,
      trips.map(({ stream, one, after, entriesMax }) => ({
        stream,
        life: this.#lifeText,
        sender: this.#sender,
        after,
        entriesMax,
        append: one === null ? null : { number: one.number, sealed: this.#count(one) },
      })),
      deadlineMs,
    );
    const travelled = { isComplete: true, isAnswered: true, more: [] as number[] };
    for (const [at, trip] of trips.entries()) this.#arrive(trip, results[at], travelled);
    this.retryLater();
    return travelled;
  }

  #count({ sealed }: Outgoing): Buffer {
    this.#marks.add('entriesSent', 1);
    this.#marks.add('bytesSent', sealed.length);
    return sealed;
  }

  #arrive({ stream, one, after }: Trip, result: Exchanged | Sent | undefined, travelled: Travelled): void {
    if (result === undefined || 'kind' in result) {
      if (one !== null) this.#outboxOf(stream).back(one);
      travelled.isComplete = false;
      travelled.isAnswered = false;
      return;
    }
    const { appended, isGap, isMore, upTo, entries } = result;
    if (isGap && after !== null) this.#gap(stream, after);
    this.#receiveAll(stream, entries);
    if (after !== null && isPlausible(upTo)) this.#marks.claim(stream, wordOfId(upTo));
    if (isMore) {
      travelled.isComplete = false;
      travelled.more.push(stream);
    }
    if (one !== null) this.#sent(stream, one, appended, after !== null && !isMore);
  }

  /** `isNext`: everything between the mark and the appended entry has been read. */
  #sent(stream: number, one: Outgoing, appended: string, isNext: boolean): void {
    this.#outboxOf(stream).done(one);
    this.#forget(one);
    if (appended === 'used' || !isPlausible(appended)) return;
    const id = wordOfId(appended);
    this.#marks.own(stream, id);
    if (isNext) this.#marks.claim(stream, id);
  }

  #receiveAll(stream: number, entries: readonly VelocityStreamEntry[]): void {
    if (entries.length === 0) return;
    this.#applier.begin(stream);
    try {
      for (const entry of entries) this.#receive(stream, entry);
    } finally {
      this.#applier.end();
    }
  }

  #receive(stream: number, { id, sealed }: VelocityStreamEntry): void {
    if (!isPlausible(id)) return this.#marks.add('repeated', 1);
    const word = wordOfId(id);
    if (!this.#marks.claim(stream, word)) return;
    const payload = this.#values.decrypt(velocityKey(stream), sealed);
    const head = payload === null ? null : readEntryHead(payload);
    if (payload === null || head === null) return this.#unreadable();
    if (this.#marks.contains(stream, head.life, word)) return;
    if (Math.abs(Date.now() - head.writtenMs) > ENTRY_AGE_MS && head.life !== this.#life)
      return this.#marks.add('tooOld', 1);
    if (this.#isRepeated(stream, head)) return this.#marks.add('repeated', 1);
    const items = decodeItems(payload.subarray(ENTRY_HEAD_BYTES));
    if (items === null) this.#unreadable();
    else this.#foreign.apply(stream, items);
  }

  #unreadable(): void {
    this.#marks.add('unreadable', 1);
    this.#marks.happens('foundUnreadable');
  }

  #isRepeated(stream: number, { life, sender, serial }: EntryHead): boolean {
    if (life === this.#life) return true;
    const name = BigInt.asUintN(64, life ^ (BigInt(sender) << 16n)) | 1n;
    return !this.#windows.take(stream, name, serial);
  }

  /** Counts a gap once, however often the stream is read before its next entry. */
  #gap(stream: number, after: string): void {
    if (this.#gone.get(stream) === after) return;
    this.#gone.set(stream, after);
    this.#marks.add('gaps', 1);
    this.#marks.happens('foundGap');
  }

  #forget({ sealed, items }: Outgoing): void {
    this.#waitingBytes -= sealed.length;
    this.#marks.add('waiting', -items);
  }

  #lose(one: Outgoing): void {
    this.#forget(one);
    this.#marks.add('dropped', one.items);
  }

  #drop(): boolean {
    for (const outbox of this.#outboxes.values()) {
      const dropped = outbox.dropOldest();
      if (dropped === null) continue;
      this.#lose(dropped);
      return true;
    }
    return false;
  }
}

/** One command: an entry to append, a position to read after, or both. */
interface Trip {
  readonly stream: number;
  readonly one: Outgoing | null;
  readonly after: string | null;
  readonly entriesMax: number;
}

interface Travelled {
  isComplete: boolean;
  isAnswered: boolean;
  more: number[];
}

function isPlausible(id: string): boolean {
  return Number(id.slice(0, id.indexOf('-'))) < Date.now() + ID_AHEAD_MS_MAX;
}
