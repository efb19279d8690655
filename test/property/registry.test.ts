import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FingerprintHash } from '../../src/kernel/brand.ts';
import { effectiveEntry, consensusRisk, consensusOf, type Sighting } from '../../src/risk/registry/consensus.ts';
import { SIGHTING_KINDS } from '../../src/state/tables/sighting-row.ts';
import { customer, tempStore, value } from '../unit/state/support.ts';
import { timesInFull } from '../support/long.ts';
import { withdrawn, writesOf } from '../support/writes.ts';

const DAY = 86_400;
const NOW = 20_000 * DAY;

const sighting: fc.Arbitrary<Sighting> = fc
  .record({
    customer: fc.integer({ min: 1, max: 12 }),
    days: fc.nat(45),
    before: fc.nat(40),
    isConfirmed: fc.boolean(),
  })
  .map(({ customer, days, before, isConfirmed }) => ({
    customer,
    isConfirmed,
    firstSeenSeconds: NOW - (days + before) * DAY,
    lastSeenSeconds: NOW - days * DAY,
  }));

describe('promotion', () => {
  test('A promotion needs at least three customers, and counts each once', () => {
    fc.assert(
      fc.property(fc.array(sighting, { maxLength: 30 }), (sightings) => {
        const live = new Set(sightings.filter((one) => NOW - one.lastSeenSeconds <= 30 * DAY).map((s) => s.customer));
        expect(consensusOf(sightings, NOW)?.customers ?? 0).toBe(live.size < 3 ? 0 : live.size);
        expect(consensusOf([...sightings, ...sightings], NOW)).toEqual(consensusOf(sightings, NOW));
      }),
    );
  });

  test('A promotion does not depend on the order of the sightings', () => {
    const shuffled = fc
      .array(sighting, { maxLength: 20 })
      .chain((all) =>
        fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length })),
      );
    fc.assert(
      fc.property(shuffled, ([all, other]) => {
        expect(consensusOf(other, NOW)).toEqual(consensusOf(all, NOW));
      }),
    );
  });

  test('The risk never decreases with an additional customer', () => {
    fc.assert(
      fc.property(fc.array(sighting, { maxLength: 20 }), sighting, (sightings, more) => {
        const before = effectiveEntry(null, consensusOf(sightings, NOW), NOW);
        const after = effectiveEntry(null, consensusOf([...sightings, more], NOW), NOW);
        expect(after?.risk ?? 0).toBeGreaterThanOrEqual(before?.risk ?? 0);
        expect(after?.customers ?? 0).toBeGreaterThanOrEqual(before?.customers ?? 0);
      }),
    );
    for (let customers = 0; customers < 200; customers++) {
      const risk = (n: number): number => consensusRisk({ customers: n, confirmed: n });
      expect(risk(customers + 1)).toBeGreaterThanOrEqual(risk(customers));
    }
  });
});

describe('the registry', () => {
  const step = fc.record({
    customer: fc.integer({ min: 1, max: 6 }),
    hash: fc.constantFrom('a', 'b'),
    kind: fc.constantFrom(...SIGHTING_KINDS),
    hours: fc.integer({ min: 2, max: 30 * 24 }),
    takeBack: fc.boolean(),
  });

  test('The registry always agrees with a model of its customers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const store = tempStore();
        const seen = new Map<string, number>();
        let now = NOW;
        for (const { customer: number, hash, kind, hours, takeBack } of steps) {
          now += (hours / 5) * 3_600;
          const fingerprintHash = hash.repeat(64) as FingerprintHash;
          const at = Math.floor(now);
          const key = `${hash} ${number} ${kind}`;
          const since = at - (seen.get(key) ?? 0);
          let changed: boolean;
          if (takeBack) {
            await value(withdrawn(store, customer(number), fingerprintHash, [kind], at));
            changed = since <= 30 * DAY;
            seen.delete(key);
          } else {
            await value(
              store.sightingReports.noteMany(customer(number), kind, [{ fingerprintHash, atSeconds: at }], at),
            );
            // BLOCKs are written once an hour, and on a new day.
            const isNewDay = Math.floor(at / DAY) !== Math.floor((seen.get(key) ?? 0) / DAY);
            changed = kind !== 'decision' || since > 3_600 || isNewDay;
            if (changed) seen.set(key, at);
          }
          const customers = new Set<string>();
          // BLOCKs without a network do not confirm.
          const confirmed = new Set<string>();
          for (const [name, last] of seen) {
            const [of = '', who = '', what = ''] = name.split(' ');
            if (of !== hash || at - last > 30 * DAY) continue;
            customers.add(who);
            if (what !== 'decision') confirmed.add(who);
          }
          expect(store.sightings.customersOf(fingerprintHash, at)).toBe(customers.size);
          // A step without a change leaves the entry as it was after the last sighting.
          if (!changed) continue;
          const found = store.registry.find(fingerprintHash, at);
          if (customers.size >= 3) expect(found?.customers).toBe(customers.size);
          else if (takeBack) expect(found).toBeNull();
          // A sighting at this moment excludes fading.
          if (customers.size >= 3 && !takeBack)
            expect(found?.risk).toBe(consensusRisk({ customers: customers.size, confirmed: confirmed.size }));
        }
        await store.close();
      }),
      { numRuns: timesInFull(25) },
    );
  }, 120_000);

  test('The registry has the same content after three customers and an import in any order', async () => {
    const imported = {
      fingerprintHash: 'c'.repeat(64) as FingerprintHash,
      risk: 91,
      customers: 2,
      firstSeenSeconds: NOW - 5,
      lastSeenSeconds: NOW,
    };
    const acts = [0, 1, 2, 3];
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(acts, { minLength: 4, maxLength: 4 }), async (order) => {
        const store = tempStore();
        for (const act of order) {
          if (act === 0) await value(writesOf(store).registry.put(imported));
          else await value(store.sightingReports.noteBlocks(customer(act), [imported.fingerprintHash], NOW));
        }
        expect(store.registry.find(imported.fingerprintHash, NOW)).toEqual({ risk: 91, customers: 3 });
        for (const act of order) {
          if (act !== 1) continue;
          await value(withdrawn(store, customer(1), imported.fingerprintHash, ['list'], NOW));
        }
        expect(store.registry.find(imported.fingerprintHash, NOW)).toEqual({ risk: 91, customers: 2 });
        await store.close();
      }),
      { numRuns: timesInFull(12) },
    );
  });
});
