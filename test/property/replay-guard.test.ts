import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ReplayGuard } from '../../src/local/replay-guard.ts';
import type { AdmittedId } from '../../src/ports/admission.ts';
import { REPLAY_KEEP_SECONDS } from '../../src/kernel/limits.ts';

const KEY = Buffer.alloc(16, 7);
const START = Date.UTC(2026, 10, 21, 12) / 1000;
/** Number of `sweep` calls that cover the whole table. */
const WHOLE_SWEEP = 1_024;

function sweepAll(guard: ReplayGuard, now: number): void {
  for (let i = 0; i < WHOLE_SWEEP; i++) guard.sweep(now);
}

function outcomeOf(admitted: AdmittedId | 'replayed' | 'full'): string {
  return typeof admitted === 'string' ? admitted : 'accepted';
}

/** An exact guard: a map from key and id to the expiry, with time that only moves forward. */
class Model {
  readonly expiries = new Map<string, number>();

  isLive(key: number, id: string, now: number): boolean {
    return (this.expiries.get(`${key} ${id}`) ?? 0) > now;
  }

  accept(key: number, id: string, timestamp: number): void {
    this.expiries.set(`${key} ${id}`, timestamp + REPLAY_KEEP_SECONDS);
  }

  live(now: number, key?: number): number {
    let count = 0;
    for (const [name, expiry] of this.expiries) {
      if (expiry > now && (key === undefined || name.startsWith(`${key} `))) count++;
    }
    return count;
  }
}

const command = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      kind: fc.constant('admit'),
      key: fc.integer({ min: 1, max: 3 }),
      id: fc.nat(40),
      skew: fc.integer({ min: -300, max: 300 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('wait'), seconds: fc.nat(400) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('sweep') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('sweepAll') }) },
);

