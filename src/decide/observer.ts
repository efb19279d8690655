import type { AnswerReader } from '../pools/frame.ts';
import type { Pending } from './pipeline.ts';

/** What the decide path tells of itself. Called on the hot path, so an implementation only counts. */
export interface DecideObserver {
  /** How many decisions the log line of this one stands for, 0 when it gets none; asked once for each. */
  sampleLine(): number;
  refused(code: string): void;
  batchLeft(count: number): void;
  batchFailed(error: unknown): void;
  /** `at` is the request's place among the answers; status 200. */
  decided(pending: Pending, answers: AnswerReader, at: number, latencyMs: number): void;
  /** A request was answered with another status by the worker. */
  scoreRefused(code: string, internalDetail: string): void;
}
