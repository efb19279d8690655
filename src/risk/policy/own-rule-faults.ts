import { compileCondition } from '../conditions/compile-condition.ts';
import type { ConditionNames } from '../conditions/condition.ts';
import { decisionNames } from '../conditions/decision-facts.ts';
import type { DecisionInput } from '../conditions/decision-input.ts';
import { counterFaults } from './compile-counters.ts';
import { type Declarations, declaredNames } from './counter-declarations.ts';
import { OWN_RULES_COST_MAX, type OwnRule } from './own-rule.ts';
import { ANY_LISTS } from './own-rules.ts';
import { type PolicyDocument, type PolicyNote, type PolicyPart, type PolicyScope } from './policy-document.ts';
import { DEFAULT_POLICY } from './policy.ts';

/** Choice: a condition takes some 20 µs to compile, and a pattern in it up to 1 ms. */
const RULES_PER_FILE_MAX = 2_000;

/** Returns what is wrong with the rules and counters of a policy file: conditions that cannot be compiled, rules that cost too much. */
export function ownRuleFaults(document: PolicyDocument): readonly PolicyNote[] {
  const counters = countersIn(document);
  if (counters.length > 0) return counters;
  const places = placesOf(document);
  const count = places.reduce((sum, { rules }) => sum + rules.length, 0);
  if (count > RULES_PER_FILE_MAX)
    return [{ pointer: '', message: `the file has ${count} rules of your own; ${RULES_PER_FILE_MAX} are the most` }];
  return places.flatMap(faultsAt);
}

function countersIn(document: PolicyDocument): readonly PolicyNote[] {
  const notes = [...counterFaults(declaredIn([document]), document.counters ?? {}, '/counters')];
  for (const [id, scope] of document.customers)
    if (scope.counters !== undefined)
      notes.push(...counterFaults(declaredIn([document, scope]), scope.counters, `/customers/${id}/counters`));
  return notes;
}

function declaredIn(scopes: readonly PolicyScope[]): Declarations {
  return {
    attributes: Object.assign({}, DEFAULT_POLICY.attributes, ...scopes.map(({ attributes }) => attributes)),
    counters: Object.assign({}, DEFAULT_POLICY.counters, ...scopes.map(({ counters }) => counters)),
  };
}

interface RulesPlace {
  readonly pointer: string;
  readonly rules: readonly OwnRule[];
  readonly names: ConditionNames<DecisionInput>;
}

function placesOf(document: PolicyDocument): readonly RulesPlace[] {
  const places: RulesPlace[] = [];
  const add = (scope: PolicyScope, pointer: string, scopes: readonly PolicyScope[]): void => {
    const parts: (readonly [string, PolicyPart])[] = [[pointer, scope]];
    for (const [name, part] of scope.eventTypes ?? []) parts.push([`${pointer}/event_types/${name}`, part]);
    if (parts.every(([, { rules = [] }]) => rules.length === 0)) return;
    const names = decisionNames(declaredNames(declaredIn(scopes)), ANY_LISTS);
    for (const [at, { rules = [] }] of parts) places.push({ pointer: `${at}/rules`, rules, names });
  };
  add(document, '', [document]);
  for (const [id, scope] of document.customers) add(scope, `/customers/${id}`, [document, scope]);
  if (document.challenger !== null) add(document.challenger, '/challenger', [document, document.challenger]);
  return places;
}

function faultsAt({ pointer, rules, names }: RulesPlace): PolicyNote[] {
  const notes: PolicyNote[] = [];
  let cost = 0;
  for (const [at, { when }] of rules.entries()) {
    const compiled = compileCondition(when, names);
    if (compiled.kind === 'ok') {
      cost += compiled.condition.cost;
      if (cost > OWN_RULES_COST_MAX) break;
      continue;
    }
    for (const { line, column, message } of compiled.faults)
      notes.push({ pointer: `${pointer}/${at}/when`, message: `line ${line}, column ${column}: ${message}` });
  }
  if (cost > OWN_RULES_COST_MAX)
    notes.push({ pointer, message: `these rules take more than ${OWN_RULES_COST_MAX} steps together` });
  return notes;
}
