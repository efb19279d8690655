import type { AuditFacts } from '../../../work/audit.ts';
import { isSameCondition, type OwnRule } from '../../../risk/policy/own-rule.ts';
import { ruleTag, type StoredRule } from '../../tables/own-rule-table.ts';
import type { Apply } from './applying.ts';
import { record } from './audit-record.ts';

/** Customers' own rules. */

export const putRule: Apply<'rule.put'> = (at, { customer, rule, ifMatch, tripped }) => {
  const { rules } = at.tables;
  const before = rules.find(customer, rule.code);
  if (!isMatch(before, ifMatch)) return { kind: 'stale' };
  if (before === null && rules.count(customer) >= at.bounds.rules) return { kind: 'limit_reached' };
  const isSame = before !== null && before.mode === rule.mode && isSameCondition(before, rule);
  const trip = tripped === undefined ? (isSame ? before.tripped : undefined) : { ...tripped, atMs: at.nowMs };
  const written: StoredRule = {
    ...rule,
    createdAtMs: before?.createdAtMs ?? at.nowMs,
    updatedAtMs: at.nowMs,
    sinceMs: isSame ? (before.sinceMs ?? before.updatedAtMs) : at.nowMs,
    ...(trip !== undefined && { tripped: trip }),
  };
  rules.put(customer, written);
  const facts = { before: before && factsOf(before), after: { ...factsOf(written), ...tripped } };
  record(at, customer, { kind: 'rule.put', target: rule.code, ...facts });
  return { kind: before === null ? 'created' : 'replaced', rule: written };
};

export const removeRule: Apply<'rule.removed'> = (at, { customer, code, ifMatch }) => {
  const { rules } = at.tables;
  const before = rules.find(customer, code);
  if (!isMatch(before, ifMatch)) return 'stale';
  if (!rules.remove(customer, code)) return 'unknown';
  record(at, customer, { kind: 'rule.removed', target: code, before: before && factsOf(before) });
  return 'removed';
};

function isMatch(rule: StoredRule | null, ifMatch: readonly string[] | null): boolean {
  if (ifMatch === null) return true;
  return rule !== null && (ifMatch.includes('*') || ifMatch.includes(ruleTag(rule)));
}

/** The note is free text and is left out. */
function factsOf({ when, weight, decision, mode, eventTypes, expiresAtSeconds }: OwnRule): AuditFacts {
  return { when, weight, decision, mode, event_types: eventTypes, expires_at: expiresAtSeconds };
}
