import { describe, expect, test } from 'vitest';
import type { FingerprintHash } from '../../../../src/kernel/brand.ts';
import { testCustomerOf } from '../../../../src/kernel/test-customers.ts';
import { table } from '../../../../src/state/tables/environment.ts';
import type { Store } from '../../../../src/state/feed/open-store.ts';
import { SightingQueue } from '../../../../src/state/feed/sighting-queue.ts';
import type { SightingKind } from '../../../../src/state/tables/sighting-row.ts';
import { SightingReports } from '../../../../src/state/feed/sighting-reports.ts';
import type { NewSighting } from '../../../../src/state/tables/sighting-table.ts';
import { RowCounters } from '../../../../src/state/tables/row-counters.ts';
import { customer, hashOf, open, tempFolder, tempStore, value } from '../support.ts';
import { boundedFeed, withdrawn, writesOf } from '../../../support/writes.ts';

const DAY = 86_400;
const NOW = 20_000 * DAY;
const F = hashOf(1);

async function block(store: Store, numbers: readonly number[], at = NOW, hash = F): Promise<void> {
  for (const number of numbers) await value(store.sightingReports.noteBlocks(customer(number), [hash], at));
}

function takeBack(store: Store, number: number, kinds: readonly SightingKind[], at = NOW): Promise<void> {
  return value(withdrawn(store, customer(number), F, kinds, at));
}

function talliesOf(store: Store): RowCounters {
  return new RowCounters(table(store.state, 'tallies'));
}

/** Reports to the store with other limits. */
function bounded(store: Store, sightings: number, sightingsAutomatic: number): SightingReports {
  return new SightingReports(boundedFeed(store, { sightings, sightingsAutomatic }));
}

const one = (fingerprintHash: FingerprintHash, atSeconds = NOW) => [{ fingerprintHash, atSeconds }];

