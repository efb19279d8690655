import { describe, expect, test } from 'vitest';
import { EncryptedValues } from '../../../../src/cluster/store/encrypted-values.ts';
import * as keys from '../../../../src/cluster/store/store-keys.ts';
import { readRedirect, readSlots, slotOf } from '../../../../src/cluster/store/hash-slots.ts';

const NAMES = {
  window: keys.windowKey(7, 'decide', 1_795_000_020),
  visitors: keys.visitorsKey(7, 'decide', 1_795_000_020),
  id: keys.requestIdKey(7, 4_294_967_295, 0),
  velocity: keys.velocityKey(keys.velocityShard(130)),
  changes: keys.CHANGES_KEY,
  cluster: keys.CLUSTER_KEY,
  nodes: keys.NODES_KEY,
  feed: keys.feedKey('snapshot'),
  node: keys.nodeKey('node-1', 'inbox'),
  delivery: keys.deliveryKey('3', 'leases'),
  extraction: keys.extractionKey('3', 'domains'),
};

describe('the names of keys in the shared store', () => {
  test('Every name begins with a hash tag of Gatehouse, and no two parts share a name', () => {
    for (const name of Object.values(NAMES)) expect(name).toMatch(/^\{gh:[\w-]+\}:[\w.]+$/);
    expect(new Set(Object.values(NAMES)).size).toBe(Object.keys(NAMES).length);
  });

  test('All names of a key that admission uses together are in one slot, and those of the feed in another', () => {
    expect(new Set([NAMES.window, NAMES.visitors, NAMES.id].map(slotOf)).size).toBe(1);
    expect(new Set([NAMES.changes, NAMES.cluster, NAMES.nodes, NAMES.feed].map(slotOf)).size).toBe(1);
    expect(slotOf(NAMES.window)).not.toBe(slotOf(NAMES.changes));
  });

  test('Windows, keys and ids that differ have different names', () => {
    const windows = (['decide', 'management', 'outcomes'] as const).flatMap((window) => [
      keys.windowKey(1, window, 60),
      keys.visitorsKey(1, window, 60),
    ]);
    expect(new Set([...windows, keys.windowKey(1, 'decide', 120), keys.windowKey(11, 'decide', 60)]).size).toBe(8);
    expect(keys.requestIdKey(1, 36, 1)).not.toBe(keys.requestIdKey(1, 1, 361));
  });
});

describe('slots of a Cluster', () => {
  test.each([
    // The check value of CRC-16/XMODEM.
    ['123456789', 0x31c3 % 16_384],
    ['foo', 12_182],
    ['{foo}:bar', 12_182],
    // An empty tag is not a tag.
    ['{}foo', 9_500],
    ['', 0],
  ])('The slot of %j is that of the specification', (key, slot) => {
    expect(slotOf(key)).toBe(slot);
  });

  test('Redirects are read with names, addresses and without a host; other errors are not redirects', () => {
    expect(readRedirect('MOVED 3999 127.0.0.1:6381')).toEqual({
      kind: 'moved',
      slot: 3_999,
      host: '127.0.0.1',
      port: 6_381,
    });
    expect(readRedirect('ASK 1 ::1:7000')).toEqual({ kind: 'ask', slot: 1, host: '::1', port: 7_000 });
    expect(readRedirect('MOVED 1 :7000')).toMatchObject({ host: '' });
    for (const other of ['MOVED', 'ERR MOVED 1 a:1', 'ASK x a:1', 'MOVED 1 a', ''])
      expect(readRedirect(other)).toBeNull();
  });

  test('A map of slots without a known address for a range is read without this range, and nothing else is a map', () => {
    const primary = [Buffer.from('10.0.0.1'), 7_000, Buffer.from('id'), []];
    expect(
      readSlots([
        [0, 99, primary],
        [100, 199, [null, 7_001]],
        [200, 299, [Buffer.from('?'), 7_002]],
      ]),
    ).toEqual([
      { from: 0, to: 99, host: '10.0.0.1', port: 7_000 },
      { from: 100, to: 199, host: '', port: 7_001 },
    ]);
    for (const other of [null, 'OK', 1, [['0', 1, primary]], [[0, 1]], [[0, 1, ['a', 'b']]]])
      expect(readSlots(other)).toBeNull();
  });
});

describe('encrypted values', () => {
  const values = new EncryptedValues(Buffer.alloc(32, 1));

  test('A value is read back under its Redis key, and unreadable under another one, for another cluster, or changed', () => {
    const value = values.encrypt('{gh:v1}:events', Buffer.from('plain'));
    expect(value.includes('plain')).toBe(false);
    expect(values.decrypt('{gh:v1}:events', value)?.toString()).toBe('plain');
    expect(values.decrypt('{gh:v2}:events', value)).toBeNull();
    expect(new EncryptedValues(Buffer.alloc(32, 2)).decrypt('{gh:v1}:events', value)).toBeNull();
    value[value.length - 1] = (value.at(-1) ?? 0) ^ 1;
    expect(values.decrypt('{gh:v1}:events', value)).toBeNull();
  });
});
