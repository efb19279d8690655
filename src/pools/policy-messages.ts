import type { CustomerNumber } from '../base/brand.ts';
import type { PolicyDocument } from '../core/policy-document.ts';

/**
 * What crosses threads for the policy file. The main thread is the only writer: it reads and checks the file and tells the score
 * workers by a broadcast channel; each makes its policies of it.
 */

export interface PolicyContent {
  /** Grows with every change, so that an older message never undoes a newer one. */
  readonly generation: number;
  readonly document: PolicyDocument;
  /** Of the customers that the document names and the store knows. */
  readonly customerNumbers: ReadonlyMap<string, CustomerNumber>;
}

/** For workerData. The main thread keeps it up to date in place, so that a worker started later begins with what is current. */
export interface PolicySeed {
  /** Name of the broadcast channel, unique per process and file. */
  readonly channel: string;
  content: PolicyContent;
}

export type PolicyMessage =
  /** Main thread → workers. */
  | { readonly kind: 'policy'; readonly content: PolicyContent }
  /** Worker → main thread, once at its start: a change may have passed between its workerData and its first listening. */
  | { readonly kind: 'hello'; readonly generation: number };
