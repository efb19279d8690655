import { SourceFailure, type FoundRecord, type JsonObject, type JsonValue } from '../../base/connector.ts';
import type { ChainTurn, PageResult } from './chain.ts';
import { textMember } from './json.ts';
import * as schema from './schema.ts';

/** What the connectors of package registries have in common. */

export const PACKAGE_FIELDS = {
  name: schema.textField('Name of the package.'),
  version: schema.textField('The newest version.'),
  description: schema.textField('One line.'),
  license: schema.textField('SPDX expression, or the words that the package has for it.'),
  keywords: schema.textsField('Its keywords.'),
  homepage_url: schema.urlField('Its website.'),
};

/** An operation that reads everything with one request. */
export const ONE_REQUEST = { tier: 'basic', pageSizeMax: 1, sizing: 'fixed' } as const;

/** The result of a request that gives all versions of a package, the newest first; those without a date come last. */
export function versionsPage<Args extends JsonObject>(found: readonly FoundRecord[]): PageResult<Args> {
  const records = found.toSorted((a, b) => (dateOf(a) < dateOf(b) ? 1 : dateOf(a) > dateOf(b) ? -1 : 0));
  return { kind: 'page', records, next: null, total: records.length };
}

/** The result of a request that gives one record. `found` is null if the response has no readable package. */
export function singleRecord<Args extends JsonObject>(
  found: FoundRecord | null,
  { args }: ChainTurn<Args>,
): PageResult<Args> {
  if (found === null)
    throw new SourceFailure('parse_failed', `no package in the response to ${JSON.stringify(args)}`, false);
  return { kind: 'page', records: [found], next: null, total: 1 };
}

/** Returns a name or a version that can be part of an address; null for anything else. */
export function addressableName(value: JsonValue | undefined): string | null {
  const text = textMember(value);
  return text === null || /^\.+$/.test(text) || /\p{Surrogate}/u.test(text) ? null : text;
}

function dateOf({ fields }: FoundRecord): string {
  return textMember(fields['published_at']) ?? '';
}
