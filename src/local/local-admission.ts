import type { Admission, AdmissionRequest, AdmittedId, RateWindowName, AdmissionVerdict } from '../ports/admission.ts';
import { visitorShare } from '../kernel/capacity-share.ts';
import { createRateMemory, NONE_LEFT, RateWindow } from './rate-window.ts';
import type { ReplayGuard } from './replay-guard.ts';

/** The journal, from which a start reads the ids back. */
export interface IdJournal {
  stage(id: AdmittedId): void;
}

/**
 * Rate windows and request ids in the memory of this process; the ids are journalled. Answers at once. Several threads may admit, each with
 * an instance over the same memory.
 */
export class LocalAdmission implements Admission {
  readonly #windows: Readonly<Record<RateWindowName, RateWindow>>;
  readonly #ids: ReplayGuard;
  readonly #journal: IdJournal;

  constructor(ids: ReplayGuard, journal: IdJournal, rates = createRateMemory(3)) {
    this.#windows = {
      decide: new RateWindow(rates),
      management: new RateWindow(rates, 1),
      outcomes: new RateWindow(rates, 2),
    };
    this.#ids = ids;
    this.#journal = journal;
  }

  admit<T extends AdmissionRequest>(batch: readonly T[]): readonly AdmissionVerdict<T>[] {
    return batch.map((request) => this.#admitOne(request));
  }

  stage(id: AdmittedId): void {
    this.#journal.stage(id);
  }

  release(id: AdmittedId): void {
    this.#ids.forget(id);
  }

  #admitOne<T extends AdmissionRequest>(request: T): AdmissionVerdict<T> {
    const { keyNumber, allowance, source, requestId, nowSeconds } = request;
    const window = this.#windows[request.window];
    const resetSeconds = window.roll(nowSeconds);
    const limit = source === null ? allowance : visitorShare(allowance);
    const retryAfterSeconds = Math.max(1, resetSeconds - nowSeconds);
    const left =
      source === null ? window.left(keyNumber, allowance) : window.leftOfVisitor(keyNumber, allowance, source);
    if (left === 0) return { outcome: 'rate_limited', request, limit, remaining: 0, resetSeconds, retryAfterSeconds };
    const id = requestId === null ? null : this.#ids.admit(keyNumber, requestId, request.timestampSeconds, nowSeconds);
    if (id === 'replayed') return { outcome: id, request, limit, remaining: left, resetSeconds, retryAfterSeconds };
    const remaining = source === null ? window.take(keyNumber, allowance) : window.takeVisitor(keyNumber, allowance);
    if (remaining === NONE_LEFT) {
      // Another thread has taken the last one since.
      if (id !== null && id !== 'full') this.#ids.forget(id);
      return { outcome: 'rate_limited', request, limit, remaining: 0, resetSeconds, retryAfterSeconds };
    }
    if (id === 'full') return { outcome: id, request, limit, remaining, resetSeconds, retryAfterSeconds };
    return { outcome: 'admitted', request, limit, remaining, resetSeconds, retryAfterSeconds, id };
  }
}
