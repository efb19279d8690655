import type { CustomerNumber } from '../../../kernel/brand.ts';
import type { VersionLoss } from '../../../kernel/version-loss.ts';
import {
  NAMED_LIST_VERSIONS_STORED,
  type NamedListVersion,
  type ReplacedItem,
} from '../../tables/named-list-versions-table.ts';
import type { ChangeOf } from '../changes.ts';
import type { Applying } from './applying.ts';

/** The versions of named lists: each write keeps what it replaced, so that it can be undone. */

/** What a change of items made of a list. */
interface ItemsChanged {
  readonly added: number;
  readonly removed: number;
  /** Items that are not as they were. */
  readonly replaced: readonly ReplacedItem[];
}

/** Notes a change of items, which has been checked, in the versions of its list. A change that replaced nothing makes no version. */
export function noteVersion(
  { tables, bounds, by, nowMs }: Applying,
  { customer, number: list, writeId }: ChangeOf<'named_list.items'>,
  { added, removed, replaced }: ItemsChanged,
): void {
  if (replaced.length === 0) return;
  const { namedListVersions, rowCounters } = tables;
  const { next, versions } = namedListVersions.of(customer, list);
  if (writeId === undefined) {
    if (versions.length > 0) namedListVersions.put(customer, list, { next, versions: [] });
    return;
  }
  const newest = versions.at(-1);
  const isSame = newest?.writeId === writeId;
  const version: NamedListVersion = isSame
    ? newest
    : { ...EMPTY, version: next, writeId, replacedAtMs: nowMs, replacedBy: by };
  const key = { customer, list, version: version.version, part: version.parts };
  const row = namedListVersions.partRow(key, replaced);
  const bytes = row.key.length + row.value.length;
  const lost = version.lost ?? lossBy(version.bytes + bytes, rowCounters.get('namedListVersions', customer) + bytes);
  if (lost === null) {
    namedListVersions.putPart(row);
    rowCounters.add('namedListVersions', customer, bytes);
  }
  const counted = { ...version, added: version.added + added, removed: version.removed + removed, lost };
  const kept = lost === null ? { parts: version.parts + 1, bytes: version.bytes + bytes } : { parts: 0, bytes: 0 };
  const others = isSame ? versions.slice(0, -1) : versions;
  namedListVersions.put(customer, list, {
    next: isSame ? next : next + 1,
    versions: [...others, { ...counted, ...kept }].slice(-NAMED_LIST_VERSIONS_STORED),
  });

  function lossBy(ofVersion: number, ofCustomer: number): VersionLoss | null {
    if (ofVersion > bounds.namedListVersionBytes) return 'too_large';
    return ofCustomer > bounds.namedListVersionsBytes ? 'no_room' : null;
  }
}

const EMPTY = { added: 0, removed: 0, parts: 0, bytes: 0, lost: null } as const;

/** Removes those of the parts that no version needs. Returns their number. */
export function removeUnneededParts({ tables }: Applying, keys: readonly Buffer[]): number {
  const { namedListVersions, rowCounters } = tables;
  const removed = new Map<CustomerNumber, number>();
  let all = 0;
  for (const key of keys) {
    const bytes = namedListVersions.unneededBytes(key);
    if (bytes === null || !namedListVersions.removePart(key)) continue;
    all++;
    const customer = key.readUInt32BE(0) as CustomerNumber;
    removed.set(customer, (removed.get(customer) ?? 0) + bytes);
  }
  for (const [customer, bytes] of removed) rowCounters.add('namedListVersions', customer, -bytes);
  return all;
}
