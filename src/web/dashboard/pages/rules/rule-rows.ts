import type { PolicyBody, RuleCountsBody } from '../../../../contract/wire-types.ts';

type PolicyRule = PolicyBody['rules'][number];
type RuleCounts = RuleCountsBody['rules'][number];

/** A rule of the policy with what it did. */
export interface RuleRow {
  readonly rule: PolicyRule;
  /** null: it did not fire in that time. */
  readonly day: RuleCounts | null;
  readonly week: RuleCounts | null;
}

export const STATES = ['all', 'hit', 'silent', 'off', 'changed'] as const;
export type RuleState = (typeof STATES)[number];

export const SORTS = ['hits', 'alone', 'precision', 'weight', 'name'] as const;
export type RuleSort = (typeof SORTS)[number];

export function toRuleRows(
  policy: PolicyBody,
  day: RuleCountsBody | undefined,
  week: RuleCountsBody | undefined,
): RuleRow[] {
  const ofDay = byReason(day);
  const ofWeek = byReason(week);
  return policy.rules.map((rule) => ({
    rule,
    day: ofDay.get(rule.reason) ?? null,
    week: ofWeek.get(rule.reason) ?? null,
  }));
}

function byReason(counts: RuleCountsBody | undefined): Map<string, RuleCounts> {
  return new Map(counts?.rules.map((rule) => [rule.reason, rule]));
}

/** Rows that match text (code, title, family or sentence) and state, sorted; ties in the order of the policy. */
export function selectRules(rows: readonly RuleRow[], text: string, state: RuleState, sort: RuleSort): RuleRow[] {
  const wanted = text.trim().toLowerCase();
  const matches = ({ rule: { reason, title, family, sentence } }: RuleRow): boolean =>
    [reason, title, family, sentence].some((field) => field.toLowerCase().includes(wanted));
  return rows.filter((row) => matches(row) && isIn(row, state)).sort(ORDERS[sort]);
}

function isIn({ rule, week }: RuleRow, state: RuleState): boolean {
  switch (state) {
    case 'all':
      return true;
    case 'hit':
      return (week?.hits ?? 0) > 0;
    case 'silent':
      return (week?.hits ?? 0) === 0;
    case 'off':
      return !rule.enabled || rule.event_types.some(({ enabled }) => !enabled);
    case 'changed':
      return rule.is_changed;
  }
}

/** Rules without a verdict come last: nothing is known of them. */
const ORDERS: Readonly<Record<RuleSort, (a: RuleRow, b: RuleRow) => number>> = {
  hits: (a, b) => (b.week?.hits ?? 0) - (a.week?.hits ?? 0) || (b.day?.hits ?? 0) - (a.day?.hits ?? 0),
  alone: (a, b) => (b.week?.alone ?? 0) - (a.week?.alone ?? 0),
  precision: (a, b) => (a.week?.precision ?? 2) - (b.week?.precision ?? 2),
  weight: (a, b) => b.rule.weight - a.rule.weight,
  name: (a, b) => a.rule.reason.localeCompare(b.rule.reason),
};
