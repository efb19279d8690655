import { BucketCounts } from '../../kernel/bucket-counts.ts';

/** Choice: the last changes whose lag counts. */
const SAMPLES_MAX = 1_024;
const SECONDS_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/** Time from the append of a change, on the store's clock, to its application on this node. */
export class LagMeter {
  readonly #samples = new Float64Array(SAMPLES_MAX);
  #count = 0;
  readonly seconds = new BucketCounts(SECONDS_BOUNDS);
  /** The worst since it was last taken. */
  #worstMs = 0;

  add(lagMs: number): void {
    const bounded = Math.max(0, lagMs);
    this.#samples[this.#count++ % SAMPLES_MAX] = bounded;
    this.seconds.add(bounded / 1000);
    this.#worstMs = Math.max(this.#worstMs, bounded);
  }

  /** Returns the worst lag since the last call, ms. */
  drainWorst(): number {
    const worst = this.#worstMs;
    this.#worstMs = 0;
    return worst;
  }

  /** Returns a quantile of the last 1,024 changes, ms; 0 without any. */
  quantile(part: number): number {
    const sorted = this.#samples.slice(0, Math.min(this.#count, SAMPLES_MAX)).sort();
    return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
  }
}
