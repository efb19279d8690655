import { describe, expect, test } from 'vitest';
import { toBodies } from '../../../src/web/dashboard/pages/lists/list-bodies.ts';

const KIB = 1_024;

function entries(count: number, note: string | null): Parameters<typeof toBodies>[0] {
  return Array.from({ length: count }, (_, n) => ({
    kind: 'fingerprint',
    value: n.toString(16).padStart(64, '0'),
    action: 'block',
    note,
    expires_at: 1_795_262_400,
  }));
}

describe('The bodies of a batch of list entries', () => {
  test('have at most 1,000 entries, all of them in order', () => {
    const given = entries(2_500, null);
    const bodies = toBodies(given);
    expect(bodies.map((body) => body.length)).toEqual([1_000, 1_000, 500]);
    expect(bodies.flat()).toEqual(given);
    expect(toBodies([])).toEqual([]);
  });

  test('have less than 1 MiB, also with the longest notes of four bytes a character', () => {
    const given = entries(1_500, '😀'.repeat(250));
    const bodies = toBodies(given);
    expect(bodies.flat()).toEqual(given);
    expect(bodies.length).toBeGreaterThan(1);
    for (const body of bodies) expect(Buffer.byteLength(JSON.stringify({ entries: body }))).toBeLessThan(KIB * KIB);
  });
});
