import { expect, test } from 'vitest';
import { openMmdb } from '../../../src/assets/mmdb.ts';
import { NetworkTree, type NetworkRecord, readNetworkBits } from '../../../src/data/network-tree.ts';
import { writeMmdb } from '../../../src/data/mmdb-write.ts';
import { formatV4 } from '../../../src/kernel/ip-text.ts';

function databaseOf(networks: readonly (readonly [string, NetworkRecord])[]) {
  const tree = new NetworkTree();
  for (const [network, record] of networks) {
    const bits = readNetworkBits(network);
    if (bits === null) throw new Error(network);
    tree.add(bits, record);
  }
  const bytes = writeMmdb(tree, 'Gatehouse-Networks', 1_800_000_000);
  const shared = new SharedArrayBuffer(bytes.length);
  new Uint8Array(shared).set(bytes);
  const outcome = openMmdb(shared);
  if (outcome.kind !== 'ok') throw new Error(outcome.detail);
  return outcome.database;
}

test('A database that was written is read: networks of both versions, overlapping ones with the fields of both', () => {
  const database = databaseOf([
    ['198.51.100.0/24', { vpn: true }],
    ['198.51.100.7', { tor: true }],
    ['2001:db8::/32', { autonomous_system_number: 64_500, autonomous_system_organization: 'Example GmbH' }],
    ['198.51.0.0/16', { hosting: true }],
  ]);
  expect(database.type).toBe('Gatehouse-Networks');
  expect(database.builtAtSeconds).toBe(1_800_000_000);
  expect(database.find('198.51.100.7')).toEqual({ vpn: true, tor: true, hosting: true });
  expect(database.find('198.51.100.8')).toEqual({ vpn: true, hosting: true });
  expect(database.find('198.51.101.1')).toEqual({ hosting: true });
  expect(database.find('198.52.0.1')).toBeNull();
  expect(database.find('2001:db8:1::1')).toEqual({
    autonomous_system_number: 64_500,
    autonomous_system_organization: 'Example GmbH',
  });
  expect(database.locate('198.52.0.1', 4)).toBe(0);
  expect(database.crawlers).toEqual([]);
});

test('Of 400 networks each address has the fields of exactly those that contain it', () => {
  let state = 7;
  const next = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0);
  // Few first bits, so that many networks overlap.
  const networks = Array.from({ length: 400 }, (_, n) => {
    const prefix = 12 + (next() % 21);
    const mask = prefix === 32 ? 0xffff_ffff : ~(0xffff_ffff >>> prefix) >>> 0;
    return { first: ((0x0a00_0000 | (next() >>> 12)) & mask) >>> 0, mask, prefix, name: `n${n % 40}` };
  });
  const database = databaseOf(
    networks.map(({ first, prefix, name }) => [`${formatV4(first)}/${prefix}`, { [name]: true }]),
  );
  for (let n = 0; n < 4_000; n++) {
    const address = (0x0a00_0000 | (next() >>> 12)) >>> 0;
    const names = networks.filter(({ first, mask }) => (address & mask) >>> 0 === first).map(({ name }) => name);
    const found = (database.find(formatV4(address)) ?? {}) as NetworkRecord;
    expect(Object.keys(found).sort()).toEqual([...new Set(names)].sort());
  }
});

test.each(['', '1.2.3', '1.2.3.4/33', '1.2.3.4/', '::/129', 'a.example', '1.2.3.4/8x', '[::1]'])(
  '"%s" is no network',
  (text) => {
    expect(readNetworkBits(text)).toBeNull();
  },
);

test('A network that is every address is refused', () => {
  const bits = readNetworkBits('::/0');
  expect(() => new NetworkTree().add(bits ?? { bytes: new Uint8Array(16), length: 0 }, { tor: true })).toThrow(
    RangeError,
  );
});
