import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/kernel/ids.ts';
import { bandsFor } from '../../../src/risk/fuse.ts';
import { DEFAULT_POLICY } from '../../../src/risk/policy/policy.ts';
import { shadowReason } from '../../../src/risk/shadow.ts';

const BANDS = DEFAULT_POLICY.bands;
const NOW_MS = Date.UTC(2026, 10, 21, 12);

describe('the shadow review queue', () => {
  test.each([0.01, 0.1, 0.5])(
    'A sample rate of %d sends that share of all decisions to the shadow review queue',
    (rate) => {
      const ids = 200_000;
      let sampled = 0;
      for (let i = 0; i < ids; i++) {
        if (shadowReason(newId('req', NOW_MS + Math.floor(i / 50)), 'ALLOW', 5, BANDS, rate) === 'sample') sampled++;
      }
      // Six standard deviations.
      expect(Math.abs(sampled - ids * rate)).toBeLessThan(6 * Math.sqrt(ids * rate * (1 - rate)));
    },
  );

  test('A sample rate of 0 selects no decision and a rate of 1 selects all', () => {
    const reasons = new Set<unknown>();
    for (let i = 0; i < 5_000; i++) {
      const id = newId('req', NOW_MS + i);
      const [none, all] = [shadowReason(id, 'ALLOW', 0, BANDS, 0), shadowReason(id, 'BLOCK', 100, BANDS, 1)];
      reasons.add(`${none} ${all}`);
    }
    expect(reasons).toEqual(new Set(['null sample']));
  });

  test('The same decision is always sampled equally, and a larger rate keeps what a smaller one selected', () => {
    const outcomes = new Set<string>();
    for (let i = 0; i < 5_000; i++) {
      const id = newId('req', NOW_MS + i);
      outcomes.add([0.2, 0.2, 0.3].map((rate) => String(shadowReason(id, 'ALLOW', 0, BANDS, rate))).join(' '));
    }
    expect(outcomes).toEqual(new Set(['null null null', 'null null sample', 'sample sample sample']));
  });

  test.each([
    ['payment', [76.9, 77, 79.9, 80]],
    ['login', [76.9, 77, 79.9, 80]],
    ['search', [76.9, 77, 79.9, 80]],
    ['refund', [86.9, 87, 89.9, 90]],
  ] as const)('On %s the last 3 points under BLOCK count as near', (eventType, [far, first, last, block]) => {
    const eventTypeBands = { ...DEFAULT_POLICY.eventTypeBands, refund: { ...BANDS, block: 90 } };
    const bands = bandsFor(eventType, { ...DEFAULT_POLICY, eventTypeBands });
    expect(shadowReason('req_1', 'REVIEW', far, bands, 0)).toBeNull();
    expect(shadowReason('req_1', 'REVIEW', first, bands, 0)).toBe('near_block');
    expect(shadowReason('req_1', 'REVIEW', last, bands, 0)).toBe('near_block');
    expect(shadowReason('req_1', 'BLOCK', block, bands, 0)).toBeNull();
  });

  test('An allowed fingerprint with a score near BLOCK counts as near, and a blocked one does not', () => {
    expect(shadowReason('req_1', 'ALLOW', 79, BANDS, 0)).toBe('near_block');
    expect(shadowReason('req_1', 'BLOCK', 100, BANDS, 0)).toBeNull();
  });
});
