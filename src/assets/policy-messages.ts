import type { CustomerNumber } from '../kernel/brand.ts';
import type { PolicyDocument } from '../risk/policy/policy-document.ts';

/**
 * Messages between threads about the policy file. The main thread is the only writer: it reads and validates the file and notifies the
 * score workers through a broadcast channel; each builds its policies from it.
 */

export interface PolicyContent {
  /** Increases with every change, so that an older message never overwrites a newer one. */
  readonly generation: number;
  readonly document: PolicyDocument;
  /** Numbers of the customers that the document names and the store knows. */
  readonly customerNumbers: ReadonlyMap<string, CustomerNumber>;
}

/** For workerData. The main thread updates it in place, so that a worker started later begins with the current state. */
export interface PolicySeed {
  /** Name of the broadcast channel, unique per process and file. */
  readonly channel: string;
  content: PolicyContent;
}

export type PolicyMessage =
  /** Main thread → workers. */
  | { readonly kind: 'policy'; readonly content: PolicyContent }
  /** Worker → main thread, once at its start: a change may have happened between its workerData and its subscription. */
  | { readonly kind: 'hello'; readonly generation: number };
