/** Paths of pages about one thing. */

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
  return NAMES[kind] ?? (kind.startsWith('entity.') ? kind.slice('entity.'.length) : kind);
}