describe('promotion by sightings', () => {
  test('Two customers promote nothing, the third does, and five and ten customers increase the risk up to 98', async () => {
    const store = tempStore();
    const risks: (number | null)[] = [];
    for (let number = 1; number <= 11; number++) {
      await block(store, [number]);
      risks.push(store.registry.find(F, NOW)?.risk ?? null);
    }
    expect(risks).toEqual([null, null, 90, 90, 94, 94, 94, 94, 94, 98, 98]);
    expect(store.registry.find(F, NOW)?.customers).toBe(11);
  });

  test('Test keys promote nothing', async () => {
    const store = tempStore();
    await block(store, [1, 2]);
    await block(
      store,
      [3, 4, 5].map((number) => testCustomerOf(customer(number))),
    );
    expect([store.registry.get(F), store.sightings.customersOf(F, NOW)]).toEqual([null, 2]);
  });

  test('A customer counts once, whatever it does', async () => {
    const store = tempStore();
    for (let round = 0; round < 5; round++) {
      for (const kind of ['list', 'label', 'decision'] as const) {
        await value(store.sightingReports.noteMany(customer(1), kind, one(F, NOW + round), NOW + round));
      }
    }
    await block(store, [2], NOW + 5);
    expect(store.registry.get(F)).toBeNull();
    expect(store.sightings.customersOf(F, NOW + 5)).toBe(2);
    await value(store.sightingReports.noteMany(customer(3), 'decision', one(F, NOW + 5), NOW + 5));
    expect(store.registry.get(F)?.publishedConsensus).toMatchObject({
      customers: 3,
      confirmed: 2,
      firstSeenSeconds: NOW,
      lastSeenSeconds: NOW + 5,
    });
  });

  test('Each kind of evidence counts, from three different customers', async () => {
    const store = tempStore();
    for (const [i, kind] of (['list', 'label', 'decision'] as const).entries()) {
      expect(store.registry.find(F, NOW)).toBeNull();
      await value(store.sightingReports.noteMany(customer(i + 1), kind, one(F), NOW));
    }
    // A BLOCK by traffic alone is not confirmed.
    expect(store.registry.find(F, NOW)).toMatchObject({ risk: 60, customers: 3 });
  });

  test('Three customers within 30 days promote a fingerprint, three over a longer time do not', async () => {
    const store = tempStore();
    await block(store, [1], NOW);
    await block(store, [2], NOW + 20 * DAY);
    await block(store, [3], NOW + 30 * DAY + 1);
    expect(store.registry.find(F, NOW + 30 * DAY + 1)).toBeNull();
    await block(store, [1], NOW + 30 * DAY + 2);
    expect(store.registry.find(F, NOW + 30 * DAY + 2)).toMatchObject({ risk: 90, customers: 3 });
    // The first customer's expired sighting is forgotten: the fingerprint was first seen by the second.
    expect(store.registry.get(F)?.publishedConsensus?.firstSeenSeconds).toBe(NOW + 20 * DAY);
  });

  test('The risk halves from 7 days after the last sighting, and a new sighting by one of the three restores it', async () => {
    const store = tempStore();
    await block(store, [1, 2, 3]);
    expect(store.registry.find(F, NOW + 7 * DAY)?.risk).toBe(90);
    expect(store.registry.find(F, NOW + 21 * DAY)?.risk).toBeCloseTo(45, 9);
    await block(store, [2], NOW + 21 * DAY);
    expect(store.registry.find(F, NOW + 21 * DAY)).toMatchObject({ risk: 90, customers: 3 });
  });

  test('One customer alone cannot keep an entry from fading once the others have expired', async () => {
    const store = tempStore();
    await block(store, [1, 2, 3]);
    const later = NOW + 35 * DAY;
    await block(store, [1], later);
    expect(store.registry.find(F, later)?.risk).toBeCloseTo(22.5, 9);
    expect(store.registry.get(F)?.publishedConsensus?.lastSeenSeconds).toBe(NOW);
  });

  test('Sightings of different fingerprints, even neighbouring ones, are independent', async () => {
    const store = tempStore();
    const last = 'f'.repeat(64) as FingerprintHash;
    await block(store, [1, 2], NOW, hashOf(1));
    await block(store, [3, 0xffff_ffff], NOW, hashOf(2));
    await block(store, [1, 0xffff_ffff], NOW, last);
    expect(store.registry.count()).toBe(0);
    await block(store, [3], NOW, last);
    expect([store.registry.count(), store.registry.find(last, NOW)]).toMatchObject([1, { risk: 90, customers: 3 }]);
  });

  test('Sightings and promotions survive a restart', async () => {
    const folder = tempFolder();
    const before = open(folder);
    await block(before, [1, 2]);
    await before.close();
    const after = open(folder);
    await block(after, [3]);
    expect(after.registry.find(F, NOW)).toMatchObject({ risk: 90, customers: 3 });
    await after.close();
  });
});

