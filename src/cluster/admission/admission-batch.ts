import { visitorShare } from '../../kernel/capacity-share.ts';
import type { AdmissionRequest, AdmissionVerdict } from '../../ports/admission.ts';
import type { FunctionCall } from '../store/functions.ts';
import { visitorsKey, windowKey } from '../store/store-keys.ts';

/** The verdict of the store on a request that it has admitted; its id comes from the local admission. */
export type SharedVerdict<T> = Extract<AdmissionVerdict<T>, { readonly outcome: 'admitted' }>;

/** Verdicts of a batch, some of which the local admission completes. */
export class Verdicts<T extends AdmissionRequest> {
  readonly all: AdmissionVerdict<T>[];
  readonly asked: T[] = [];
  readonly askedAt: number[] = [];
  /** The store's verdict; null without one. */
  readonly shared: (SharedVerdict<T> | null)[] = [];

  constructor(count: number) {
    // Filled by the caller for each request.
    this.all = Array.from({ length: count });
  }

  askLocal(at: number, request: T, shared: SharedVerdict<T> | null): void {
    this.asked.push(request);
    this.askedAt.push(at);
    this.shared.push(shared);
  }
}

/** One function call. */
export class Group<T extends AdmissionRequest> implements FunctionCall {
  readonly name = 'admit';
  readonly keys: string[];
  readonly args: string[];
  readonly requests: { readonly at: number; readonly request: T }[] = [];
  readonly resetSeconds: number;
  readonly hasVisitors: boolean;
  readonly #first: T;

  constructor(first: T, resetSeconds: number, startSeconds: number) {
    const { keyNumber, window, allowance, nowSeconds } = first;
    this.#first = first;
    this.resetSeconds = resetSeconds;
    this.hasVisitors = first.source !== null;
    this.keys = [windowKey(keyNumber, window, startSeconds)];
    if (this.hasVisitors) this.keys.push(visitorsKey(keyNumber, window, startSeconds));
    const share = this.hasVisitors ? visitorShare(allowance) : 0;
    this.args = [String(allowance), String(share), String(nowSeconds)];
  }

  accepts(request: T, resetSeconds: number): boolean {
    const { window, allowance, nowSeconds } = this.#first;
    return (
      resetSeconds === this.resetSeconds &&
      request.window === window &&
      request.nowSeconds === nowSeconds &&
      request.allowance === allowance &&
      (request.source !== null) === this.hasVisitors
    );
  }
}
