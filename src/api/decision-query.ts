import type { CustomerNumber } from '../kernel/brand.ts';
import type { Problem } from '../contract/problem.ts';
import type { QUERIES } from '../contract/routes.ts';
import type { SearchFilter } from '../history/decision-log/log-query.ts';
import type { LinkTarget } from '../history/decision-log/row-links.ts';
import type { Position } from '../ports/decision-history.ts';
import { type LinkTargets, splitLink } from './link-target.ts';
import { badQuery, type QueryValues } from './query.ts';

/** Shared by both searches of the decision log: the search text, and the format of a cursor's position. */

/** Returns null if there is nothing to search for. `q` is trimmed already. */
export function searchText(q: string | undefined): string | null {
  return q === undefined || q === '' ? null : q;
}

/** Returns the numbers of a position from one of our cursors, or null if another version wrote it in another format. */
export function readPlace(place: string, count: number): readonly number[] | null {
  const numbers = place.split('.').map(Number);
  return numbers.length === count && numbers.every((number) => Number.isSafeInteger(number)) ? numbers : null;
}

export function writePlace(...numbers: readonly number[]): string {
  return numbers.join('.');
}

/** Returns the position of a cursor of `writePosition`; null for another format. */
export function readPosition(place: string): Position | null {
  const [own = '', there] = place.split('~', 2);
  const [occurredAtMs, arrival] = readPlace(own, 2) ?? [];
  if (occurredAtMs === undefined || arrival === undefined) return null;
  if (there === undefined) return { occurredAtMs, arrival };
  const [source] = readPlace(there, 1) ?? [];
  return source === undefined ? null : { occurredAtMs, arrival, source };
}

export function writePosition({ occurredAtMs, arrival, source }: Position): string {
  return writePlace(occurredAtMs, arrival) + (source === undefined ? '' : `~${source}`);
}

type Filter = ({ readonly kind: 'filter' } & SearchFilter) | { readonly kind: 'problem'; readonly problem: Problem };

/** Returns the criteria of a search that go beyond its value and its text. */
export function readFilter(
  values: QueryValues<typeof QUERIES.searchDecisions>,
  targets: LinkTargets,
  customer: CustomerNumber,
): Filter {
  const links: LinkTarget[] = [];
  const { link, fingerprint_hash: fingerprint } = values;
  for (const [name, text] of [
    ['fingerprint_hash', fingerprint === undefined ? undefined : `fingerprint:${fingerprint}`],
    ['link', link],
  ] as const) {
    if (text === undefined) continue;
    const { kind, value } = splitLink(text);
    const target = targets.find(customer, kind, value);
    if (target === null) return { kind: 'problem', problem: badQuery(name, 'This is not a value of that kind.') };
    links.push(target);
  }
  const { since, until } = values;
  return {
    kind: 'filter',
    sinceMs: since === undefined ? null : since * 1000,
    untilMs: until === undefined ? null : until * 1000,
    eventType: values.event_type?.toLowerCase() ?? null,
    reason: values.reason ?? null,
    scoreMin: values.score_min ?? null,
    scoreMax: values.score_max ?? null,
    asn: values.asn ?? null,
    path: values.path ?? null,
    emailDomain: values.email_domain?.toLowerCase() ?? null,
    links,
    loggedAfter: null,
  };
}