describe('BLOCKs by traffic alone', () => {
  const see = (store: Store, number: number, seen: Partial<NewSighting> & { readonly atSeconds: number }) =>
    value(
      store.sightingReports.noteMany(customer(number), 'decision', [{ fingerprintHash: F, ...seen }], seen.atSeconds),
    );

  test.each([
    ['one network on one day', [1], [0], 60],
    ['three networks on one day', [1, 2, 3], [0], 60],
    ['two networks on three days', [1, 2], [0, 1, 2], 60],
    ['three networks on two days', [1, 2, 3], [0, 1], 90],
  ])(
    'The risk after BLOCKs of three customers depends on networks and days: %s',
    async (_case, networks, days, risk) => {
      const store = tempStore();
      for (const day of days)
        for (const network of networks)
          for (const number of [1, 2, 3]) await see(store, number, { atSeconds: NOW + day * DAY + network, network });
      const end = NOW + (days.at(-1) ?? 0) * DAY + 5;
      expect(store.registry.find(F, end)).toMatchObject({ risk, customers: 3 });
    },
  );

  test('Days with a BLOCK are forgotten after 30 days without one', async () => {
    const store = tempStore();
    for (const at of [NOW, NOW + 31 * DAY])
      for (const network of [1, 2, 3])
        for (const number of [1, 2, 3]) await see(store, number, { atSeconds: at + network, network });
    expect(store.registry.find(F, NOW + 31 * DAY)?.risk).toBe(60);
  });

  test('BLOCKs do not report a fingerprint that the customer has known for days, unless it was reported before', async () => {
    const store = tempStore();
    for (const number of [1, 2, 3]) await see(store, number, { atSeconds: NOW, isFamiliar: true });
    expect(store.sightings.customersOf(F, NOW)).toBe(0);
    await block(store, [1]);
    for (const number of [1, 2, 3]) await see(store, number, { atSeconds: NOW + 1, isFamiliar: true });
    expect(store.sightings.customersOf(F, NOW)).toBe(1);
  });

  test('Rejected sightings are not written', async () => {
    const store = tempStore();
    store.sightingReports.takeOnly((_customer, _hash, kind) => kind !== 'list');
    await block(store, [1, 2, 3]);
    expect([store.sightings.customersOf(F, NOW), store.registry.count()]).toEqual([0, 0]);
  });
});

describe('the promotion as shown to customers', () => {
  test('Customers see coarse numbers of a promotion, a day late', async () => {
    const store = tempStore();
    const shown = (at: number) => store.registry.findShown(F, at);
    await block(store, [1, 2, 3], NOW);
    expect([store.registry.find(F, NOW)?.risk, shown(NOW), shown(NOW + DAY - 1)]).toEqual([90, null, null]);
    expect(shown(NOW + DAY)).toMatchObject({ risk: 90, customers: 3 });
    await block(store, [4, 5, 6], NOW + 2 * DAY);
    expect(shown(NOW + 3 * DAY - 1)).toMatchObject({ risk: 90, customers: 3 });
    expect(shown(NOW + 3 * DAY)).toMatchObject({ risk: 94, customers: 5 });
    await block(store, [7], NOW + 4 * DAY);
    expect(shown(NOW + 4 * DAY)).toMatchObject({ risk: 94, customers: 5 });
  });
});

describe('revoking evidence', () => {
  test('Revoking evidence ends a promotion at once if fewer than three customers are left', async () => {
    const store = tempStore();
    await block(store, [1, 2, 3, 4]);
    await takeBack(store, 4, ['list']);
    expect(store.registry.find(F, NOW)).toMatchObject({ risk: 90, customers: 3 });
    await takeBack(store, 1, ['list']);
    expect([store.registry.get(F), store.registry.count()]).toEqual([null, 0]);
    await block(store, [1]);
    expect(store.registry.find(F, NOW)).toMatchObject({ risk: 90, customers: 3 });
  });

  test('Revoking evidence keeps the imported part', async () => {
    const store = tempStore();
    const part = { risk: 55, customers: 7, firstSeenSeconds: 1, lastSeenSeconds: NOW };
    await value(writesOf(store).registry.put({ fingerprintHash: F, ...part }));
    await block(store, [1, 2, 3]);
    expect(store.registry.find(F, NOW)).toMatchObject({ risk: 90, customers: 7 });
    await takeBack(store, 2, ['list']);
    expect(store.registry.find(F, NOW)).toMatchObject({ risk: 55, customers: 7 });
    expect(store.registry.get(F)).toEqual({ imported: part, publishedConsensus: null });
  });

  test('Revoking one kind of evidence keeps the other kinds of the customer and the evidence of other customers', async () => {
    const store = tempStore();
    await block(store, [1, 2, 3]);
    await value(store.sightingReports.noteMany(customer(1), 'decision', one(F), NOW));
    await takeBack(store, 1, ['list']);
    expect(store.registry.find(F, NOW)?.customers).toBe(3);
    await takeBack(store, 4, ['list', 'label', 'decision']);
    expect(store.registry.find(F, NOW)?.customers).toBe(3);
    await takeBack(store, 1, ['label', 'decision']);
    expect(store.registry.find(F, NOW)).toBeNull();
  });

  test('Revoking expired evidence changes nothing, and the entry continues to fade', async () => {
    for (const pruned of [false, true]) {
      const store = tempStore();
      await block(store, [1, 2, 3]);
      const later = NOW + 31 * DAY;
      if (pruned) expect(await value(writesOf(store).sightings.prune(later, 100))).toBe(3);
      await takeBack(store, 1, ['list'], later);
      expect(store.registry.find(F, later)?.customers).toBe(3);
      await store.close();
    }
  });

  test('A removal by the operator removes the sightings, so that the next one does not promote', async () => {
    const store = tempStore();
    await block(store, [1, 2, 3]);
    await block(store, [1], NOW, hashOf(2));
    expect(await value(writesOf(store).sightings.forgetFingerprint(F))).toEqual({ entry: true, customers: 3 });
    await block(store, [4]);
    expect(store.registry.find(F, NOW)).toBeNull();
    expect(await value(writesOf(store).sightings.forgetFingerprint(F))).toEqual({ entry: false, customers: 1 });
    expect(await value(writesOf(store).sightings.forgetFingerprint(F))).toEqual({ entry: false, customers: 0 });
    expect([1, 2, 3, 4].map((n) => talliesOf(store).get('sightings', customer(n)))).toEqual([1, 0, 0, 0]);
  });
});

