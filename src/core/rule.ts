import type { Facts } from './facts.ts';
import type { Policy } from './policy.ts';

/** Rules of one family are about the same thing: only the strongest that fired counts. */
export type Family =
  | 'list'
  | 'registry'
  | 'client'
  | 'tls'
  | 'device'
  | 'network'
  | 'ip_volume'
  | 'entity_volume'
  | 'session_volume'
  | 'population'
  | 'movement'
  | 'token'
  | 'journey'
  | 'probe'
  | 'identity'
  | 'model';

/**
 * One rule: a pure function of the facts. It never throws on any facts, and looks only at what it says in its header.
 * `weights` are probabilities, 0 to 1, by level; most rules have only `default`. The policy may change each of them.
 */
export interface Rule {
  /** The reason code on the wire. */
  readonly code: string;
  readonly family: Family;
  readonly weights: Readonly<Record<string, number>>;
  /**
   * The numbers from which it fires, by name; their units are in the names. A name that ends in `Max` is where it stops to fire,
   * every other one where it begins. The policy may change each of them.
   */
  readonly thresholds?: Readonly<Record<string, number>>;
  /** Completes the sentence "Strongest evidence: …" for a reviewer; plain ASCII, no text of the client's. */
  readonly hint: string;
  /** `thresholds` has every name of the rule's own, with the policy's numbers in place of its own. */
  readonly evaluate: (facts: Facts, policy: Policy, thresholds: Thresholds) => Hit | null;
  /** The same for a caller whose `thresholds` has every name: one call less on the hot path. */
  readonly evaluateComplete?: (facts: Facts, policy: Policy, thresholds: Thresholds) => Hit | null;
}

export type Thresholds = Readonly<Record<string, number>>;

/** A rule that fired. */
export interface Hit {
  /** Which of the rule's weights counts; `default` when absent. */
  readonly level?: string;
  /** Multiplies that weight, 0 to 1; 1 when absent. */
  readonly scale?: number;
  /** What was found, for the reviewer: short, may hold the client's own text. */
  readonly evidence: string;
}

/** Helper for the many rules that have one weight. */
export function hit(evidence: string, level?: string): Hit {
  return level === undefined ? { evidence } : { evidence, level };
}

/** The same for a rule that something quiets: `scale` multiplies its weight. */
export function scaledHit(evidence: string, scale: number, quietedBy: string): Hit {
  return scale === 1 ? { evidence } : { evidence: `${evidence}; ${quietedBy}`, scale };
}

/** A rule with thresholds, as its file writes it: `evaluate` gets each of them by its name. */
interface ThresholdRule<Name extends string> extends Omit<Rule, 'thresholds' | 'evaluate'> {
  readonly thresholds: Readonly<Record<Name, number>>;
  readonly evaluate: (facts: Facts, policy: Policy, thresholds: Readonly<Record<Name, number>>) => Hit | null;
}

/** Makes the rule of it. A threshold that the caller leaves out is the rule's own. */
export function withThresholds<Name extends string>(rule: ThresholdRule<Name>): Rule {
  const own = rule.thresholds;
  const names = Object.keys(own);
  const complete = (given: Thresholds): typeof own =>
    names.every((name) => given[name] !== undefined) ? given : { ...own, ...given };
  // One policy asks with the same object again and again.
  let last: Thresholds = own;
  let completed = own;
  return {
    ...rule,
    evaluateComplete: (facts, policy, given) => rule.evaluate(facts, policy, given),
    evaluate(facts, policy, given) {
      if (given !== last) {
        completed = complete(given);
        last = given;
      }
      return rule.evaluate(facts, policy, completed);
    },
  };
}

/** The name of an entity's key for evidence, which never tells its value. Choice: the client's text is cut at 64 characters. */
export function entityName({ name }: { readonly name: string }): string {
  return name.slice(0, 64);
}
