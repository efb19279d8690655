import type { Family } from '../rules/family.ts';

/** What the customer's own lists say of a request. Source: contract, 7.2. */
export interface ListFacts {
  /** `block`: BLOCK. `allow`: ALLOW. Null: the score decides, without what `silenced` names. */
  readonly decides: 'block' | 'allow' | null;
  /** Families of rules whose evidence is dropped. */
  readonly silenced: readonly Family[];
  /** The entry that decided, for reviewers. */
  readonly evidence: string;
}
