import { expect, test } from 'vitest';
import { AttributeCounts } from '../../../../src/assets/attribute-counts.ts';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import type { AttributeValue } from '../../../../src/risk/facts.ts';
import { AttributeNotes } from '../../../../src/risk/policy/attribute-notes.ts';
import { DEFAULT_ATTRIBUTES } from '../../../../src/risk/policy/attributes.ts';

const ONE = 1 as CustomerNumber;
const TWO = 2 as CustomerNumber;
const NOTHING = { mismatches: new Map(), undeclared: [], ignored: [], ignoredCounts: new Map() };

function sent(values: Readonly<Record<string, AttributeValue>>): ReadonlyMap<string, AttributeValue> {
  return new Map(Object.entries(values));
}

test('Attributes of another type are counted by their name, and undeclared names once', () => {
  let firsts = 0;
  const notes = new AttributeNotes(() => firsts++);
  const counts = new AttributeCounts();
  notes.note(ONE, sent({ amount: 5, plan: 'free' }), DEFAULT_ATTRIBUTES);
  expect([notes.take(), firsts]).toEqual([null, 0]);
  for (let n = 0; n < 3; n++) notes.note(ONE, sent({ amount: '5', amunt: 5, toString: 1 }), DEFAULT_ATTRIBUTES);
  notes.note(TWO, sent({ colour: 'red' }), DEFAULT_ATTRIBUTES);
  expect(firsts).toBe(1);
  const taken = notes.take();
  expect(taken?.undeclared).toEqual([
    [ONE, 'amunt'],
    [ONE, 'toString'],
    [TWO, 'colour'],
  ]);
  counts.add(taken ?? NOTHING);
  expect([...counts.mismatches]).toEqual([['amount', 3]]);
  expect([counts.undeclaredOf(ONE), counts.undeclaredOf(TWO)]).toEqual([['amunt', 'toString'], ['colour']]);
  notes.note(ONE, sent({ amunt: 6 }), DEFAULT_ATTRIBUTES);
  expect(notes.take()).toBeNull();
});

test('At most 64 names of a customer are kept, and 64 names in the metric', () => {
  const notes = new AttributeNotes(() => {});
  const counts = new AttributeCounts();
  const names = Array.from({ length: 200 }, (_none, n) => `name_${n}`);
  notes.note(ONE, sent(Object.fromEntries(names.map((name) => [name, 1]))), {});
  const declared = Object.fromEntries(names.map((name) => [name, { type: 'text' as const, isPublic: false }]));
  notes.note(TWO, sent(Object.fromEntries(names.map((name) => [name, 1]))), declared);
  counts.add(notes.take() ?? NOTHING);
  expect(counts.undeclaredOf(ONE)).toHaveLength(64);
  expect(counts.mismatches.size).toBe(65);
  expect([...counts.mismatches.values()].reduce((sum, count) => sum + count, 0)).toBe(200);
});

test('Members that nothing reads are counted by their name, and names that are none together', () => {
  let firsts = 0;
  const notes = new AttributeNotes(() => firsts++);
  const counts = new AttributeCounts();
  notes.noteIgnored(ONE, ['locale', 'an e-mail@address']);
  notes.noteIgnored(ONE, ['locale']);
  notes.noteIgnored(
    TWO,
    Array.from({ length: 200 }, (_none, n) => `name_${n}`),
  );
  expect(firsts).toBe(1);
  counts.add(notes.take() ?? NOTHING);
  expect([counts.ignoredOf(ONE), counts.ignoredOf(TWO).length]).toEqual([['locale'], 64]);
  expect([counts.ignored.get('locale'), counts.ignored.size]).toEqual([2, 64]);
  expect([...counts.ignored.values()].reduce((sum, count) => sum + count, 0)).toBe(203);
  notes.noteIgnored(ONE, ['locale']);
  expect(notes.take()).toMatchObject({ ignored: [], ignoredCounts: new Map([['locale', 1]]) });
});