describe('limits of sightings', () => {
  test('A customer at its limit cannot add fingerprints but keeps its old ones', async () => {
    const store = tempStore();
    const sightingReports = bounded(store, 4, 2);
    const note = (kind: SightingKind, seeds: readonly number[]) =>
      value(
        sightingReports.noteMany(
          customer(1),
          kind,
          seeds.flatMap((seed) => one(hashOf(seed))),
          NOW,
        ),
      );
    expect(await note('decision', [1, 2, 3])).toEqual({ written: 2, refused: 1 });
    expect(await note('list', [4, 5, 6])).toEqual({ written: 2, refused: 1 });
    expect(await note('label', [1, 4])).toEqual({ written: 2, refused: 0 });
    expect(await value(sightingReports.noteMany(customer(2), 'decision', one(F), NOW))).toEqual({
      written: 1,
      refused: 0,
    });
    await value(withdrawn(store, customer(1), hashOf(5), ['list'], NOW));
    expect(await note('list', [6])).toEqual({ written: 1, refused: 0 });
  });

  test('Pruning removes expired sightings, some rows at a time, and makes room', async () => {
    const store = tempStore();
    const sightingReports = bounded(store, 10, 10);
    for (let seed = 0; seed < 10; seed++) {
      await value(sightingReports.noteMany(customer(1), 'list', one(hashOf(seed), NOW + seed * DAY), NOW + seed * DAY));
    }
    const later = NOW + 34 * DAY + 1;
    let removed = 0;
    for (let round = 0; round < 4; round++) removed += await value(writesOf(store).sightings.prune(later, 3));
    expect(removed).toBe(5);
    expect(talliesOf(store).get('sightings', customer(1))).toBe(5);
    const five = Array.from({ length: 6 }, (_, i) => ({ fingerprintHash: hashOf(100 + i), atSeconds: later }));
    expect(await value(sightingReports.noteMany(customer(1), 'list', five, later))).toEqual({ written: 5, refused: 1 });
  });
});

