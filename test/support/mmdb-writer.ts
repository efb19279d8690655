/**
 * Writes small MaxMind DB files, so that tests need no external data. Source: the MaxMind DB file format, version 2.0. IPv4 networks in an
 * IPv6 tree are stored under ::/96, as the format requires.
 */
type MmdbValue =
  | string
  | number
  | boolean
  | bigint
  | Double
  | readonly MmdbValue[]
  | { readonly [key: string]: MmdbValue };

/** A number that is written as a double even if it is an integer. */
export class Double {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

export interface MmdbOptions {
  readonly type: string;
  readonly ipVersion: 4 | 6;
  /** Network in CIDR notation → its record. */
  readonly networks: Readonly<Record<string, MmdbValue>>;
  readonly builtAtSeconds?: number;
  /** Bits of a branch; 24 if not given. */
  readonly recordSize?: 24 | 28 | 32;
}

/** One branch of a node: another node, a record, or nothing. */
type Branch = TreeNode | Leaf | null;
interface TreeNode {
  readonly kind: 'node';
  readonly branches: [Branch, Branch];
}
interface Leaf {
  readonly kind: 'leaf';
  readonly dataAt: number;
}

export const MARK = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');

export function writeMmdb(options: MmdbOptions): Buffer {
  const root: TreeNode = { kind: 'node', branches: [null, null] };
  const data: Buffer[] = [];
  let dataBytes = 0;
  for (const [network, record] of Object.entries(options.networks)) {
    const encoded = encode(record);
    insert(root, networkBits(network, options.ipVersion), { kind: 'leaf', dataAt: dataBytes });
    data.push(encoded);
    dataBytes += encoded.length;
  }

  const nodes: TreeNode[] = [];
  const numbers = new Map<TreeNode, number>();
  const collect = (node: TreeNode): void => {
    numbers.set(node, nodes.length);
    nodes.push(node);
    for (const branch of node.branches) if (branch?.kind === 'node') collect(branch);
  };
  collect(root);

  const recordSize = options.recordSize ?? 24;
  const nodeBytes = recordSize / 4;
  const tree = Buffer.alloc(nodes.length * nodeBytes);
  for (const [i, node] of nodes.entries()) {
    for (const [side, branch] of node.branches.entries()) {
      let pointer = nodes.length;
      if (branch?.kind === 'leaf') pointer = nodes.length + 16 + branch.dataAt;
      else if (branch?.kind === 'node') pointer = numbers.get(branch) ?? 0;
      writeBranch(tree.subarray(i * nodeBytes, (i + 1) * nodeBytes), side, pointer, recordSize);
    }
  }
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: BigInt(options.builtAtSeconds ?? 1_780_000_000),
    database_type: options.type,
    description: { en: 'made for tests' },
    ip_version: options.ipVersion,
    languages: ['en'],
    node_count: nodes.length,
    record_size: recordSize,
  });
  return Buffer.concat([tree, Buffer.alloc(16), ...data, MARK, metadata]);
}

/** Of 28 bits, the uppermost four of both branches share the byte in the middle. */
function writeBranch(node: Buffer, side: number, pointer: number, recordSize: number): void {
  const bytes = recordSize === 32 ? 4 : 3;
  const upper = recordSize === 28 ? Math.floor(pointer / 0x1000000) : 0;
  node.writeUIntBE(pointer - upper * 0x1000000, side === 0 ? 0 : node.length - bytes, bytes);
  if (recordSize === 28) node.writeUInt8((node[3] ?? 0) | (side === 0 ? upper << 4 : upper), 3);
}

/** Copies the bytes into shared memory. */
export function shared(bytes: Uint8Array): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(bytes.length);
  new Uint8Array(buffer).set(bytes);
  return buffer;
}

function insert(root: TreeNode, bits: readonly (0 | 1)[], leaf: Leaf): void {
  let node = root;
  for (const [depth, bit] of bits.entries()) {
    if (depth === bits.length - 1) {
      node.branches[bit] = leaf;
      return;
    }
    const next = node.branches[bit];
    if (next?.kind === 'node') node = next;
    else {
      // Pushes an existing record down, so that the more specific network wins where both match.
      const made: TreeNode = { kind: 'node', branches: [next, next] };
      node.branches[bit] = made;
      node = made;
    }
  }
}

function networkBits(network: string, ipVersion: 4 | 6): readonly (0 | 1)[] {
  const [address = '', length = ''] = network.split('/');
  const four = address.includes('.');
  if (four && ipVersion === 4) return bitsOf(address.split('.').map(Number)).slice(0, Number(length));
  if (four) return [...Array<0>(96).fill(0), ...bitsOf(address.split('.').map(Number)).slice(0, Number(length))];
  if (ipVersion === 4) throw new Error('an IPv6 network in an IPv4 tree');
  return bitsOf(bytesOfSix(address)).slice(0, Number(length));
}

function bytesOfSix(address: string): number[] {
  const [left = '', right = ''] = address.split('::');
  const head = left === '' ? [] : left.split(':');
  const tail = right === '' ? [] : right.split(':');
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return groups.flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 255];
  });
}

function bitsOf(bytes: readonly number[]): (0 | 1)[] {
  return bytes.flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((bit): 0 | 1 => (((byte >> bit) & 1) === 1 ? 1 : 0)));
}

function encode(value: MmdbValue): Buffer {
  if (value instanceof Double) return encodeDouble(value.value);
  if (typeof value === 'string') {
    const text = Buffer.from(value, 'utf8');
    return Buffer.concat([control(2, text.length), text]);
  }
  if (typeof value === 'number')
    return Number.isInteger(value) && value >= 0 && value <= 0xffffffff
      ? encodeUint(6, BigInt(value))
      : encodeDouble(value);
  if (typeof value === 'bigint') return encodeUint(9, value);
  if (typeof value === 'boolean') return control(14, value ? 1 : 0);
  if (Array.isArray(value)) return Buffer.concat([control(11, value.length), ...value.map(encode)]);
  const entries = Object.entries(value as Readonly<Record<string, MmdbValue>>);
  return Buffer.concat([
    control(7, entries.length),
    ...entries.flatMap(([key, entry]) => [encode(key), encode(entry)]),
  ]);
}

function encodeDouble(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return Buffer.concat([control(3, 8), bytes]);
}

function encodeUint(type: number, value: bigint): Buffer {
  const digits = value === 0n ? '' : value.toString(16);
  const bytes = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
  return Buffer.concat([control(type, bytes.length), bytes]);
}

/** Types above 7 are "extended": the first byte has type 0, and the next byte is the type minus 7. */
function control(type: number, size: number): Buffer {
  const long = size >= 29;
  if (size >= 29 + 256) throw new Error('too long for a test');
  const first = ((type <= 7 ? type : 0) << 5) | (long ? 29 : size);
  return Buffer.from([first, ...(type <= 7 ? [] : [type - 7]), ...(long ? [size - 29] : [])]);
}
