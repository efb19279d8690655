import type { Database, RangeOptions } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { FairEntry, FairQueue } from '../../kernel/fair-queue.ts';
import {
  HELD_REST_MS_MAX,
  MANAGEMENT_PAUSE_MS_MAX,
  MANAGEMENT_SLICE_MS,
  REFUSED_BODY_PAUSE_MS,
  THREAD_REST_MS_MAX,
} from '../../kernel/limits.ts';

/** Load of the decide path, which has priority: `active` while requests arrive, `behind` while some wait for a worker. */
export type DecideLoad = 'idle' | 'active' | 'behind';

/**
 * Pause after a slice, as a multiple of its length. Choice: management gets all of an idle main thread, a tenth while decisions run, and a
 * twentieth while decisions wait for a worker.
 */
const PAUSE_FACTORS: Readonly<Record<DecideLoad, number>> = { idle: 0, active: 9, behind: 19 };
/**
 * Pause after work on a thread that can wait, as a multiple of its length. Choice: an eighth of a processor while decisions run. With a
 * lower priority alone such a thread gets all that the deciding threads do not take at the moment, and they wait until it is switched out.
 * Measured, before signed bodies were hashed in turns: they add 5 to 31 % to the p99 of another customer, with a quarter of a processor
 * 47 % (bench/isolation flood).
 */
const REST_FACTORS: Readonly<Record<DecideLoad, number>> = { idle: 0, active: 7, behind: 9 };
/**
 * Pause after work that holds the main thread in pieces longer than a slice, as a multiple of their length. Choice: they take 0.7 % of its
 * time while decisions run, so that fewer than one decision in a hundred waits for one.
 * Measured: full batches of list entries add 3 % to the p99 of another customer, with a tenth of the pause 55 % (bench/isolation flood).
 */
const HELD_REST_FACTORS: Readonly<Record<DecideLoad, number>> = { idle: 0, active: 140, behind: 140 };
/**
 * Choice: a call that needs further slices keeps the first place of its customer for this many, some 10 ms; then the customer's other calls
 * go first. A full page takes fewer. Calls that advance together hold all of their pages in the young generation at once, and each scavenge
 * copies them.
 */
const SLICES_IN_A_ROW_MAX = 32;
/** A Node.js timer takes no shorter time; shorter pauses are accumulated until they reach it. */
const TIMER_MS_MIN = 1;

/** Who takes turns: customers, source addresses whose requests are not verified yet, and the service itself (null). */
export type TurnLane = CustomerNumber | string | null;

/**
 * Shares the main thread among everything that is not a decision: one slice per turn of the event loop, however many calls are in progress.
 * Customers take turns, and each customer's calls are finished one after the other; work of the service itself counts as one customer.
 * While decisions arrive, each slice is followed by a pause in proportion to its length. So a decision never waits for more than one slice,
 * and management never takes more than its part of the thread.
 */
export class Turns {
  readonly #waiting = new FairQueue<TurnLane, () => void>();
  #decideLoad: () => DecideLoad = () => 'idle';
  #isScheduled = false;
  #beganMs = 0;
  #owedMs = 0;

  /** Sets the load that these turns yield to; none until it is called. */
  giveWayTo(decideLoad: () => DecideLoad): void {
    this.#decideLoad = decideLoad;
  }

