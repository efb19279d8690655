import { describe, expect, test } from 'vitest';
import { partsOf, rowsOf } from '../../../../src/extract/engine/result-parts.ts';
import { newStoredJob } from '../../../support/extraction-jobs.ts';
import { resultOf, SEALING } from '../../../support/extraction-scheduler.ts';

const CONTEXT = { encryptionKey: SEALING, nowMs: 1_000, lease: null };
const STEP = { step: 0, key: 'page' };

function named(count: number, name: string): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${name}-${i}`);
}

describe('the parts of a result hold all of its records and next steps, each once, and only the last one ends the step', () => {
  test.each([
    ['an empty result', 0, 10, 0],
    ['a small page without a successor', 100, 400, 0],
    ['a small page with a successor', 100, 400, 1],
    ['a page of two parts without a successor', 100, 4_300, 0],
    ['a page of two parts with a successor', 100, 4_300, 1],
    ['a page of many parts', 900, 4_300, 3],
    ['no records and two parts of next steps', 0, 10, 300],
  ])('partsOf splits the result correctly: %s', (_name, records, recordBytes, next) => {
    const result = resultOf(1, { ids: named(records, 'r'), next: named(next, 's') });
    const wide = { ...result, lineBytes: result.lineBytes.map(() => recordBytes) };
    const job = { ...newStoredJob().job, number: 1 };
    const parts = partsOf(job, STEP, wide, CONTEXT);
    const placesOf = (kind: 'records' | 'next'): readonly number[] =>
      parts.flatMap((part) => {
        const { from, to } = part[kind]?.range ?? { from: 0, to: 0 };
        return Array.from({ length: to - from }, (_, i) => from + i);
      });
    expect(placesOf('records')).toEqual(Array.from({ length: records }, (_, i) => i));
    expect(placesOf('next')).toEqual(Array.from({ length: next }, (_, i) => i));
    expect(parts.map(({ isLast }) => isLast)).toEqual(parts.map((_, i) => i === parts.length - 1));
    expect(Math.max(...parts.map(rowsOf))).toBeLessThanOrEqual(251);
  });
});
