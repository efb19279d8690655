import type { CustomerNumber } from '../kernel/brand.ts';
import type { TakenAttributeNotes } from '../risk/policy/attribute-notes.ts';
import type { OwnRule } from '../risk/policy/own-rule.ts';
import type { PolicyDocument } from '../risk/policy/policy-document.ts';
import type { RulesByCustomer, TrippedByCustomer } from '../risk/policy/policy-set.ts';

/**
 * Messages between threads about the policy file and the rules of the API. The main thread is the only writer: it reads and validates the
 * file and notifies the score workers through a broadcast channel; each builds its policies from it.
 */

export interface PolicyContent {
  /** Increases with every change, so that an older message never overwrites a newer one. */
  readonly generation: number;
  readonly document: PolicyDocument;
  /** Numbers of the customers that the document names and the store knows. */
  readonly customerNumbers: ReadonlyMap<string, CustomerNumber>;
  /** Rules that customers wrote over the API. */
  readonly rules: RulesByCustomer;
  readonly tripped: TrippedByCustomer;
}

/** For workerData. The main thread updates it in place, so that a worker started later begins with the current state. */
export interface PolicySeed {
  /** Name of the broadcast channel, unique per process and file. */
  readonly channel: string;
  content: PolicyContent;
  /** `Int32Array[1]`: the generation that was posted last. A worker that is behind takes the posted messages before its next batch. */
  readonly posted: SharedArrayBuffer;
}

export type PolicyMessage =
  /** Main thread → workers. */
  | { readonly kind: 'policy'; readonly content: PolicyContent }
  /** Main thread → workers: the rules of one customer, instead of those before. */
  | {
      readonly kind: 'rules';
      readonly generation: number;
      readonly customer: CustomerNumber;
      readonly rules: readonly OwnRule[];
      readonly tripped: readonly string[];
    }
  /** Worker → main thread: attributes that do not count. */
  | { readonly kind: 'attributes'; readonly notes: TakenAttributeNotes }
  /** Worker → main thread, once at its start: a change may have happened between its workerData and its subscription. */
  | { readonly kind: 'hello'; readonly generation: number };
