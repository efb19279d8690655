import type { Key } from '../auth/key-cache.ts';
import type { AnswerReader } from '../frames/batch-buffer.ts';

/** What an observer needs of a key. */
export type ObservedKey = Pick<Key, 'customer' | 'number'>;

/** What an observer needs of a request that was decided. */
export interface ObservedRequest {
  readonly request: { readonly key: Pick<Key, 'customer' | 'number' | 'kind' | 'prefix'> };
}

/** Receives events of the decide path, for logs and metrics. Called on the hot path, so an implementation only counts. */
export interface DecideObserver {
  /** `key` is null if the request was refused before its key was verified. */
  refused(code: string, key: ObservedKey | null): void;
  batchLeft(count: number): void;
  batchFailed(error: unknown): void;
  /** `at` is the request's index among the answers; its status is 200. */
  decided(pending: ObservedRequest, answers: AnswerReader, at: number, latencyMs: number): void;
  /** The worker answered a request with another status than 200. */
  scoreRefused(code: string, internalDetail: string, key: ObservedKey): void;
}