  /** Resolves when it is the caller's turn. `isFirst`: before the lane's other calls. */
  next(lane: TurnLane = null, isFirst = false): Promise<void> {
    return new Promise((resolve) => {
      const entry = new FairEntry<TurnLane, () => void>(resolve);
      if (isFirst) this.#waiting.putFirst(lane, entry);
      else this.#waiting.put(lane, entry);
      if (!this.#isScheduled) this.#schedule();
    });
  }

  /** Counts work of this thread outside of slices, which the next pause makes up for. */
  charge(workMs: number): void {
    this.#owedMs += workMs * PAUSE_FACTORS[this.#decideLoad()];
  }

  /**
   * Resolves after the pause that work of this length on another thread owes to the decisions that share the processors with it, or the
   * longer one for `heldMs` of this thread, in pieces longer than a slice.
   */
  rest(workMs: number, heldMs = 0): Promise<void> {
    const load = this.#decideLoad();
    const workRestMs = Math.min(THREAD_REST_MS_MAX, workMs * REST_FACTORS[load]);
    const heldRestMs = Math.min(HELD_REST_MS_MAX, heldMs * HELD_REST_FACTORS[load]);
    const restMs = Math.round(Math.max(workRestMs, heldRestMs));
    return restMs < TIMER_MS_MIN ? Promise.resolve() : new Promise((resolve) => void setTimeout(resolve, restMs));
  }

  /** Resolves after the pause with which a sender of refused bodies is slowed down; null while no decisions arrive. */
  refusalPause(): Promise<void> | null {
    if (this.#decideLoad() === 'idle') return null;
    return new Promise((resolve) => void setTimeout(resolve, REFUSED_BODY_PAUSE_MS));
  }

  /**
   * Both callbacks run in one phase of the event loop, and the code that the first resolves runs between them: so the second can measure
   * the slice.
   */
  #schedule(): void {
    this.#isScheduled = true;
    setImmediate(this.#begin);
    setImmediate(this.#end);
  }

  readonly #begin = (): void => {
    this.#beganMs = performance.now();
    this.#waiting.take()?.();
  };

  readonly #end = (): void => {
    const factor = PAUSE_FACTORS[this.#decideLoad()];
    if (factor === 0) this.#owedMs = 0;
    else this.#owedMs += (performance.now() - this.#beganMs) * factor;
    if (this.#owedMs >= TIMER_MS_MIN) {
      const pauseMs = Math.min(MANAGEMENT_PAUSE_MS_MAX, Math.round(this.#owedMs));
      this.#owedMs = 0;
      // Also if no call waits: calls that arrive meanwhile wait for the rest of the pause.
      setTimeout(this.#goOn, pauseMs);
    } else this.#goOn();
  };

  readonly #goOn = (): void => {
    if (this.#waiting.size > 0) this.#schedule();
    else this.#isScheduled = false;
  };
}

/** The slices of one call; `isOver` shows when the present one has ended. */
export class Slices {
  readonly #turns: Turns;
  readonly #customer: CustomerNumber | null;
  readonly #signal: AbortSignal | null;
  #begun = 0;
  #endMs = 0;

  /** A customer of null is the service itself. With a signal that is aborted, `begin` throws. */
  constructor(turns: Turns, customer: CustomerNumber | null = null, signal: AbortSignal | null = null) {
    this.#turns = turns;
    this.#customer = customer;
    this.#signal = signal;
  }

  async begin(): Promise<void> {
    this.#signal?.throwIfAborted();
    await this.#turns.next(this.#customer, this.#begun++ % SLICES_IN_A_ROW_MAX !== 0);
    this.#endMs = performance.now() + MANAGEMENT_SLICE_MS;
  }

  get isOver(): boolean {
    return performance.now() >= this.#endMs;
  }
}

/** V8 keeps typed arrays of up to this size in its heap. */
const HEAP_VALUE_BYTES_MAX = 64;

/**
 * Visits the rows of a range in order until `visit` returns `end`, in slices. Each slice opens the range again: no read transaction stays
 * open between turns, and rows written meanwhile may or may not be seen. The value is valid until the store's next read, and at the latest
 * until `visit` returns.
 */
export async function walkInSlices(
  table: Database<Buffer, Buffer>,
  range: Pick<RangeOptions, 'start' | 'end' | 'exclusiveStart' | 'reverse'>,
  slices: Slices,
  visit: (key: Buffer, value: Buffer) => 'on' | 'end',
): Promise<void> {
  const [first] = table.getRange({ ...range, limit: 1 });
  if (first === undefined) return;
  const rows = first.value.length > HEAP_VALUE_BYTES_MAX ? rowsInPlace : rowsCopied;
  let from = range;
  for (;;) {
    let last: Buffer | null = null;
    for (const { key, value } of rows(table, from)) {
      if (visit(key, value) === 'end') return;
      if (!slices.isOver) continue;
      last = Buffer.from(key);
      break;
    }
    if (last === null) return;
    from = { ...range, start: last, exclusiveStart: true };
    await slices.begin();
  }
}

type Rows = (table: Database<Buffer, Buffer>, range: RangeOptions) => Iterable<{ key: Buffer; value: Buffer }>;

const rowsCopied: Rows = (table, range) => table.getRange(range);

/**
 * Measured: 0.95 µs for a value of 540 bytes and half the collections, instead of 1.4 µs for a copy outside of V8's heap. For values of 25
 * bytes a copy is faster, 0.4 instead of 0.7 µs.
 */
const rowsInPlace: Rows = function* (table, range) {
  for (const key of table.getKeys(range)) {
    const stored = table.getBinaryFast(key);
    // Removed by another process since the key was read.
    if (stored === undefined) continue;
    // LMDB's buffer is larger than its `length`.
    yield { key, value: Buffer.from(stored.buffer, stored.byteOffset, stored.length) };
  }
};
