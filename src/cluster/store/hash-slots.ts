import type { Reply } from './link.ts';

/** Source: Redis Cluster specification, key distribution model. */
export const SLOTS = 16_384;
const POLYNOMIAL = 0x1021;

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ POLYNOMIAL;
  return crc;
});

/** Returns the slot of a key, which is ASCII and has its tag at the start: `{tag}…`. */
export function slotOf(key: string): number {
  const end = key.startsWith('{') ? key.indexOf('}') : -1;
  const from = end > 1 ? 1 : 0;
  const to = end > 1 ? end : key.length;
  let crc = 0;
  for (let i = from; i < to; i++) crc = ((crc << 8) ^ (TABLE[((crc >> 8) ^ key.charCodeAt(i)) & 0xff] ?? 0)) & 0xffff;
  return crc % SLOTS;
}

export interface SlotRange {
  readonly from: number;
  readonly to: number;
  /** The primary; an empty host means the host that was asked. */
  readonly host: string;
  readonly port: number;
}

/** Reads the reply to `CLUSTER SLOTS`; null for anything else. Ranges without a known address are left out. */
export function readSlots(reply: Reply): readonly SlotRange[] | null {
  if (!Array.isArray(reply)) return null;
  const ranges: SlotRange[] = [];
  for (const row of reply) {
    const [from, to, primary] = Array.isArray(row) ? (row as readonly Reply[]) : [];
    const [host, port] = Array.isArray(primary) ? (primary as readonly Reply[]) : [];
    if (typeof from !== 'number' || typeof to !== 'number' || typeof port !== 'number') return null;
    if (String(host) !== '?') ranges.push({ from, to, host: host === null ? '' : String(host), port });
  }
  return ranges;
}

export interface Redirect {
  readonly kind: 'moved' | 'ask';
  readonly slot: number;
  /** Empty: the host that answered. */
  readonly host: string;
  readonly port: number;
}

/** Reads `MOVED <slot> <host>:<port>` and `ASK <slot> <host>:<port>`; null for other errors. */
export function readRedirect(detail: string): Redirect | null {
  const found = /^(MOVED|ASK) (\d{1,5}) (.*):(\d{1,5})$/.exec(detail);
  if (found === null) return null;
  const [, kind, slot, host = '', port] = found;
  return { kind: kind === 'MOVED' ? 'moved' : 'ask', slot: Number(slot), host, port: Number(port) };
}
