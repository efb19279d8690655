import { Reader } from 'maxmind';
import type { Response } from 'maxmind';
import { BoundedCache } from '../base/bounded-cache.ts';

/** Source: the MaxMind DB format, section on metadata: it lies within the last 128 KiB. */
const METADATA_BYTES_MAX = 128 * 1024;
const METADATA_MARK = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
/**
 * Choice: followed pointers in one record before it counts as damaged. Real records follow some 40; a damaged one can lead in
 * circles, or double at every step.
 */
const POINTERS_MAX = 1_024;
/** Choice: parts of records that many records point to (countries, names), kept decoded. */
const SHARED_PARTS = 4_096;

/** A MaxMind DB file in shared memory. */
export interface Mmdb {
  /** The producer's name for its kind, for example `GeoLite2-City`; never trusted for anything but telling kinds apart. */
  readonly type: string;
  /** 4: only IPv4. 6: IPv6, and IPv4 where the producer put it in. */
  readonly ipVersion: 4 | 6;
  /** Unix seconds, 0 when the file does not tell. */
  readonly builtAtSeconds: number;
  readonly bytes: number;
  /** The record for an address in canonical text, or null. Throws on a damaged file. */
  find(ip: string): unknown;
  /** Up to `count` addresses spread over the file's networks, each of which has a record. Throws on a damaged file. */
  sample(count: number): string[];
}

export type MmdbOutcome =
  | { readonly kind: 'ok'; readonly database: Mmdb }
  | { readonly kind: 'fault'; readonly detail: string };

/** Opens a file's bytes. Total; only the end of the file is read. */
export function openMmdb(bytes: SharedArrayBuffer): MmdbOutcome {
  const buffer = Buffer.from(bytes);
  // The package searches the whole file for the mark, byte by byte: for a large file without one that blocks for long.
  const tail = buffer.subarray(Math.max(0, buffer.length - METADATA_BYTES_MAX));
  if (!tail.includes(METADATA_MARK)) return { kind: 'fault', detail: 'it is no MaxMind DB file, or is cut short' };
  const bound = new DecodeBound();
  try {
    const reader = new Reader<Response>(buffer, { cache: bound });
    const { databaseType, ipVersion, nodeCount, searchTreeSize, buildEpoch } = reader.metadata;
    if (typeof databaseType !== 'string') return { kind: 'fault', detail: 'its metadata names no type' };
    if (ipVersion !== 4 && ipVersion !== 6) return { kind: 'fault', detail: 'its metadata names no IP version' };
    if (!Number.isInteger(nodeCount) || nodeCount < 1 || searchTreeSize > buffer.length - METADATA_MARK.length)
      return { kind: 'fault', detail: 'its search tree is larger than the file' };
    const builtAtMs = buildEpoch.getTime();
    return {
      kind: 'ok',
      database: {
        type: databaseType,
        ipVersion,
        bytes: bytes.byteLength,
        builtAtSeconds: Number.isFinite(builtAtMs) ? Math.floor(builtAtMs / 1000) : 0,
        find(ip) {
          bound.restart();
          return reader.get(ip);
        },
        sample: (count) => sampleAddresses(buffer, reader.metadata, count),
      },
    };
  } catch (error) {
    return { kind: 'fault', detail: `its metadata does not read: ${messageOf(error)}` };
  }
}

/**
 * The package's cache hook, called for every pointer that it follows: the place to bound the work of one look-up.
 * Measured: keeping shared parts decoded takes a look-up from 3.9 to 2.3 µs (63 MB city file, 100,000 random addresses).
 */
class DecodeBound {
  readonly #parts = new BoundedCache<string | number, unknown>(SHARED_PARTS);
  #pointers = 0;

  restart(): void {
    this.#pointers = 0;
  }

  get(offset: string | number): unknown {
    if (++this.#pointers > POINTERS_MAX) throw new Error('a record is damaged: too many pointers');
    return this.#parts.get(offset);
  }

  set(offset: string | number, part: unknown): void {
    this.#parts.set(offset, part);
  }
}

interface Tree {
  readonly ipVersion: number;
  readonly nodeCount: number;
  readonly recordSize: number;
  readonly nodeByteSize: number;
}

/**
 * Walks down the tree `count` times, each time by other bits but never into an empty branch when the other is not, so that even a
 * file with a handful of networks is tried where it has records.
 */
function sampleAddresses(buffer: Buffer, tree: Tree, count: number): string[] {
  const bits = tree.ipVersion === 4 ? 32 : 128;
  const found = new Set<string>();
  // A fixed start makes a refusal repeatable: the same file gives the same sample. Numerical Recipes' linear congruence.
  let state = 1;
  const nextBit = (): boolean => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >= 0x80000000;
  };
  for (let i = 0; i < count; i++) {
    const address = new Uint8Array(bits / 8);
    let node = 0;
    // The first walks spread over the upper bits evenly, which chance alone would not do.
    for (let depth = 0; depth < bits && node < tree.nodeCount; depth++) {
      const wanted = depth < 6 ? ((i >> (5 - depth)) & 1) === 1 : nextBit();
      let right = wanted;
      let next = readNode(buffer, tree, node, right);
      if (next === tree.nodeCount) {
        right = !right;
        next = readNode(buffer, tree, node, right);
      }
      if (right) address[depth >> 3] = (address[depth >> 3] ?? 0) | (128 >> (depth & 7));
      node = next;
    }
    if (node > tree.nodeCount) found.add(addressText(address));
  }
  return [...found];
}

function readNode(buffer: Buffer, tree: Tree, node: number, right: boolean): number {
  const at = node * tree.nodeByteSize;
  switch (tree.recordSize) {
    case 24:
      return buffer.readUIntBE(right ? at + 3 : at, 3);
    case 28: {
      const middle = buffer.readUInt8(at + 3);
      return right
        ? (middle & 15) * 0x1000000 + buffer.readUIntBE(at + 4, 3)
        : (middle >> 4) * 0x1000000 + buffer.readUIntBE(at, 3);
    }
    default:
      return buffer.readUInt32BE(right ? at + 4 : at);
  }
}

function addressText(address: Uint8Array): string {
  if (address.length === 4) return address.join('.');
  const groups: string[] = [];
  for (let i = 0; i < 16; i += 2) groups.push((((address[i] ?? 0) << 8) | (address[i + 1] ?? 0)).toString(16));
  return groups.join(':');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
