import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LocalAdmission } from '../../src/local/local-admission.ts';
import { ReplayGuard } from '../../src/local/replay-guard.ts';
import type { RateState } from '../../src/ports/admission.ts';
import { RATE_WINDOW_SECONDS } from '../../src/kernel/limits.ts';

const START = Date.UTC(2026, 10, 21, 12) / 1000;

function createTake(): (keyNumber: number, allowance: number, nowSeconds: number) => RateState & { allowed: boolean } {
  const admission = new LocalAdmission(new ReplayGuard(1, Buffer.alloc(16)), { stage: () => {} });
  return (keyNumber, allowance, nowSeconds) => {
    const request = { window: 'decide', keyNumber, allowance, source: null, requestId: null } as const;
    const [verdict] = admission.admit([{ ...request, timestampSeconds: 0, nowSeconds }]);
    if (verdict === undefined || verdict.outcome === 'unavailable') throw new Error('no verdict');
    return { ...verdict, allowed: verdict.outcome === 'admitted' };
  };
}

describe('rate windows', () => {
  test('A rate window allows exactly its limit, however the requests are distributed', () => {
    const step = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.nat(20));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 12 }), fc.array(step, { maxLength: 120 }), (allowance, steps) => {
        const take = createTake();
        const used = new Map<string, number>();
        let now = START;
        for (const [key, seconds] of steps) {
          now += seconds;
          const window = Math.floor(now / RATE_WINDOW_SECONDS);
          const name = `${key} ${window}`;
          const before = used.get(name) ?? 0;
          const state = take(key, allowance, now);
          expect(state.allowed).toBe(before < allowance);
          if (state.allowed) used.set(name, before + 1);
          expect(state.remaining).toBe(allowance - (used.get(name) ?? 0));
          expect(state.limit).toBe(allowance);
          expect(state.resetSeconds).toBe((window + 1) * RATE_WINDOW_SECONDS);
          expect(state.retryAfterSeconds).toBe(state.resetSeconds - now);
        }
      }),
    );
  });

  test('The remaining allowance never increases within a rate window', () => {
    const step = fc.record({ by: fc.constantFrom(0, 0, 1, 5, 30, -2, -2, -400, 400, 86_400), takes: fc.nat(6) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.nat(59), (steps, offset) => {
        const take = createTake();
        let now = START + offset;
        let last: RateState | null = null;
        for (const { by, takes } of steps) {
          now += by;
          for (let i = 0; i < takes; i++) {
            const state = take(1, 20, now);
            expect(state.retryAfterSeconds).toBeGreaterThanOrEqual(1);
            expect(state.remaining).toBeGreaterThanOrEqual(0);
            const most: number = last?.resetSeconds === state.resetSeconds ? last.remaining : 20;
            expect(state.remaining).toBeLessThanOrEqual(most);
            last = state;
          }
        }
      }),
    );
  });
});
