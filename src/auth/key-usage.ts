import { BoundedCache } from '../kernel/bounded-cache.ts';

const HOUR_SECONDS = 3_600;
const HOURS = 24;
/** Choice: twice this many keys are kept; 0.3 KB for each, and 0.2 KB for each problem code of its refusals. */
const KEYS_KEPT = 4_096;
/** Choice: verified requests are refused with fewer codes. */
const CODES_MAX = 32;

/** As `KeyUse` of the port; this room does not import it. */
interface KeyUse {
  /** Accepted calls of the last 24 hours. */
  readonly calls: number;
  /** Refused calls of the last 24 hours, by problem code. */
  readonly refusals: ReadonlyMap<string, number>;
  /** The last accepted call, Unix seconds; null without one. */
  readonly lastUsedSeconds: number | null;
  /** Counted from then on, Unix seconds. */
  readonly sinceSeconds: number;
}

/** Calls by hour. */
class HourCounts {
  readonly #counts = new Uint32Array(HOURS);
  #hour = 0;

  add(hour: number): void {
    this.#turnTo(hour);
    const at = hour % HOURS;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  sum(hour: number): number {
    this.#turnTo(hour);
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** Empties the hours that came since the last call. A clock that was set back counts on in the hour that it left. */
  #turnTo(hour: number): void {
    if (hour <= this.#hour) return;
    const passed = Math.min(HOURS, hour - this.#hour);
    for (let n = 0; n < passed; n++) this.#counts[(hour - n) % HOURS] = 0;
    this.#hour = hour;
  }
}

interface Used {
  readonly calls: HourCounts;
  readonly refusals: Map<string, HourCounts>;
  lastUsedSeconds: number | null;
}

/**
 * How often each key was used in the last 24 hours, in memory only: a restart begins at zero. Only requests whose key was verified
 * count, so nobody can make up keys. Hours are whole ones: between 23 and 24 hours are counted.
 */
export class KeyUsage {
  readonly #startedSeconds: number;
  readonly #used = new BoundedCache<number, Used>(KEYS_KEPT);

  constructor(startedSeconds: number) {
    this.#startedSeconds = startedSeconds;
  }

  /** On the hot path. */
  accepted(keyNumber: number, nowSeconds: number): void {
    const used = this.#obtain(keyNumber);
    used.calls.add(Math.floor(nowSeconds / HOUR_SECONDS));
    used.lastUsedSeconds = nowSeconds;
  }

  refused(keyNumber: number, code: string, nowSeconds: number): void {
    const { refusals } = this.#obtain(keyNumber);
    let counts = refusals.get(code);
    if (counts === undefined) {
      if (refusals.size >= CODES_MAX) return;
      refusals.set(code, (counts = new HourCounts()));
    }
    counts.add(Math.floor(nowSeconds / HOUR_SECONDS));
  }

  read(keyNumber: number, nowSeconds: number): KeyUse {
    const hour = Math.floor(nowSeconds / HOUR_SECONDS);
    const sinceSeconds = Math.max(this.#startedSeconds, (hour - HOURS + 1) * HOUR_SECONDS);
    const used = this.#used.get(keyNumber);
    const refusals = new Map<string, number>();
    for (const [code, counts] of used?.refusals ?? []) {
      const count = counts.sum(hour);
      if (count > 0) refusals.set(code, count);
    }
    return {
      calls: used?.calls.sum(hour) ?? 0,
      refusals,
      lastUsedSeconds: used?.lastUsedSeconds ?? null,
      sinceSeconds,
    };
  }

  /** Returns the use of each key, in their order. */
  readAll(keyNumbers: readonly number[], nowSeconds: number): Promise<readonly KeyUse[]> {
    return Promise.resolve(keyNumbers.map((number) => this.read(number, nowSeconds)));
  }

  #obtain(keyNumber: number): Used {
    let used = this.#used.get(keyNumber);
    if (used === undefined) {
      used = { calls: new HourCounts(), refusals: new Map(), lastUsedSeconds: null };
      this.#used.set(keyNumber, used);
    }
    return used;
  }
}
