import type { AuditKind } from '../../../../contract/vocabulary.ts';
import type { AuditRow } from '../../../../contract/wire-types.ts';
import { linkPath, decisionPath } from '../../link-path.ts';
import { formatTime, asWords } from '../../format.ts';

/** Entries of the audit log in words. */

export const KIND_WORDS: Readonly<Record<AuditKind, string>> = {
  'customer.created': 'Customer created',
  'customer.changed': 'Customer renamed or suspended',
  'customer.deleted': 'Customer deleted',
  'key.created': 'Key created',
  'key.revoked': 'Key revoked',
  'key.replaced': 'Key replaced, with an overlap',
  'list.put': 'List entry set',
  'list.batch': 'List entries set in bulk',
  'list.removed': 'List entry removed',
  'registry.imported': 'Registry imported',
  'registry.removed': 'Registry entry removed',
  'label.set': 'Decision labelled',
  'review.judged': 'Review verdict given',
  'review.changed': 'Review assigned, noted or closed',
  'webhook.created': 'Webhook created',
  'webhook.changed': 'Webhook changed',
  'webhook.removed': 'Webhook deleted',
  'webhook.rotated': 'Secret rotated',
  'webhook.health': 'Webhook health changed',
  'rule.put': 'Own rule written',
  'rule.removed': 'Own rule deleted',
  'named_list.put': 'Named list written',
  'named_list.items': 'Items of a named list changed',
  'named_list.removed': 'Named list deleted',
  'model.promoted': 'Model promoted',
  'model.rolled_back': 'Model rolled back',
  'model.resumed': 'Model counts again',
  'privacy.erase': 'Erasure of a person asked for',
  'privacy.export': 'Export of a person asked for',
  'watch.created': 'Watch created',
  'watch.changed': 'Watch changed',
  'watch.removed': 'Watch deleted',
};

/** `key:sk_live_4fQ2/1b2f9c07` → `sk_live_4fQ2… in the dashboard (session 1b2f9c07)`. */
export function actorWords(actor: string): string {
  if (actor === 'cli') return 'the operator, on the command line';
  if (actor === 'service') return 'the service itself';
  if (actor === 'circuit_breaker') return 'the circuit breaker of rules';
  const key = /^key:([^/]+)(?:\/(.+))?$/.exec(actor);
  if (key === null) return actor;
  const [, prefix = '', session] = key;
  return session === undefined ? `${prefix}…` : `${prefix}… in the dashboard (session ${session})`;
}

export function actorShort(actor: string): string {
  if (actor === 'cli') return 'operator';
  if (actor === 'service') return 'service';
  if (actor === 'circuit_breaker') return 'circuit breaker';
  const key = /^key:([^/]+)(\/)?/.exec(actor);
  return key === null ? actor : `${key[1] ?? ''}…${key[2] === undefined ? '' : ' (dashboard)'}`;
}

export interface FieldChange {
  readonly name: string;
  /** null: it did not exist, or had no value. */
  readonly before: string | null;
  readonly after: string | null;
}

/** Fields of `before` and `after` that differ, and all of them if only one side exists. `now` in Unix seconds. */
export function changesOf({ before, after }: Pick<AuditRow, 'before' | 'after'>, now: number): readonly FieldChange[] {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return names.flatMap((name) => {
    const [old, fresh] = [before?.[name], after?.[name]];
    if (before !== null && after !== null && JSON.stringify(old) === JSON.stringify(fresh)) return [];
    return [{ name, before: valueWords(name, old, now), after: valueWords(name, fresh, now) }];
  });
}

function valueWords(name: string, value: unknown, now: number): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number') return name.endsWith('_at') ? formatTime(value, now) : String(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(String).join(', ');
  return JSON.stringify(value);
}

/** `action: watch → block, expires at: none → 3 Dec`. */
export function changeSentence(row: AuditRow, now: number): string {
  return changesOf(row, now)
    .map(({ name, before, after }) => {
      const title = asWords(name);
      if (row.before === null) return `${title}: ${after ?? 'none'}`;
      if (row.after === null) return `${title} was ${before ?? 'none'}`;
      return `${title}: ${before ?? 'none'} → ${after ?? 'none'}`;
    })
    .join(', ');
}

/** The page about what was changed; null if there is none. */
export function targetPath({ kind, target }: AuditRow): string | null {
  if (target === null) return null;
  if (/^wh_[0-9A-Z]{26}$/.test(target)) return `/dashboard/webhooks?webhook=${target}`;
  if (/^req_[0-9A-Z]{26}$/.test(target)) return decisionPath(target);
  if (/^[0-9a-f]{64}$/.test(target)) return linkPath('fingerprint', target);
  return kind.startsWith('key.') ? '/dashboard/keys' : null;
}

/** Identifies an entry, which has no id. Two equal changes of one thing within a second count as one. */
export function entryKey(row: AuditRow): string {
  return `${row.at}-${shortDigest(JSON.stringify([row.kind, row.target, row.actor, row.before, row.after]))}`;
}

/** FNV-1a of 53 bits: short enough for a URL. Source: the FNV specification, with two 32-bit halves of different offsets. */
function shortDigest(text: string): string {
  let [a, b] = [0x811c9dc5, 0xcbf29ce4];
  for (let n = 0; n < text.length; n++) {
    const code = text.charCodeAt(n);
    a = Math.imul(a ^ code, 0x01000193) >>> 0;
    b = Math.imul(b ^ code ^ n, 0x01000193) >>> 0;
  }
  return ((b % 0x200000) * 0x100000000 + a).toString(36);
}
