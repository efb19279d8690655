import { BoundedCache } from '../../kernel/bounded-cache.ts';
import { compileCondition } from '../conditions/compile-condition.ts';
import type { CompiledCondition, ConditionNames, ConditionOutcome, ConditionValue } from '../conditions/condition.ts';
import { decisionNames, type KnownLists } from '../conditions/decision-facts.ts';
import type { DecisionInput } from '../conditions/decision-input.ts';
import { type Declarations, declaredNames } from './counter-declarations.ts';
import { type Decision, DECISIONS } from '../decision.ts';
import type { Contribution } from '../fuse.ts';
import type { Rule } from '../rules/rule.ts';
import { OWN_RULES_COST_MAX, type OwnRule } from './own-rule.ts';

/** Evaluates the rules that a customer or the operator writes. Source: contract, 6.7. */

/** A rule with its compiled condition. */
export interface CompiledOwnRule {
  readonly own: OwnRule;
  readonly condition: CompiledCondition<DecisionInput>;
  /** What fusing and records read of a rule. */
  readonly rule: Rule;
}

/** What the own rules of a policy found. */
export interface OwnFindings {
  readonly enforced: readonly Contribution[];
  /** Evaluated without an effect. */
  readonly observed: readonly Contribution[];
  /** The severest decision of the rules that are enforced; null without one. */
  readonly floor: { readonly decision: Decision; readonly rule: Rule } | null;
  /** Only rules with the decision ALLOW fired, of those with a decision. */
  readonly isExempt: boolean;
}

export const NOTHING_FOUND: OwnFindings = { enforced: [], observed: [], floor: null, isExempt: false };

/** Choice: rules of ten customers that have as many as possible; a condition with a pattern takes up to 1 ms to compile. */
const CONDITIONS_KEPT = 2_048;

/** Compiles own rules, and keeps their conditions for the next event type and for the next change of a rule. */
export class OwnRuleCompiler {
  readonly #conditions = new BoundedCache<string, ConditionOutcome<DecisionInput>>(CONDITIONS_KEPT);
  readonly #texts = new WeakMap<object, string>();

  /**
   * Skips a rule whose condition cannot be compiled, and rules beyond `OWN_RULES_COST_MAX`. A policy file and a rule of the API are checked
   * before, but attributes may change afterwards, and a row may be written by hand.
   */
  compile(rules: readonly OwnRule[], declared: Declarations, eventType: string): readonly CompiledOwnRule[] {
    if (rules.length === 0) return [];
    const names = decisionNames(declaredNames(declared), ANY_LISTS);
    const { attributes, counters } = declared;
    const prefix = `${this.#textOf(attributes)} ${this.#textOf(counters)}`;
    const compiled: CompiledOwnRule[] = [];
    let cost = 0;
    for (const own of rules) {
      if (own.eventTypes !== null && !own.eventTypes.includes(eventType)) continue;
      const outcome = this.#conditionOf(`${prefix}\n${own.when}`, own.when, names);
      if (outcome.kind !== 'ok' || cost + outcome.condition.cost > OWN_RULES_COST_MAX) continue;
      cost += outcome.condition.cost;
      compiled.push({ own, condition: outcome.condition, rule: ruleOf(own) });
    }
    return compiled;
  }

  #conditionOf(key: string, when: string, names: ConditionNames<DecisionInput>): ConditionOutcome<DecisionInput> {
    const known = this.#conditions.get(key);
    if (known !== undefined) return known;
    const made = compileCondition(when, names);
    this.#conditions.set(key, made);
    return made;
  }

  #textOf(declared: Declarations[keyof Declarations]): string {
    let text = this.#texts.get(declared);
    if (text === undefined) {
      text = JSON.stringify(declared);
      this.#texts.set(declared, text);
    }
    return text;
  }
}

/**
 * Which named lists there are, is asked in each decision: a rule may be loaded before its list is made, and customers with equal rules
 * share their conditions. A condition about a list that does not exist is unknown.
 */
export const ANY_LISTS: KnownLists = null;

/** Completes "Strongest evidence: …". */
export const OWN_HINT = 'a rule of your own';

function ruleOf({ code, weight }: OwnRule): Rule {
  return {
    code,
    family: 'own',
    weights: { default: weight ?? 0 },
    hint: OWN_HINT,
    quietedBy: '',
    evaluate: () => null,
  };
}

/** Evaluates the rules in their order. Never throws: conditions do not. */
export function evaluateOwnRules(rules: readonly CompiledOwnRule[], input: DecisionInput): OwnFindings {
  let found: { enforced: Contribution[]; observed: Contribution[] } | null = null;
  let floor: OwnFindings['floor'] = null;
  let allows = false;
  let decides = false;
  for (const { own, condition, rule } of rules) {
    if (own.expiresAtSeconds !== null && own.expiresAtSeconds <= input.facts.nowSeconds) continue;
    if (!condition.holds(input)) continue;
    found ??= { enforced: [], observed: [] };
    const contribution = { rule, weight: own.weight ?? 0, evidence: evidenceOf(condition, input) };
    const effect = own.decision === null ? contribution : { ...contribution, decides: own.decision };
    if (own.mode === 'observe') {
      found.observed.push({ ...effect, isObserved: true });
      continue;
    }
    found.enforced.push(effect);
    if (own.decision === 'ALLOW') allows = true;
    else if (own.decision !== null) {
      decides = true;
      if (floor === null || severityOf(own.decision) > severityOf(floor.decision))
        floor = { decision: own.decision, rule };
    }
  }
  if (found === null) return NOTHING_FOUND;
  return { ...found, floor, isExempt: allows && !decides && !input.publicKey };
}

export function severityOf(decision: Decision): number {
  return DECISIONS.indexOf(decision);
}

/** Choice: several facts fit into the evidence that a record keeps. */
const VALUE_CHARACTERS_MAX = 40;

/** Returns the facts of a condition with their values: `attributes.amount 812.5, account.known_for_hours 0.2`. */
function evidenceOf({ facts }: CompiledCondition<DecisionInput>, input: DecisionInput): string {
  return facts.map((fact) => `${fact.name} ${shown(fact.read(input))}`).join(', ');
}

function shown(value: ConditionValue): string {
  if (value === undefined) return 'unknown';
  if (typeof value === 'number') return String(Math.round(value * 1_000) / 1_000);
  const text = Array.isArray(value) ? `[${value.join(' ')}]` : String(value);
  return text.length > VALUE_CHARACTERS_MAX ? `${text.slice(0, VALUE_CHARACTERS_MAX)}…` : text;
}
