import { closest } from '../../kernel/closest-name.ts';
import { RULES } from '../rules/rule-table.ts';
import type { Rule } from '../rules/rule.ts';

/** The names with which a policy refers to rules, weights and thresholds. */

/** A weight or a threshold of a rule. */
export interface RuleNumber {
  readonly rule: Rule;
  /** The rule's own default. */
  readonly value: number;
}

/**
 * Excludes the customers' own lists, which always override: a policy that reweighed or disabled them would only remove information from a
 * response.
 */
const TUNABLE = RULES.filter(({ family }) => family !== 'list');

export const RULE_CODES: readonly string[] = TUNABLE.map(({ code }) => code);

/** `code`, or `code.level` → its weight. */
export const WEIGHTS: ReadonlyMap<string, RuleNumber> = new Map(
  TUNABLE.flatMap((rule) =>
    Object.entries(rule.weights).map(([level, value]) => [
      level === 'default' ? rule.code : `${rule.code}.${level}`,
      { rule, value },
    ]),
  ),
);

/** `code.threshold` → its number. */
export const THRESHOLDS: ReadonlyMap<string, RuleNumber> = new Map(
  TUNABLE.flatMap((rule) =>
    Object.entries(rule.thresholds ?? {}).map(([name, value]) => [`${rule.code}.${name}`, { rule, value }]),
  ),
);

/** Explains why a code, a weight or a threshold is not allowed, and lists the allowed names. */
export function unknownName(kind: 'rule' | 'weight' | 'threshold', name: string): string {
  const [code = ''] = name.split('.');
  if (RULES.some((rule) => rule.code === code && rule.family === 'list')) {
    return `${code} is a customer's own list, which a policy cannot change`;
  }
  if (kind === 'rule' || !RULE_CODES.includes(code)) {
    const close = closest(code, RULE_CODES);
    const known = close === null ? `the rules are ${RULE_CODES.join(', ')}` : `did you mean ${close}?`;
    return `there is no rule ${quoted(code)}; ${known}`;
  }
  const names = [...(kind === 'weight' ? WEIGHTS : THRESHOLDS).keys()].filter((one) => one.split('.')[0] === code);
  const known = names.length === 0 ? `${code} has none` : `${code} has ${names.join(', ')}`;
  return `there is no ${kind} ${quoted(name)}; ${known}`;
}

/** Returns text of a file, shortened and safe to print. */
export function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 64).replace(/[^\x20-\x7e]/g, '?'));
}
