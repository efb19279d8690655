import { signal } from '@preact/signals';
import type { ReviewVerdict } from '../../../../contract/vocabulary.ts';
import type { ShadowReviewRow } from '../../../../contract/wire-types.ts';
import { type ApiFault, send, toFault, v1 } from '../../api.ts';

/**
 * Verdicts of this sitting. Each is sent after 10 s, because the service has no way to take one back: `fraud` is a label that feeds the
 * shared registry. Leaving the page sends all that wait.
 */

/** Source: touch, keys of the page of reviews. */
export const UNDO_MS = 10_000;

/** A verdict, or the end of a row without one. */
export type ReviewEnd = ReviewVerdict | 'closed';

export interface EnteredVerdict {
  readonly row: ShadowReviewRow;
  readonly verdict: ReviewEnd;
  /** Sent from then on, ms; null: sent. */
  readonly dueMs: number | null;
}

export interface VerdictFault {
  readonly row: ShadowReviewRow;
  readonly fault: ApiFault;
}

export class VerdictQueue {
  /** By request id, oldest first. */
  readonly entered = signal<ReadonlyMap<string, EnteredVerdict>>(new Map());
  /** The last verdict that the service refused; its row is in the stack again. */
  readonly fault = signal<VerdictFault | null>(null);
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();

  /** Sends the verdict in 10 s. */
  enter(row: ShadowReviewRow, verdict: ReviewEnd): void {
    const id = row.request_id;
    this.fault.value = null;
    this.entered.value = new Map(this.entered.peek()).set(id, { row, verdict, dueMs: Date.now() + UNDO_MS });
    this.#timers.set(
      id,
      setTimeout(() => void this.#send(id), UNDO_MS),
    );
  }

  /** Removes the newest verdict that was not sent; null if there is none. */
  undo(): EnteredVerdict | null {
    const last = [...this.entered.peek().values()].reverse().find(({ dueMs }) => dueMs !== null);
    if (last === undefined) return null;
    clearTimeout(this.#timers.get(last.row.request_id));
    this.#drop(last.row.request_id);
    return last;
  }

  /** Sends everything that waits, also while the page is being closed. */
  flush(): void {
    for (const [id, { dueMs }] of this.entered.peek()) if (dueMs !== null) void this.#send(id);
  }

  async #send(id: string): Promise<void> {
    const one = this.entered.peek().get(id);
    if (one === undefined || one.dueMs === null) return;
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    this.entered.value = new Map(this.entered.peek()).set(id, { ...one, dueMs: null });
    try {
      const body = one.verdict === 'closed' ? { closed: true } : { verdict: one.verdict };
      await send('POST', v1(`/shadow-reviews/${id}`), body, { keepalive: true });
    } catch (error) {
      this.#drop(id);
      this.fault.value = { row: one.row, fault: toFault(error) };
    }
  }

  #drop(id: string): void {
    const rest = new Map(this.entered.peek());
    rest.delete(id);
    this.entered.value = rest;
  }
}
