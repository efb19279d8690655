import type { FieldError } from '../contract/problem.ts';
import { compileCondition } from '../risk/conditions/compile-condition.ts';
import type { ConditionFault, ConditionOutcome } from '../risk/conditions/condition.ts';
import { decisionNames, type KnownLists } from '../risk/conditions/decision-facts.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { DecisionInput } from '../risk/conditions/decision-input.ts';
import { conditionWarnings } from '../risk/policy/condition-warnings.ts';
import { type Declarations, declaredNames } from '../risk/policy/counter-declarations.ts';
import { ANY_LISTS } from '../risk/policy/own-rules.ts';

/** Returns the named lists that a customer has now. */
export type ListsOf = (customer: CustomerNumber) => KnownLists;

/** Compiles a condition over decisions, as the score workers do; without `lists` every name is taken for a named list, as there. */
export function compileWhen(
  when: string,
  declared: Declarations,
  lists: KnownLists = ANY_LISTS,
): ConditionOutcome<DecisionInput> {
  return compileCondition(when, decisionNames(declaredNames(declared), lists));
}

/** Returns the errors of a condition as fields of a response; without their pointer. */
export function showFaults(faults: readonly ConditionFault[]): readonly Omit<FieldError, 'pointer'>[] {
  return faults.map(({ didYouMean, ...fault }) => ({
    ...fault,
    ...(didYouMean !== undefined && { did_you_mean: didYouMean }),
  }));
}

/** Returns why a condition that can be used is unknown: its named list is missing, or has another kind. As `warnings` of a response. */
export function showListWarnings(
  when: string,
  declared: Declarations,
  lists: KnownLists,
): readonly Readonly<Record<string, unknown>>[] {
  const compiled = compileWhen(when, declared, lists);
  if (compiled.kind === 'ok') return [];
  return compiled.faults.map(({ message }) => ({ pointer: '/when', code: 'list_unusable', message }));
}

/** Returns what is probably not meant in a condition that can be used, as `warnings` of a response. */
export function showWarnings(
  when: string,
  facts: readonly { readonly name: string }[],
): readonly Readonly<Record<string, unknown>>[] {
  const names = facts.map(({ name }) => name);
  return conditionWarnings(when, names).map((warning) => ({ pointer: '/when', ...warning }));
}
