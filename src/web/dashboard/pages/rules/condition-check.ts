import type { CheckedRuleBody } from '../../../../contract/wire-types.ts';

/** One error of a condition, as `POST /v1/rules/check` returns it. */
export interface ConditionErrorBody {
  readonly message: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly did_you_mean?: string | undefined;
}

export type ConditionCheck =
  | { readonly kind: 'empty' | 'checking' | 'unknown' }
  | {
      readonly kind: 'ok';
      readonly cost: number;
      readonly warnings: readonly string[];
      /** What it matches of the newest decisions; null if the server was too busy. */
      readonly sample: SampleBody | null;
    }
  | { readonly kind: 'faults'; readonly errors: readonly ConditionErrorBody[] };

export type SampleBody = NonNullable<CheckedRuleBody['sample']>;