describe('the replay guard', () => {
  test('The replay guard answers like an exact map while time advances and sweeps run', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 200 }), (commands) => {
        const guard = new ReplayGuard(100_000, KEY);
        const model = new Model();
        /** Results of the guard next to those of the model. */
        const answers: (readonly [given: string | number, expected: string | number])[] = [];
        let now = START;
        for (const one of commands) {
          if (one.kind === 'admit' && 'key' in one) {
            const { key, id, skew } = one;
            const expected = model.isLive(key, `id-${id}`, now) ? 'replayed' : 'accepted';
            const given = guard.admit(key, `id-${id}`, now + skew, now);
            answers.push([outcomeOf(given), expected]);
            if (expected === 'accepted' && typeof given !== 'string') {
              model.accept(key, `id-${id}`, now + skew);
              const { keyNumber, expiresAtSeconds } = given;
              answers.push([`${keyNumber} ${expiresAtSeconds}`, `${key} ${now + skew + REPLAY_KEEP_SECONDS}`]);
            }
          } else if (one.kind === 'wait' && 'seconds' in one) now += one.seconds;
          else if (one.kind === 'sweep') guard.sweep(now);
          else {
            sweepAll(guard, now);
            answers.push([guard.size, model.live(now)]);
          }
          expect(guard.size).toBeGreaterThanOrEqual(model.live(now));
        }
        expect(answers.map(([given]) => given)).toEqual(answers.map(([, expected]) => expected));
      }),
    );
  });

  test('The replay guard respects its limit, and gives one key at most half of it and at most as much as is free; beyond that it answers full', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 40 }), fc.array(command, { maxLength: 200 }), (idsMax, commands) => {
        const guard = new ReplayGuard(idsMax, KEY);
        const model = new Model();
        let now = START;
        for (const one of commands) {
          if (one.kind === 'wait' && 'seconds' in one) now += one.seconds;
          if (!('key' in one)) continue;
          const { key, id, skew } = one;
          // The bounds are exact when all expired ids were swept.
          sweepAll(guard, now);
          const held = model.live(now, key);
          const full = held >= Math.floor(idsMax / 2) || held >= idsMax - model.live(now);
          const expected = model.isLive(key, `id-${id}`, now) ? 'replayed' : full ? 'full' : 'accepted';
          expect(outcomeOf(guard.admit(key, `id-${id}`, now + skew, now))).toBe(expected);
          if (expected === 'accepted') model.accept(key, `id-${id}`, now + skew);
          expect(guard.size).toBe(model.live(now));
        }
      }),
    );
  });

  test('A full table still knows every id, and has room again when ids have expired', () => {
    const guard = new ReplayGuard(1_000, KEY);
    const accepted: (readonly [key: number, id: string])[] = [];
    for (let key = 1; guard.size < 1_000; key++) {
      for (let i = 0; outcomeOf(guard.admit(key, `id-${i}`, START, START)) === 'accepted'; i++)
        accepted.push([key, `id-${i}`]);
    }
    expect(outcomeOf(guard.admit(999, 'another key', START, START))).toBe('full');
    expect(accepted).toHaveLength(1_000);
    for (const [key, id] of accepted) expect(outcomeOf(guard.admit(key, id, START, START))).toBe('replayed');
    sweepAll(guard, START + REPLAY_KEEP_SECONDS);
    expect(guard.size).toBe(0);
    expect(outcomeOf(guard.admit(1, 'id-0', START + 301, START + 301))).toBe('accepted');
  });

  test('Two keys that send as many ids as possible leave a third of the table to the others', () => {
    const guard = new ReplayGuard(999, KEY);
    for (let i = 0; i < 2_000; i++) for (const key of [1, 2]) guard.admit(key, `id-${i}`, START, START);
    expect(guard.size).toBe(666);
    for (let key = 3; key < 60; key++) expect(outcomeOf(guard.admit(key, 'first', START, START))).toBe('accepted');
  });

  test('A key that fills its half of the table leaves the other half to the others', () => {
    const guard = new ReplayGuard(1_000, KEY);
    for (let i = 0; i < 2_000; i++) guard.admit(1, `id-${i}`, START, START);
    expect(guard.size).toBe(500);
    // Five other keys share it, and leave as much to a sixth as each of them has.
    for (let i = 0; i < 5 * 83; i++)
      expect(outcomeOf(guard.admit(2 + (i % 5), `id-${i}`, START, START))).toBe('accepted');
    for (let i = 0; i < 40; i++) expect(outcomeOf(guard.admit(7, `id-${i}`, START, START))).toBe('accepted');
  });

  test('The replay guard keeps an id until just before its timestamp + 301 s', () => {
    for (const skew of [-300, 0, 300]) {
      const guard = new ReplayGuard(100, KEY);
      guard.admit(1, 'id', START + skew, START);
      const end = START + skew + REPLAY_KEEP_SECONDS;
      expect(outcomeOf(guard.admit(1, 'id', end - 1, end - 1))).toBe('replayed');
      expect(outcomeOf(guard.admit(1, 'id', end, end))).toBe('accepted');
    }
  });

  test('A clock that is set back does not make the replay guard forget valid ids', () => {
    const guard = new ReplayGuard(10_000, KEY);
    for (let i = 0; i < 500; i++) guard.admit(1, `id-${i}`, START + 200, START);
    for (const now of [START - 2, START - 400, START]) {
      sweepAll(guard, now);
      for (let i = 0; i < 500; i++) expect(outcomeOf(guard.admit(1, `id-${i}`, START + 200, now))).toBe('replayed');
    }
  });

  test('The replay guard treats the same id of different keys as different', () => {
    const guard = new ReplayGuard(1_000, KEY);
    for (let key = 1; key <= 100; key++)
      expect(outcomeOf(guard.admit(key, 'the same id', START, START))).toBe('accepted');
    for (let key = 1; key <= 100; key++)
      expect(outcomeOf(guard.admit(key, 'the same id', START, START))).toBe('replayed');
  });

  test('Ids restored from entries are rejected as replays, when restored once or twice and in any order', () => {
    const ids = fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 200 }), fc.string({ minLength: 1 })), {
      selector: ([key, id]) => `${key} ${id}`,
      maxLength: 100,
    });
    fc.assert(
      fc.property(ids, fc.boolean(), (all, twice) => {
        const first = new ReplayGuard(1_000, KEY);
        const entries: AdmittedId[] = [];
        for (const [key, id] of all) {
          const entry = first.admit(key, id, START, START);
          if (typeof entry !== 'string') entries.push(entry);
        }
        const second = new ReplayGuard(1_000, KEY);
        const restorer = second.restorer();
        restorer.reserve(entries.length);
        for (const entry of [...entries].reverse()) restorer.add(entry);
        restorer.done();
        if (twice) for (const entry of entries) second.restore(entry);
        expect(second.size).toBe(first.size);
        for (const [key, id] of all) expect(outcomeOf(second.admit(key, id, START, START))).toBe('replayed');
        sweepAll(second, START + REPLAY_KEEP_SECONDS);
        expect(second.size).toBe(0);
      }),
    );
  });

  test('The replay guard accepts 200,000 ids once each, rejects them the second time, and keeps none after their expiry', () => {
    const guard = new ReplayGuard(1_000_000, KEY);
    let accepted = 0;
    for (let i = 0; i < 200_000; i++)
      if (outcomeOf(guard.admit(1, `request-${i}`, START, START)) === 'accepted') accepted++;
    expect(accepted).toBe(200_000);
    let refused = 0;
    for (let i = 0; i < 200_000; i++)
      if (outcomeOf(guard.admit(1, `request-${i}`, START, START)) === 'replayed') refused++;
    expect(refused).toBe(200_000);
    expect(guard.size).toBe(200_000);
    sweepAll(guard, START + REPLAY_KEEP_SECONDS);
    expect(guard.size).toBe(0);
  });
});
