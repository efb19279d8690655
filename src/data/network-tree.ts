import { parseV4, parseV6 } from '../kernel/ip-text.ts';

/** What a network's record says: names of the fields of GeoIP databases, so that a compiled feed is read as one of them. */
export type NetworkRecord = Readonly<Record<string, string | number | true>>;

/** A network as the bits of an IPv6 address; an IPv4 network lies below `::/96`, as GeoIP databases have it. */
export interface NetworkBits {
  readonly bytes: Uint8Array;
  /** Leading bits that count, 0 to 128. */
  readonly length: number;
}

/** Source: the MaxMind DB format: IPv4 addresses are the last 32 bits of the tree. */
const V4_BITS_FROM = 96;

/** Returns null unless the text is an address, or a network in CIDR notation. Bits after its prefix are ignored, as feeds have them. */
export function readNetworkBits(
  text: string,
): (NetworkBits & { readonly version: 4 | 6; readonly prefix: number }) | null {
  const slash = text.indexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const version = address.includes(':') ? 6 : 4;
  const bits = version === 4 ? 32 : 128;
  const written = slash < 0 ? String(bits) : text.slice(slash + 1);
  if (!/^\d{1,3}$/.test(written) || Number(written) > bits) return null;
  const prefix = Number(written);
  const bytes = new Uint8Array(16);
  if (version === 4) {
    const value = parseV4(address);
    if (value < 0) return null;
    new DataView(bytes.buffer).setUint32(12, value);
    return { version, prefix, bytes, length: V4_BITS_FROM + prefix };
  }
  const groups = parseV6(address);
  if (groups === null) return null;
  for (const [at, group] of groups.entries()) new DataView(bytes.buffer).setUint16(2 * at, group);
  return { version, prefix, bytes, length: prefix };
}

/** Choice: the tree grows by doubling from here. */
const FIRST_NODES = 4_096;

/**
 * Networks with records in a binary tree. Where networks overlap, an address has the fields of all of them, and of the one that was added
 * last where two name the same field.
 */
export class NetworkTree {
  /** Two branches for each node: 0 is nothing, n > 0 is node n, n < 0 is record -n - 1. */
  #branches = new Int32Array(2 * FIRST_NODES);
  #nodes = 1;
  readonly #records: NetworkRecord[] = [];
  readonly #recordOf = new Map<string, number>();
  /** Two records → the record of both. */
  readonly #merged = new Map<string, number>();

  get nodeCount(): number {
    return this.#nodes;
  }

  get records(): readonly NetworkRecord[] {
    return this.#records;
  }

  /** Returns a branch of a node: 0 is nothing, n > 0 is node n, n < 0 is record -n - 1. */
  branch(node: number, side: 0 | 1): number {
    return this.#branches[2 * node + side] ?? 0;
  }

  /** A network of length 0, which would be every address, is a RangeError. */
  add({ bytes, length }: NetworkBits, record: NetworkRecord): void {
    if (length === 0) throw new RangeError('a network cannot be every address');
    const added = this.#intern(record);
    let node = 0;
    for (let depth = 0; depth < length - 1; depth++) node = this.#below(node, bitOf(bytes, depth));
    const side = bitOf(bytes, length - 1);
    this.#set(node, side, this.#with(this.branch(node, side), added));
  }

  /** Returns the node of a branch, which is made where there is none. */
  #below(node: number, side: 0 | 1): number {
    const found = this.branch(node, side);
    if (found > 0) return found;
    if (2 * (this.#nodes + 1) > this.#branches.length) {
      const grown = new Int32Array(2 * this.#branches.length);
      grown.set(this.#branches);
      this.#branches = grown;
    }
    const made = this.#nodes++;
    this.#set(made, 0, found);
    this.#set(made, 1, found);
    this.#set(node, side, made);
    return made;
  }

  #set(node: number, side: 0 | 1, value: number): void {
    this.#branches[2 * node + side] = value;
  }

  /** Returns the branch with a record added to everything below it. */
  #with(branch: number, added: number): number {
    if (branch === 0) return -added - 1;
    if (branch < 0) return -this.#merge(-branch - 1, added) - 1;
    for (const side of [0, 1] as const) this.#set(branch, side, this.#with(this.branch(branch, side), added));
    return branch;
  }

  #merge(first: number, second: number): number {
    const key = `${first},${second}`;
    const known = this.#merged.get(key);
    if (known !== undefined) return known;
    const merged = this.#intern({ ...this.#records[first], ...this.#records[second] });
    this.#merged.set(key, merged);
    return merged;
  }

  #intern(record: NetworkRecord): number {
    const key = JSON.stringify(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    let at = this.#recordOf.get(key);
    if (at === undefined) {
      at = this.#records.push(record) - 1;
      this.#recordOf.set(key, at);
    }
    return at;
  }
}

function bitOf(bytes: Uint8Array, at: number): 0 | 1 {
  return (((bytes[at >> 3] ?? 0) >> (7 - (at & 7))) & 1) as 0 | 1;
}
