import type { Database, RangeOptions } from 'lmdb';
import { MANAGEMENT_PAUSE_MS_MAX, MANAGEMENT_SLICE_MS } from '../limits.ts';

/** How busy the decide path is, which goes first: `active` while requests arrive, `behind` while some wait for a worker. */
export type DecideLoad = 'idle' | 'active' | 'behind';

/**
 * Pause after a slice, as a multiple of its length. Choice: management has all of an idle main thread, a tenth beside decisions, and a
 * twentieth while those wait for a worker.
 */
const PAUSE_FACTORS: Readonly<Record<DecideLoad, number>> = { idle: 0, active: 9, behind: 19 };
/** A timer of Node.js takes no shorter time; shorter pauses add up until they are worth one. */
const TIMER_MS_MIN = 1;

/**
 * Shares the main thread among everything that is not a decision: one slice in a turn of the event loop, however many calls are in
 * work, and after each slice a pause in proportion to the time it took while decisions arrive. So a decision never waits for more
 * than one slice, and management never takes more than its part of the thread.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #decideLoad: () => DecideLoad = () => 'idle';
  #isScheduled = false;
  #beganMs = 0;
  #owedMs = 0;

  /** What these turns give way to; nothing until it is called. */
  giveWayTo(decideLoad: () => DecideLoad): void {
    this.#decideLoad = decideLoad;
  }

  /** Resolves when it is the caller's turn. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isScheduled) this.#schedule();
    });
  }

  /**
   * Both callbacks run in one phase of the event loop, and what the first resolves runs between them: so the second sees how long the
   * slice took.
   */
  #schedule(): void {
    this.#isScheduled = true;
    setImmediate(this.#begin);
    setImmediate(this.#end);
  }

  readonly #begin = (): void => {
    this.#beganMs = performance.now();
    this.#waiting.shift()?.();
  };

  readonly #end = (): void => {
    const factor = PAUSE_FACTORS[this.#decideLoad()];
    if (factor === 0) this.#owedMs = 0;
    else this.#owedMs += (performance.now() - this.#beganMs) * factor;
    if (this.#owedMs >= TIMER_MS_MIN) {
      const pauseMs = Math.min(MANAGEMENT_PAUSE_MS_MAX, Math.round(this.#owedMs));
      this.#owedMs = 0;
      // Also where nobody waits: who comes meanwhile waits for the rest of it.
      setTimeout(this.#goOn, pauseMs);
    } else this.#goOn();
  };

  readonly #goOn = (): void => {
    if (this.#waiting.length > 0) this.#schedule();
    else this.#isScheduled = false;
  };
}

/** The slices of one call: says when the present one is over. */
export class Slices {
  readonly #turns: Turns;
  #endMs = 0;

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  async begin(): Promise<void> {
    await this.#turns.next();
    this.#endMs = performance.now() + MANAGEMENT_SLICE_MS;
  }

  get isOver(): boolean {
    return performance.now() >= this.#endMs;
  }
}

/**
 * Visits the rows of a range in their order until `visit` says `end`, in slices. The range is opened again in each slice: no reading
 * of the store stays open between turns, and what is written meanwhile is seen or not. Key and value are good until `visit` returns.
 */
export async function walkInSlices(
  table: Database<Buffer, Buffer>,
  range: Pick<RangeOptions, 'start' | 'end' | 'exclusiveStart' | 'reverse'>,
  slices: Slices,
  visit: (key: Buffer, value: Buffer) => 'on' | 'end',
): Promise<void> {
  let from = range;
  for (;;) {
    let last: Buffer | null = null;
    for (const { key, value } of table.getRange(from)) {
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
