import {
  BAND_NAMES,
  bandsOf,
  eventTypesOf,
  assetsOf,
  type PolicyDocument,
  type PolicyPart,
  type PolicyScope,
} from '../risk/policy/policy-document.ts';
import { THRESHOLDS, WEIGHTS } from '../risk/policy/policy-names.ts';
import { DEFAULT_POLICY } from '../risk/policy/policy.ts';
import { periodText, RETENTION_MAX, type RetentionClass } from '../risk/policy/row-retention.ts';
import { tableText } from './text-table.ts';

/** Choice: as many as are readable; the check itself covers all customers. */
const CUSTOMERS_SHOWN = 20;

/** Formats for people: the effective bands, and what the file changes. */
export function policyReport(document: PolicyDocument): string {
  const bands = bandRows('everybody', [document]);
  const changes = scopeRows('everybody', document);
  const shown = [...document.customers].slice(0, CUSTOMERS_SHOWN);
  for (const [id, scope] of shown) {
    const common = new Set(bands.map((row) => row.slice(1).join()));
    bands.push(...bandRows(id, [document, scope]).filter((row) => !common.has(row.slice(1).join())));
    changes.push(...scopeRows(id, scope));
  }
  if (document.challenger !== null) {
    bands.push(...bandRows('challenger', [document, document.challenger]));
    changes.push(...scopeRows('challenger', document.challenger));
  }
  const left = document.customers.size - shown.length;
  return [
    tableText(['For', 'Event type', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK'], bands, ''),
    '',
    tableText(['For', 'Event type', 'What', 'Default', 'Here'], changes, 'Nothing else differs from the defaults.'),
    ...(left > 0 ? [`... and ${left} more customers`] : []),
  ].join('\n');
}

function bandRows(name: string, scopes: readonly PolicyScope[]): string[][] {
  return [...eventTypesOf(scopes), ''].map((type) => {
    const bands = bandsOf(assetsOf(scopes, type), type);
    return [name, type === '' ? 'all others' : type, ...BAND_NAMES.map((band) => String(bands[band] ?? 'none'))];
  });
}

function scopeRows(name: string, scope: PolicyScope): string[][] {
  const rows = partRows(scope).map((row) => [name, 'all', ...row]);
  for (const [one, ms = 0] of Object.entries(scope.retention ?? {}))
    rows.push([name, 'all', `retention ${one}`, periodText(RETENTION_MAX[one as RetentionClass]), periodText(ms)]);
  for (const [type, part] of scope.eventTypes ?? []) rows.push(...partRows(part).map((row) => [name, type, ...row]));
  return rows;
}

/** Returns rows of name, default and new value; bands and shifts are in the other table. */
function partRows(part: PolicyPart): string[][] {
  const rows: string[][] = [];
  const add = (what: string, before: Shown | undefined, now: Shown | undefined): void => {
    if (now !== undefined && shown(before) !== shown(now)) rows.push([what, shown(before), shown(now)]);
  };
  add('mode', DEFAULT_POLICY.mode, part.mode);
  for (const [name, weight] of Object.entries(part.weights ?? {}))
    add(`weight ${name}`, WEIGHTS.get(name)?.value, weight);
  for (const [name, value] of Object.entries(part.thresholds ?? {})) {
    add(`threshold ${name}`, THRESHOLDS.get(name)?.value, value);
  }
  add('rules off', DEFAULT_POLICY.rulesOff, part.rulesOff);
  add('ignored entity keys', DEFAULT_POLICY.ignoredEntityKeys, part.ignoredEntityKeys);
  add('watched countries', [...DEFAULT_POLICY.watchedCountries], part.watchedCountries);
  add('watched networks', [...DEFAULT_POLICY.watchedAsns], part.watchedAsns);
  add('hosting networks', [...DEFAULT_POLICY.hostingAsns], part.hostingAsns);
  add('relay networks', [...DEFAULT_POLICY.relayAsns], part.relayAsns);
  for (const [name, networks] of Object.entries(part.trustedNetworks ?? {}))
    add(`trusted network ${name}`, undefined, networks);
  for (const [name, agents] of Object.entries(part.trustedAgents ?? {}))
    add(`trusted agent ${name}`, undefined, agents);
  add('grant', DEFAULT_POLICY.grant, part.grant);
  add('sample rate', DEFAULT_POLICY.sampleRate, part.sampleRate);
  add('logged features of ALLOW', DEFAULT_POLICY.logFeaturesSample, part.logFeaturesSample);
  add('logged identities', DEFAULT_POLICY.logIdentities, part.logIdentities);
  return rows;
}

type Shown = number | string | readonly (number | string)[];

/** Choice: the first three items are enough to recognise the list. */
function shown(value: Shown | undefined): string {
  if (value === undefined) return '';
  if (typeof value !== 'object') return String(value);
  if (value.length === 0) return 'none';
  return value.length > 3 ? `${value.slice(0, 3).join(', ')} and ${value.length - 3} more` : value.join(', ');
}
