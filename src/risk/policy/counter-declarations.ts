import type { DeclaredNames } from '../conditions/decision-facts.ts';
import type { CounterKind, CounterWindow } from '../history.ts';
import { type AttributeDeclarations, typesOf } from './attributes.ts';

/** Counters that a customer or the operator declares. Source: contract, 6.10. */

export interface CounterDeclaration {
  readonly kind: CounterKind;
  /** What is distinct, or what is summed; null for a count. */
  readonly of: string | null;
  /** For whom. */
  readonly by: string;
  readonly window: CounterWindow;
  /** Which events count; null for all. */
  readonly when: string | null;
}

export type CounterDeclarations = Readonly<Record<string, CounterDeclaration>>;

export const COUNTER_NAME = /^[a-z][a-z0-9_]{0,31}$/;
/** Source: contract, 6.10. */
export const COUNTERS_MAX = 16;

/** What a policy declares, for its conditions. */
export interface Declarations {
  readonly attributes: AttributeDeclarations;
  readonly counters: CounterDeclarations;
}

export function declaredNames({ attributes, counters }: Declarations): DeclaredNames {
  const texts = Object.entries(counters).map(([name, one]) => [name, counterText(one)] as const);
  return { attributes: typesOf(attributes), counters: new Map(texts) };
}

/** Returns `sum of attributes.amount by account in 24h`. */
export function counterText({ kind, of, by, window, when }: CounterDeclaration): string {
  return `${kind}${of === null ? '' : ` of ${of}`} by ${by} in ${window}${when === null ? '' : `, when ${when}`}`;
}
