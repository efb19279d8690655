import type { FieldError } from '../contract/problem.ts';
import { compileCondition } from '../risk/conditions/compile-condition.ts';
import type { ConditionFault, ConditionOutcome } from '../risk/conditions/condition.ts';
import { decisionNames } from '../risk/conditions/decision-facts.ts';
import type { DecisionInput } from '../risk/conditions/decision-input.ts';
import { type AttributeDeclarations, typesOf } from '../risk/policy/attributes.ts';
import { conditionWarnings } from '../risk/policy/condition-warnings.ts';
import { NO_LISTS } from '../risk/policy/own-rules.ts';

/** Compiles a condition over decisions, as the score workers do. */
export function compileWhen(when: string, attributes: AttributeDeclarations): ConditionOutcome<DecisionInput> {
  return compileCondition(when, decisionNames(typesOf(attributes), NO_LISTS));
}

/** Returns the errors of a condition as fields of a response; without their pointer. */
export function showFaults(faults: readonly ConditionFault[]): readonly Omit<FieldError, 'pointer'>[] {
  return faults.map(({ didYouMean, ...fault }) => ({
    ...fault,
    ...(didYouMean !== undefined && { did_you_mean: didYouMean }),
  }));
}

/** Returns what is probably not meant in a condition that can be used, as `warnings` of a response. */
export function showWarnings(
  when: string,
  facts: readonly { readonly name: string }[],
): readonly Readonly<Record<string, unknown>>[] {
  const names = facts.map(({ name }) => name);
  return conditionWarnings(when, names).map((warning) => ({ pointer: '/when', ...warning }));
}
