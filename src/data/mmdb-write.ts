import type { NetworkTree } from './network-tree.ts';

/** Source: the MaxMind DB format, version 2.0: https://maxmind.github.io/MaxMind-DB/ */
const METADATA_MARK = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
/** Zeros between the tree and the records. */
const SEPARATOR_BYTES = 16;
/** Numbers of the types of a value. */
const TYPE = { text: 2, uint16: 5, uint32: 6, map: 7, uint64: 9, list: 11, flag: 14 } as const;

type MmdbValue =
  | string
  | true
  | { readonly type: 'uint16' | 'uint32' | 'uint64'; readonly value: number }
  | { readonly list: readonly MmdbValue[] }
  | { readonly map: Readonly<Record<string, MmdbValue>> };

/**
 * Returns the bytes of a database file.
 * @param type the database's type, by which `GeoFolder` selects the slot.
 */
export function writeMmdb(tree: NetworkTree, type: string, builtAtSeconds: number): Buffer {
  const offsets: number[] = [];
  const encoded: Buffer[] = [];
  let size = 0;
  for (const record of tree.records) {
    const fields = Object.entries(record).map(([name, value]): [string, MmdbValue] => [
      name,
      typeof value === 'number' ? { type: 'uint32', value } : value,
    ]);
    const bytes = encode({ map: Object.fromEntries(fields) });
    offsets.push(size);
    encoded.push(bytes);
    size += bytes.length;
  }
  const crawlers = [
    ...new Set(tree.records.flatMap(({ crawler }) => (typeof crawler === 'string' ? [crawler] : []))),
  ].sort();
  const nodes = tree.nodeCount;
  const recordBits = nodes + SEPARATOR_BYTES + size < 2 ** 24 ? 24 : 32;
  const metadata = encode({
    map: {
      binary_format_major_version: { type: 'uint16', value: 2 },
      binary_format_minor_version: { type: 'uint16', value: 0 },
      build_epoch: { type: 'uint64', value: builtAtSeconds },
      database_type: type,
      description: { map: crawlers.length === 0 ? {} : { crawlers: crawlers.join(',') } },
      ip_version: { type: 'uint16', value: 6 },
      languages: { list: [] },
      node_count: { type: 'uint32', value: nodes },
      record_size: { type: 'uint16', value: recordBits },
    },
  });
  return Buffer.concat([
    treeBytes(tree, offsets, recordBits / 8),
    Buffer.alloc(SEPARATOR_BYTES),
    ...encoded,
    METADATA_MARK,
    metadata,
  ]);
}

function treeBytes(tree: NetworkTree, offsets: readonly number[], width: number): Buffer {
  const nodes = tree.nodeCount;
  const bytes = Buffer.alloc(2 * width * nodes);
  for (let node = 0; node < nodes; node++) {
    for (const side of [0, 1] as const) {
      const branch = tree.branch(node, side);
      const value = branch > 0 ? branch : branch === 0 ? nodes : nodes + SEPARATOR_BYTES + (offsets[-branch - 1] ?? 0);
      bytes.writeUIntBE(value, (2 * node + side) * width, width);
    }
  }
  return bytes;
}

function encode(value: MmdbValue): Buffer {
  if (value === true) return head(TYPE.flag, 1);
  if (typeof value === 'string') {
    const bytes = Buffer.from(value, 'utf8');
    return Buffer.concat([head(TYPE.text, bytes.length), bytes]);
  }
  if ('list' in value) return Buffer.concat([head(TYPE.list, value.list.length), ...value.list.map(encode)]);
  if ('map' in value) {
    const fields = Object.entries(value.map);
    return Buffer.concat([
      head(TYPE.map, fields.length),
      ...fields.flatMap(([name, one]) => [encode(name), encode(one)]),
    ]);
  }
  const digits = value.value === 0 ? '' : value.value.toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return Buffer.concat([head(TYPE[value.type], bytes.length), bytes]);
}

/** The control bytes before a value: its type and its size. Sizes: below 65,821. Types above 7 have a byte of their own. */
function head(type: number, size: number): Buffer {
  if (size >= 65_821) throw new RangeError('a value is too long for a record');
  const own = type > 7 ? [type - 7] : [];
  const first = type > 7 ? 0 : type << 5;
  if (size < 29) return Buffer.from([first | size, ...own]);
  if (size < 285) return Buffer.from([first | 29, ...own, size - 29]);
  return Buffer.from([first | 30, ...own, (size - 285) >> 8, (size - 285) & 255]);
}