describe('the queue of BLOCK sightings', () => {
  const fill = (queue: SightingQueue, number: number, seeds: number, at = NOW): void => {
    for (let seed = 0; seed < seeds; seed++) queue.noteDecision(customer(number), hashOf(seed), at);
  };

  test('The queue writes each customer and fingerprint once per flush, in bounded writes', async () => {
    const store = tempStore();
    const sizes: number[] = [];
    const counting = {
      noteMany: (...given: Parameters<SightingReports['noteMany']>) => {
        sizes.push(given[2].length);
        return store.sightingReports.noteMany(...given);
      },
    };
    const queue = new SightingQueue(counting, { waitingMax: 1000, perDayMax: 1000, perWrite: 40 });
    for (let round = 0; round < 50; round++) for (const number of [1, 2, 3]) fill(queue, number, 100, NOW + round);
    expect([queue.waiting, queue.dropped]).toEqual([300, 0]);
    expect(await Promise.all([queue.flush(NOW + 50), queue.flush(NOW + 50)])).toEqual([null, null]);
    expect(sizes).toEqual([40, 40, 20, 40, 40, 20, 40, 40, 20]);
    expect(queue.waiting).toBe(0);
    expect(store.registry.count()).toBe(100);
  });

  test('A fingerprint that is blocked repeatedly is written once an hour', async () => {
    const store = tempStore();
    const { sightingQueue: queue, sightings } = store;
    const lastSeen = async (at: number): Promise<number | undefined> => {
      for (const number of [1, 2, 3]) queue.noteDecision(customer(number), F, at);
      await queue.flush(at);
      return store.registry.get(F)?.publishedConsensus?.lastSeenSeconds;
    };
    expect(await lastSeen(NOW)).toBe(NOW);
    expect(await lastSeen(NOW + 3_600)).toBe(NOW);
    expect(await lastSeen(NOW + 3_601)).toBe(NOW + 3_601);
    expect(sightings.customersOf(F, NOW)).toBe(3);
  });

  test('Sightings beyond the total limit or the daily limit of a customer are dropped and counted', async () => {
    const store = tempStore();
    const queue = new SightingQueue(store.sightingReports, { waitingMax: 15, perDayMax: 10, perWrite: 100 });
    fill(queue, 1, 12);
    expect([queue.waiting, queue.dropped]).toEqual([10, 2]);
    fill(queue, 2, 8);
    expect([queue.waiting, queue.dropped]).toEqual([15, 5]);
    await queue.flush(NOW);
    // The daily limit is used up by written sightings, and not by waiting ones.
    queue.noteDecision(customer(1), hashOf(500), NOW + 1);
    queue.noteDecision(customer(2), hashOf(500), NOW + 1);
    expect([queue.waiting, queue.dropped]).toEqual([1, 6]);
    queue.noteDecision(customer(1), hashOf(500), NOW + DAY);
    expect([queue.waiting, queue.dropped]).toEqual([2, 6]);
  });

  test('Sightings that could not be written wait for the next flush', async () => {
    const store = tempStore();
    let broken = true;
    const sometimes = {
      noteMany: (...given: Parameters<SightingReports['noteMany']>) =>
        broken
          ? Promise.resolve({ kind: 'fault', code: 'store_write_failed', detail: 'full' } as const)
          : store.sightingReports.noteMany(...given),
    };
    const queue = new SightingQueue(sometimes);
    fill(queue, 1, 3);
    expect(await queue.flush(NOW)).toMatchObject({ code: 'store_write_failed' });
    expect(queue.waiting).toBe(3);
    broken = false;
    expect(await queue.flush(NOW)).toBeNull();
    expect([queue.waiting, store.sightings.customersOf(hashOf(2), NOW)]).toEqual([0, 1]);
  });

  test('A sighting revoked while it waited is not written', async () => {
    const store = tempStore();
    const { sightingQueue: queue } = store;
    fill(queue, 1, 2);
    queue.forget(customer(1), hashOf(0));
    queue.forget(customer(2), hashOf(1));
    expect(queue.waiting).toBe(1);
    await queue.flush(NOW);
    expect([0, 1].map((seed) => store.sightings.customersOf(hashOf(seed), NOW))).toEqual([0, 1]);
  });
});
