import type { Facts } from '../facts.ts';
import type { Policy } from '../policy/policy.ts';
import type { Family } from './family.ts';

export type { Family } from './family.ts';

/**
 * One rule: a pure function of the facts. It never throws on any facts, and uses only the facts named in its header.
 * `weights` are probabilities, 0 to 1, by level; most rules have only `default`. The policy may change each of them.
 */
export interface Rule {
  /** The reason code on the wire. */
  readonly code: string;
  readonly family: Family;
  readonly weights: Readonly<Record<string, number>>;
  /** The weight that `gatehouse policy report` proposes for a rule that has none until a policy gives it one. */
  readonly proposedWeight?: number;
  /**
   * The thresholds of the rule, by name; their units are in the names. A name that ends in `Max` is an upper limit, every other one a lower
   * limit. The policy may change each of them.
   */
  readonly thresholds?: Readonly<Record<string, number>>;
  /** Completes the sentence "Strongest evidence: …" for a reviewer; plain ASCII, without text of the client's. */
  readonly hint: string;
  /** What keeps the rule from firing or lowers its weight, for people; empty if nothing does. docs/rules.md has the same text. */
  readonly quietedBy: string;
  /** Evaluates the rule under the policy's `thresholds`. A threshold that is omitted has the rule's own value. */
  readonly evaluate: (facts: Facts, policy: Policy, thresholds: Thresholds) => Hit | null;
  /** The same, but requires all of the rule's thresholds: saves one call on the hot path. */
  readonly evaluateComplete?: (facts: Facts, policy: Policy, thresholds: Thresholds) => Hit | null;
}

export type Thresholds = Readonly<Record<string, number>>;

/** A rule that fired. */
export interface Hit {
  /** The level of the rule's weight; `default` when absent. */
  readonly level?: string;
  /** Multiplies that weight, 0 to 1; 1 when absent. */
  readonly scale?: number;
  /** The finding, for the reviewer: short, may contain the client's own text. */
  readonly evidence: string;
}

/** Helper for the many rules that have one weight. */
export function hit(evidence: string, level?: string): Hit {
  return level === undefined ? { evidence } : { evidence, level };
}

/** The same for a rule whose weight is reduced: multiplied by `scale`, for the reason `quietedBy`. */
export function scaledHit(evidence: string, scale: number, quietedBy: string): Hit {
  return scale === 1 ? { evidence } : { evidence: `${evidence}; ${quietedBy}`, scale };
}

/** A rule with thresholds, as written in its file: `evaluate` gets each of them by its name. */
interface ThresholdRule<Name extends string> extends Omit<Rule, 'thresholds' | 'evaluate'> {
  readonly thresholds: Readonly<Record<Name, number>>;
  readonly evaluate: (facts: Facts, policy: Policy, thresholds: Readonly<Record<Name, number>>) => Hit | null;
}

/** Converts it into a rule. A threshold that the caller omits has the rule's own value. */
export function withThresholds<Name extends string>(rule: ThresholdRule<Name>): Rule {
  const own = rule.thresholds;
  const names = Object.keys(own);
  const complete = (given: Thresholds): typeof own =>
    names.every((name) => given[name] !== undefined) ? given : { ...own, ...given };
  // One policy passes the same object again and again.
  let last: Thresholds = own;
  let completed = own;
  return {
    ...rule,
    evaluateComplete: rule.evaluate,
    evaluate(facts, policy, given) {
      if (given !== last) {
        completed = complete(given);
        last = given;
      }
      return rule.evaluate(facts, policy, completed);
    },
  };
}

/**
 * Returns the name of an entity's key for evidence, which never contains its value. Choice: the client's text is truncated at 64
 * characters.
 */
export function entityName({ name }: { readonly name: string }): string {
  return name.slice(0, 64);
}
