import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { PublishedConsensus } from '../../../../src/risk/registry/consensus.ts';
import { durably } from '../../../../src/state/tables/durable.ts';
import type { Registry } from '../../../../src/state/tables/registry-table.ts';
import type { Store } from '../../../../src/state/feed/open-store.ts';
import { table } from '../../../../src/state/tables/environment.ts';
import { hashOf, tempStore, value } from '../support.ts';
import { writesOf } from '../../../support/writes.ts';

const DAY = 86_400;

function promote(store: Store, seed: number, promotion: PublishedConsensus | null): Promise<void> {
  return value(durably(store.state, () => store.registry.setConsensus(hashOf(seed), promotion, 2000)));
}

function imported(seed: number, extra: Partial<PublishedConsensus & { risk: number }> = {}) {
  return {
    fingerprintHash: hashOf(seed),
    risk: 60,
    customers: 9,
    firstSeenSeconds: 5,
    lastSeenSeconds: 1000,
    ...extra,
  };
}

const PROMOTION: PublishedConsensus = {
  customers: 4,
  confirmed: 4,
  firstSeenSeconds: 500,
  lastSeenSeconds: 2000,
  risenAtSeconds: 2000,
  shownBefore: 0,
};

describe('registry', () => {
  test('An imported entry is read back as stored, with its half-life on the hot path', async () => {
    const store = tempStore();
    const { registry } = store;
    const entry = { risk: 87.3, customers: 3, firstSeenSeconds: 5, lastSeenSeconds: 1000 };
    await value(writesOf(store).registry.put({ fingerprintHash: hashOf(1), ...entry }));
    expect(registry.get(hashOf(1))).toEqual({ imported: entry, publishedConsensus: null });
    expect(registry.find(hashOf(1), 1000)?.customers).toBe(3);
    expect(registry.find(hashOf(1), 1000)?.risk).toBeCloseTo(87.3, 4);
    expect(registry.find(hashOf(1), 1000 + 21 * DAY)?.risk).toBeCloseTo(43.65, 4);
    expect(registry.find(hashOf(2), 1000)).toBeNull();
  });

  test('Many entries are written in one call and can be replaced', async () => {
    const store = tempStore();
    const { registry } = store;
    const entries = Array.from({ length: 3000 }, (_, i) =>
      imported(i * 7919, { risk: i % 101, customers: i, firstSeenSeconds: i, lastSeenSeconds: i + 1 }),
    );
    await value(writesOf(store).registry.putMany(entries));
    expect(registry.count()).toBe(3000);
    for (const { fingerprintHash, ...entry } of entries) expect(registry.get(fingerprintHash)?.imported).toEqual(entry);
    await value(writesOf(store).registry.put(imported(0, { customers: 9 })));
    expect(registry.get(hashOf(0))?.imported?.customers).toBe(9);
    expect(registry.count()).toBe(3000);
  });

  test('A promoted entry has the risk of its customers, decaying from its last sighting', async () => {
    const store = tempStore();
    await promote(store, 1, PROMOTION);
    expect(store.registry.get(hashOf(1))).toEqual({ imported: null, publishedConsensus: PROMOTION });
    expect(store.registry.find(hashOf(1), 2000)).toEqual({ risk: 90, customers: 4 });
    expect(store.registry.find(hashOf(1), 2000 + 7 * DAY)?.risk).toBe(90);
    expect(store.registry.find(hashOf(1), 2000 + 21 * DAY)?.risk).toBeCloseTo(45, 9);
    expect(store.registry.find(hashOf(1), 2000 + 35 * DAY)?.risk).toBeCloseTo(22.5, 9);
  });

  test.each(['the import first', 'the promotion first'])(
    'An imported and a promoted part are one entry, with %s',
    async (order) => {
      const store = tempStore();
      const writes = [() => value(writesOf(store).registry.put(imported(1))), () => promote(store, 1, PROMOTION)];
      if (order === 'the promotion first') writes.reverse();
      for (const write of writes) await write();
      const { fingerprintHash: _hash, ...part } = imported(1);
      expect(store.registry.get(hashOf(1))).toEqual({ imported: part, publishedConsensus: PROMOTION });
      // The higher risk, and never fewer customers than imported.
      expect(store.registry.find(hashOf(1), 2000)).toEqual({ risk: 90, customers: 9 });
      await promote(store, 1, null);
      expect(store.registry.get(hashOf(1))).toEqual({ imported: part, publishedConsensus: null });
      expect(store.registry.find(hashOf(1), 2000)).toEqual({ risk: 60, customers: 9 });
    },
  );

  test('A promotion does not lower the higher risk of an import', async () => {
    const store = tempStore();
    await value(writesOf(store).registry.put(imported(1, { risk: 99, lastSeenSeconds: 2000 })));
    await promote(store, 1, PROMOTION);
    expect(store.registry.find(hashOf(1), 2000)?.risk).toBe(99);
    // When the import has faded, it does not lower the risk of the promotion either.
    expect(store.registry.find(hashOf(1), 2000 + 30 * DAY)?.risk).toBeGreaterThan(20);
  });

  test('A new import replaces the data of the previous one and keeps the promotion', async () => {
    const store = tempStore();
    await value(writesOf(store).registry.put(imported(1)));
    await promote(store, 1, PROMOTION);
    await value(writesOf(store).registry.put(imported(1, { risk: 10, customers: 0 })));
    expect(store.registry.get(hashOf(1))).toMatchObject({
      imported: { risk: 10, customers: 0 },
      publishedConsensus: PROMOTION,
    });
    expect(store.registry.find(hashOf(1), 2000)).toEqual({ risk: 90, customers: 4 });
  });

  test('An entry that was only promoted is removed with its promotion', async () => {
    const store = tempStore();
    await promote(store, 1, PROMOTION);
    await promote(store, 1, null);
    expect([store.registry.get(hashOf(1)), store.registry.count()]).toEqual([null, 0]);
  });

  test('Faded promotions are pruned, imports and recent promotions stay', async () => {
    const store = tempStore();
    const now = 400 * DAY;
    for (let seed = 0; seed < 30; seed++) {
      if (seed % 2 === 0) await value(writesOf(store).registry.put(imported(seed)));
      if (seed % 3 === 0) await promote(store, seed, { ...PROMOTION, lastSeenSeconds: seed < 15 ? 1000 : now - DAY });
    }
    const before = store.registry.count();
    let removed = 0;
    for (let round = 0; round < 8; round++) removed += await value(writesOf(store).registry.prune(now, 4));
    expect(removed).toBe(5);
    // Promotions 0, 3, 6, 9 and 12 were pruned. 3 and 9 had no imported part, so their entries are gone.
    expect(store.registry.count()).toBe(before - 2);
    expect(promotedSeeds(store.registry)).toEqual([15, 18, 21, 24, 27]);
    expect(await value(writesOf(store).registry.prune(now, 1000))).toBe(0);
  });

  test('A promotion written by older versions counts as confirmed and shown', async () => {
    const store = tempStore();
    const key = Buffer.from(hashOf(8), 'hex');
    const old = Buffer.alloc(24);
    old.writeUInt32BE(6, 0);
    old.writeDoubleBE(10, 4);
    old.writeDoubleBE(20, 12);
    old.writeUInt32BE(crc32(old.subarray(0, 20), crc32(key)), 20);
    const rows = table(store.state, 'registry');
    await value(durably(store.state, () => void rows.put(key, old)));
    expect(store.registry.find(hashOf(8), 20)).toEqual({ risk: 94, customers: 6 });
    expect(store.registry.findShown(hashOf(8), 20)).toMatchObject({ risk: 94, customers: 5 });
    await value(writesOf(store).registry.put(imported(8)));
    expect(store.registry.get(hashOf(8))?.publishedConsensus).toMatchObject({ customers: 6, confirmed: 6 });
  });

  test('A value written by older versions is an imported entry', async () => {
    const store = tempStore();
    const key = Buffer.from(hashOf(7), 'hex');
    const old = Buffer.alloc(28);
    old.writeFloatBE(80, 0);
    old.writeUInt32BE(5, 4);
    old.writeDoubleBE(10, 8);
    old.writeDoubleBE(20, 16);
    old.writeUInt32BE(crc32(old.subarray(0, 24), crc32(key)), 24);
    const rows = table(store.state, 'registry');
    await value(durably(store.state, () => void rows.put(key, old)));
    expect(store.registry.find(hashOf(7), 20)).toEqual({ risk: 80, customers: 5 });
    expect(store.registry.get(hashOf(7))?.imported).toEqual({
      risk: 80,
      customers: 5,
      firstSeenSeconds: 10,
      lastSeenSeconds: 20,
    });
  });
});

function promotedSeeds(registry: Registry): number[] {
  return Array.from({ length: 30 }, (_, seed) => seed).filter(
    (seed) => (registry.get(hashOf(seed))?.publishedConsensus ?? null) !== null,
  );
}
