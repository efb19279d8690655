import type { CustomerNumber, FingerprintHash } from '../../kernel/brand.ts';
import { isLive } from '../../risk/registry/consensus.ts';
import { SIGHTING_DAYS_MIN, SIGHTING_NETWORKS_MIN } from '../../kernel/limits.ts';

/**
 * The kinds of one customer's evidence against a fingerprint: a block in its own list, its own label `fraud`, or a BLOCK that was based on
 * neither registry nor list. Source: contract, 8.2. The order is that of the stored value.
 */
export const SIGHTING_KINDS = ['list', 'label', 'decision'] as const;
export type SightingKind = (typeof SIGHTING_KINDS)[number];

const FINGERPRINT_BYTES = 32;
export const SIGHTING_KEY_BYTES = FINGERPRINT_BYTES + 4;
/** First seen u32, then the time each kind was last seen, u32, 0 for never. */
const TIMES_BYTES = 4 * (1 + SIGHTING_KINDS.length);
/** For BLOCKs: days u16, then three networks, u16 each, 0 for none. Rows of older versions lack them. */
const VALUE_BYTES = TIMES_BYTES + 2 + 2 * SIGHTING_NETWORKS_MIN;
const DAY_SECONDS = 86_400;

export interface SightingRow {
  firstSeenSeconds: number;
  readonly times: Record<SightingKind, number>;
  /** Number of distinct days with a BLOCK; restarts after a gap of 30 days. */
  readonly days: number;
  /** Partial hashes of the networks that BLOCKs came from, up to three. */
  readonly networks: readonly number[];
}

export function keyOf(fingerprintHash: FingerprintHash, customer: CustomerNumber): Buffer {
  const key = Buffer.allocUnsafe(SIGHTING_KEY_BYTES);
  key.write(fingerprintHash, 'hex');
  key.writeUInt32BE(customer, FINGERPRINT_BYTES);
  return key;
}

export function customerOf(key: Buffer): CustomerNumber {
  return key.readUInt32BE(FINGERPRINT_BYTES) as CustomerNumber;
}

export function decode(stored: Buffer): SightingRow {
  const hasNetworks = stored.length >= VALUE_BYTES;
  const networks: number[] = [];
  if (hasNetworks) {
    for (let at = TIMES_BYTES + 2; at < VALUE_BYTES; at += 2) {
      const network = stored.readUInt16BE(at);
      if (network !== 0) networks.push(network);
    }
  }
  return {
    firstSeenSeconds: stored.readUInt32BE(0),
    times: { list: stored.readUInt32BE(4), label: stored.readUInt32BE(8), decision: stored.readUInt32BE(12) },
    days: hasNetworks ? stored.readUInt16BE(TIMES_BYTES) : 0,
    networks,
  };
}

export function encode(row: SightingRow): Buffer {
  const value = Buffer.alloc(VALUE_BYTES);
  value.writeUInt32BE(row.firstSeenSeconds, 0);
  for (const [i, kind] of SIGHTING_KINDS.entries()) value.writeUInt32BE(row.times[kind], 4 * (i + 1));
  value.writeUInt16BE(row.days, TIMES_BYTES);
  for (const [i, network] of row.networks.entries()) value.writeUInt16BE(network, TIMES_BYTES + 2 + 2 * i);
  return value;
}

export function lastSeenOf({ times }: SightingRow): number {
  return Math.max(times.list, times.label, times.decision);
}

export function livingRow(row: SightingRow, nowSeconds: number): SightingRow | null {
  return isLive(lastSeenOf(row), nowSeconds) ? row : null;
}

/** BLOCKs alone are no confirmation until they came from several networks on several days. */
export function isConfirmed({ times, days, networks }: SightingRow, nowSeconds: number): boolean {
  if (isLive(Math.max(times.list, times.label), nowSeconds)) return true;
  return days >= SIGHTING_DAYS_MIN && networks.length >= SIGHTING_NETWORKS_MIN;
}

/** `network` is 0 if unknown. */
export function withTime(row: SightingRow | null, kind: SightingKind, atSeconds: number, network: number): SightingRow {
  const times = { list: 0, label: 0, decision: 0, ...row?.times };
  const before = times.decision;
  times[kind] = Math.max(times[kind], atSeconds);
  const firstSeenSeconds = Math.min(row?.firstSeenSeconds ?? atSeconds, atSeconds);
  const goesOn = row !== null && before !== 0 && isLive(before, atSeconds);
  const { days, networks } = goesOn ? row : { days: 0, networks: [] };
  if (kind !== 'decision') return { firstSeenSeconds, times, days, networks };
  const isNewDay = !goesOn || dayOf(before) !== dayOf(atSeconds);
  return {
    firstSeenSeconds,
    times,
    days: Math.min(days + (isNewDay ? 1 : 0), 0xffff),
    networks: isNewNetwork(networks, network) ? [...networks, network] : networks,
  };
}

/** Returns whether a BLOCK brings the row closer to being confirmed. */
export function isNews(row: SightingRow, atSeconds: number, network: number): boolean {
  return dayOf(row.times.decision) !== dayOf(atSeconds) || isNewNetwork(row.networks, network);
}

function isNewNetwork(networks: readonly number[], network: number): boolean {
  return network !== 0 && networks.length < SIGHTING_NETWORKS_MIN && !networks.includes(network);
}

function dayOf(seconds: number): number {
  return Math.floor(seconds / DAY_SECONDS);
}
