import { visitorShare } from '../kernel/capacity-share.ts';
import { FixedWindow } from '../kernel/fixed-window.ts';
import { VisitorCounts } from './visitor-counts.ts';

/** Returned instead of what remains when a request is over its rate. */
export const NONE_LEFT = -1;

/** Counts of the current window: one counter per key, and one per source address of a public key. Source: contract, 3.9. */
export class RateWindow {
  readonly #window = new FixedWindow();
  #perKey = new Uint32Array(64);
  /** Allocated when a public key is first used. */
  #visitors: VisitorCounts | null = null;

  /** Moves to the window of this second and returns its end, Unix seconds. To be called before each request is counted. */
  roll(nowSeconds: number): number {
    if (this.#window.roll(nowSeconds)) {
      this.#perKey.fill(0);
      this.#visitors?.clear();
    }
    return this.#window.endSeconds;
  }

  /** Counts one request of a verified key. Returns how many remain, or `NONE_LEFT`: then nothing was counted. */
  take(keyNumber: number, allowance: number): number {
    const used = this.#perKey[keyNumber] ?? 0;
    if (used >= allowance) return NONE_LEFT;
    if (keyNumber >= this.#perKey.length) this.#grow(keyNumber);
    this.#perKey[keyNumber] = used + 1;
    return allowance - used - 1;
  }

  /**
   * Counts one request of a verified public key against the source's share of the allowance, and against the allowance itself. Returns what
   * remains of the share, so that a client cannot observe the traffic of other sources. The allowance shows only when less than the share
   * is left of it.
   */
  takeVisitor(keyNumber: number, allowance: number, source: string): number {
    const visitors = (this.#visitors ??= new VisitorCounts());
    const share = visitorShare(allowance);
    const used = visitors.find(keyNumber, source);
    if (used >= share) return NONE_LEFT;
    const ofKey = this.take(keyNumber, allowance);
    if (ofKey === NONE_LEFT) return NONE_LEFT;
    visitors.add();
    return Math.min(share - used - 1, ofKey);
  }

  /** Reverts the last `take` or `takeVisitor`, which counted a request of this key. */
  giveBack(keyNumber: number, isVisitor: boolean): void {
    this.#perKey[keyNumber] = Math.max(0, (this.#perKey[keyNumber] ?? 0) - 1);
    if (isVisitor) this.#visitors?.revert();
  }

  #grow(keyNumber: number): void {
    const next = new Uint32Array(2 ** Math.ceil(Math.log2(keyNumber + 2)));
    next.set(this.#perKey);
    this.#perKey = next;
  }
}
