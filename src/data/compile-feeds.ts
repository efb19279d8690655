import type { FeedRow } from './feed-rows.ts';
import { writeMmdb } from './mmdb-write.ts';
import { NetworkTree } from './network-tree.ts';

/** Types of the compiled databases; `GeoFolder` selects their slots by them. */
export const NETWORKS_TYPE = 'Gatehouse-Networks';
const ASN_TYPE = 'Gatehouse-ASN';
const DOMAINS_TYPE = 'Gatehouse-Domains';

/** Names of the compiled files in the folder of GeoIP databases. */
export const COMPILED_FILES = {
  networks: 'gatehouse-networks.mmdb',
  asn: 'gatehouse-asn.mmdb',
  domains: 'gatehouse-domains.mmdb',
} as const;
export type CompiledFile = keyof typeof COMPILED_FILES;

/**
 * Returns the compiled databases; null for one without rows. Where networks overlap, the smaller ones count, and flags of several feeds
 * add up.
 */
export function compileFeeds(
  rows: Iterable<FeedRow>,
  builtAtSeconds: number,
): Readonly<Record<CompiledFile, Buffer | null>> {
  const byLength = [...rows].toSorted((a, b) => a.bits.length - b.bits.length);
  const compile = (type: string, wanted: (row: FeedRow) => boolean): Buffer | null => {
    const tree = new NetworkTree();
    for (const row of byLength) if (wanted(row)) tree.add(row.bits, row.record);
    return tree.records.length === 0 ? null : writeMmdb(tree, type, builtAtSeconds);
  };
  return {
    networks: compile(NETWORKS_TYPE, (row) => !isAsn(row) && !isMailDomain(row)),
    asn: compile(ASN_TYPE, isAsn),
    domains: compile(DOMAINS_TYPE, isMailDomain),
  };
}

function isAsn({ record }: FeedRow): boolean {
  return 'autonomous_system_number' in record;
}

function isMailDomain({ record }: FeedRow): boolean {
  return 'disposable' in record || 'free_mail' in record;
}
