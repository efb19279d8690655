import { shortHash } from './format.ts';

/** Paths of pages about one thing, and how the values of links are written. */

const ENTITY_PREFIX = 'entity.';
/** Begins an id that is the hash of a value, because the value itself is not kept. */
const HASH_PREFIX = 'hash:';

/** The page of one subject: what it did, and who else is near it. */
export function linkPath(kind: string, value: string): string {
  return `/dashboard/links/${encodeURIComponent(kind)}/${encodeURIComponent(value)}`;
}

export function decisionPath(requestId: string): string {
  return `/dashboard/decisions/${encodeURIComponent(requestId)}`;
}

/** Kinds of links in words: `entity.email` → `email`. */
export function kindWords(kind: string): string {
  const NAMES: Readonly<Record<string, string>> = {
    ip: 'address',
    network: 'network',
    fingerprint: 'fingerprint',
    session: 'session',
  };
  return NAMES[kind] ?? (isIdentity(kind) ? kind.slice(ENTITY_PREFIX.length) : kind);
}

export function isIdentity(kind: string): boolean {
  return kind.startsWith(ENTITY_PREFIX);
}

/** A value as it fits into a row: hashes are cut, everything else is whole. */
export function shortValue(kind: string, id: string): string {
  if (id.startsWith(HASH_PREFIX)) return `#${id.slice(HASH_PREFIX.length, HASH_PREFIX.length + 8)}`;
  return kind === 'fingerprint' ? shortHash(id) : id;
}

/** The search on the page of decisions for what has this link. */
export function toSearch(kind: string, id: string): string {
  return `${kind}:"${id.replaceAll('"', '')}"`;
}
