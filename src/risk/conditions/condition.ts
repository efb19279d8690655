import type { LeftOfList } from '../lists/named-list.ts';

/**
 * Conditions over facts, in a subset of CEL. A condition is parsed and checked once, and compiled to closures.
 *
 * An absent fact makes what is computed from it unknown. `&&`, `||`, `exists` and `all` have a result where the known part decides it;
 * everything else with an unknown part is unknown. A condition whose result is unknown does not hold.
 * Source: the Common Expression Language, "Logical Operators": unknown parts behave as errors do there.
 */

/** `list`: texts. `numbers`: a list of numbers, which only literals are. */
export type ConditionType = 'number' | 'text' | 'boolean' | 'list' | 'numbers';

/** Undefined is unknown. */
export type ConditionValue = number | string | boolean | readonly string[] | readonly number[] | undefined;

/** What a condition can read from its input. */
export interface ConditionFact<Input> {
  /** As it is written in conditions: `account.known_for_hours`. */
  readonly name: string;
  readonly type: ConditionType;
  /** For people: `hours`, `0 to 100`. */
  readonly unit?: string;
  readonly meaning: string;
  /** When it is absent, for people; empty when it never is. */
  readonly absentWhen: string;
  /** It identifies a person: allowed only left of `in list.<name>`, and never shown. */
  readonly isIdentity?: boolean;
  /** Most items of a list. */
  readonly itemsMax?: number;
  read(input: Input): ConditionValue;
}

/** The names that conditions over this input may use. */
export interface ConditionNames<Input> {
  /** Returns the fact with this path, such as `['event', 'type']`; null if there is none. */
  fact(path: readonly string[]): ConditionFact<Input> | null;
  /** Returns why a name that exists elsewhere is no fact here; null if it exists nowhere. */
  readonly whyNot?: (name: string) => string | null;
  /** Names for a suggestion. */
  readonly known: readonly string[];
  /** Returns further names for a suggestion: those of an entity, which has a name of the customer's. */
  beside?(path: readonly string[]): readonly string[];
  /**
   * Returns the membership test of the list `list.<name>` for what stands left of "in"; null if there is no such list, a sentence if it has
   * values of another kind.
   */
  list(name: string, left: LeftOfList): NamedListTest<Input> | string | null;
}

/** Returns whether a list contains the value; undefined while the list cannot be read. */
export type NamedListTest<Input> = (input: Input, value: string) => boolean | undefined;

export type ConditionFaultCode = 'unknown_fact' | 'type_error' | 'syntax_error' | 'too_costly';

/** One error of a condition. */
export interface ConditionFault {
  readonly code: ConditionFaultCode;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  readonly message: string;
  readonly didYouMean?: string;
}

export interface CompiledCondition<Input> {
  /** Returns whether the condition holds; false while that is unknown. Never throws. */
  holds(input: Input): boolean;
  /** Returns true, false, or undefined while that is unknown. Never throws. */
  evaluate(input: Input): boolean | undefined;
  /** The facts in it, each once, in their order, without identities. */
  readonly facts: readonly ConditionFact<Input>[];
  /** The named lists in it, each once. */
  readonly lists: readonly string[];
  /** Most steps of one evaluation; the work of patterns is bounded apart (`MATCH_STEPS_MAX`). */
  readonly cost: number;
}

export type ConditionOutcome<Input> =
  | { readonly kind: 'ok'; readonly condition: CompiledCondition<Input> }
  /** At least one. */
  | { readonly kind: 'faults'; readonly faults: readonly ConditionFault[] };

/** Choice: what a person can read; a longer one should be two rules or a named list. Source: contract, 6.7. */
export const CONDITION_CHARACTERS_MAX = 1_000;
/** Choice: 2,000 steps take under 50 µs. */
export const CONDITION_COST_MAX = 2_000;
/** Choice: items that `exists` and `all` go through. */
export const CONDITION_ITEMS_MAX = 16;
/**
 * Characters of a text times the size of a pattern's program, for one `matches`; it is unknown for a longer text.
 * Measured: a pattern made to be slow takes 0.1 µs a step, a usual one under 0.01 µs.
 */
export const MATCH_STEPS_MAX = 10_000;
