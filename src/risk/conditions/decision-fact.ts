import type { ConditionFact, ConditionType, ConditionValue } from './condition.ts';
import type { DecisionInput } from './decision-input.ts';

export type DecisionFact = ConditionFact<DecisionInput>;

export interface FactNotes {
  readonly unit?: string;
  /** Default: never. */
  readonly absentWhen?: string;
  readonly isIdentity?: boolean;
  readonly itemsMax?: number;
}

/** Describes a fact; `read` returns null or undefined where it is absent. */
export function decisionFact(
  name: string,
  type: ConditionType,
  meaning: string,
  read: (input: DecisionInput) => ConditionValue | null,
  notes: FactNotes = {},
): DecisionFact {
  return { name, type, meaning, absentWhen: '', ...notes, read: (input) => read(input) ?? undefined };
}
