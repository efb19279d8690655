import { expect, test } from 'vitest';
import { ListKeys } from '../../src/risk/lists/list-key.ts';
import { formatV4 } from '../../src/kernel/ip-text.ts';
import { type NamedListKind, readNamedValue } from '../../src/risk/lists/named-list.ts';
import { NamedListMatcher } from '../../src/risk/lists/named-list-matcher.ts';
import { createSources } from '../../src/score/sources.ts';
import { type Random, seeded } from '../support/any-change.ts';
import { customer, open, tempFolder, value } from '../unit/state/support.ts';

/** Membership in a named list is that of a Set of the values, after any sequence of additions and removals. */

const KEYS = new ListKeys(Buffer.alloc(32, 3));
const OF = customer(1);
const STEPS = 60;

/** Which value to change, which to ask, and which items name what is asked. */
interface Model {
  readonly kind: NamedListKind;
  readonly item: (random: Random) => string;
  readonly asked: (random: Random) => string;
  readonly namesOf: (asked: string) => readonly string[];
}

const address = (random: Random): string => formatV4(0xcb_00_71_00 + random(64));
const labels = ['a', 'b', 'c'];
const domain = (random: Random): string => Array.from({ length: 1 + random(3) }, () => labels[random(3)]).join('.');

function prefixes(text: string): readonly string[] {
  const parts = text.split('.');
  return parts.map((_part, at) => parts.slice(at).join('.'));
}

const MODELS: readonly Model[] = [
  { kind: 'text', item: (n) => `word ${n(20)}`, asked: (n) => `word ${n(20)}`, namesOf: (one) => [one] },
  { kind: 'ip', item: address, asked: address, namesOf: (one) => [one] },
  { kind: 'asn', item: (n) => `AS${64_500 + n(20)}`, asked: (n) => String(64_500 + n(20)), namesOf: (one) => [one] },
  {
    kind: 'email',
    item: (n) => `P${n(20)}@Example.com`,
    asked: (n) => `p${n(20)}@example.com`,
    namesOf: (one) => [one],
  },
  { kind: 'entity.card', item: (n) => `${n(20)}`, asked: (n) => `${n(20)}`, namesOf: (one) => [one] },
  { kind: 'email_domain', item: domain, asked: domain, namesOf: prefixes },
  {
    kind: 'network',
    item: (n) => `${formatV4(0xcb_00_71_00 + n(16) * 4)}/30`,
    asked: address,
    namesOf: (one) => [one.replace(/\d+$/, (last) => `${Number(last) & ~3}/30`)],
  },
  {
    kind: 'user_agent',
    item: (n) => (n(2) === 0 ? `AcmeBots/${n(20)}` : `AcmeBots/${n(3)}*`),
    asked: (n) => `AcmeBots/${n(20)}`,
    namesOf: (one) => [one, `${one.slice(0, 10)}*`],
  },
];

test.each(MODELS)('A list of the kind $kind', async ({ kind, item, asked, namesOf }) => {
  const folder = tempFolder();
  const writer = open(folder);
  const reader = open(folder, true);
  const opened = createSources(reader, { lookup: () => null, epoch: () => 0, crawlers: () => new Set<string>() });
  const matcher = new NamedListMatcher(opened.sources, KEYS);
  const random = seeded(7);
  const origin = { by: 'service', nowMs: 10_000 } as const;
  const made = await value(
    writer.changes.commit({ kind: 'named_list.put', customer: OF, name: 'l', listKind: kind, note: null }, origin),
  );
  const { number } = made.kind === 'created' ? made.list : { number: 0 };
  const model = new Set<string>();
  for (let step = 0; step < STEPS; step++) {
    const items = Array.from({ length: 1 + random(4) }, () => {
      const read = readNamedValue(kind, item(random));
      if (read.kind === 'fault') throw new Error(read.message);
      const isRemoved = random(2) === 0;
      if (isRemoved) model.delete(read.value);
      else model.add(read.value);
      const key = KEYS.namedKeyOf(OF, { kind, value: read.value });
      return { key, value: read.value, expiresAtSeconds: null, isRemoved };
    });
    await value(writer.changes.commit({ kind: 'named_list.items', customer: OF, name: 'l', number, items }, origin));
    opened.begin();
    for (let n = 0; n < 20; n++) {
      const question = asked(random);
      const found = matcher.has({ customer: OF, nowSeconds: 10, name: 'l', kinds: [kind] }, question);
      expect([question, found]).toEqual([question, namesOf(question).some((name) => model.has(name))]);
    }
  }
  expect(matcher.has({ customer: OF, nowSeconds: 10, name: 'l', kinds: ['country'] }, 'x')).toBeUndefined();
  expect(matcher.has({ customer: customer(2), nowSeconds: 10, name: 'l', kinds: [kind] }, 'x')).toBeUndefined();
  expect(opened.takeStoreFailure()).toBe(false);
  await reader.close();
  await writer.close();
});
