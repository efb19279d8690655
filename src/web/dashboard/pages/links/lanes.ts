import type { LoggedDecisionRow } from '../../../../contract/wire-types.ts';
import { isIdentity } from '../../link-path.ts';

/** Choice: lanes that fit on a screen; the rest is one lane. */
const LANES_MAX = 12;

export interface LinkLane {
  /** null: the decisions of all further lanes, or those without this kind of link. */
  readonly id: string | null;
  /** Newest first, as the rows. */
  readonly rows: readonly LoggedDecisionRow[];
}

/** Kinds of links that can be lanes of a subject, those with the most distinct values first. */
export function laneKinds(rows: readonly LoggedDecisionRow[], subject: string): string[] {
  const values = new Map<string, Set<string>>();
  for (const { links } of rows)
    for (const { kind, id } of links) {
      const known = values.get(kind);
      if (known === undefined) values.set(kind, new Set([id]));
      else known.add(id);
    }
  return [...values]
    .filter(([kind]) => kind !== subject)
    .sort((a, b) => b[1].size - a[1].size)
    .map(([kind]) => kind);
}

/** Kind of the lanes of a page: identities for a device, address, network or session; devices for an identity. */
export function defaultLaneKind(kinds: readonly string[], subject: string): string | null {
  const wanted = isIdentity(subject) ? kinds.find((kind) => kind === 'fingerprint') : kinds.find(isIdentity);
  return wanted ?? kinds[0] ?? null;
}

/** Sorts decisions into lanes, that with the most decisions first. */
export function toLanes(rows: readonly LoggedDecisionRow[], kind: string): LinkLane[] {
  const lanes = new Map<string, LoggedDecisionRow[]>();
  const without: LoggedDecisionRow[] = [];
  for (const row of rows) {
    const id = row.links.find((link) => link.kind === kind)?.id;
    const lane = id === undefined ? without : lanes.get(id);
    if (lane === undefined && id !== undefined) lanes.set(id, [row]);
    else lane?.push(row);
  }
  const sorted = [...lanes].sort((a, b) => b[1].length - a[1].length);
  const shown: LinkLane[] = sorted.slice(0, LANES_MAX).map(([id, rows]) => ({ id, rows }));
  const rest = [...sorted.slice(LANES_MAX).flatMap(([, rows]) => rows), ...without];
  return rest.length === 0 ? shown : [...shown, { id: null, rows: rest }];
}

/** Distinct values of a kind of link. */
export function distinctLinks(rows: readonly LoggedDecisionRow[], kind: string): number {
  return new Set(rows.flatMap(({ links }) => links.filter((link) => link.kind === kind).map(({ id }) => id))).size;
}
