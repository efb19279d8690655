import { expect, test } from 'vitest';
import { HistoryReader } from '../../../src/replay/history-events.ts';
import { BOOLEAN_WORDS, LABEL_WORDS, meaningOf, OUTCOME_MEANINGS } from '../../../src/replay/history-words.ts';

function read(rows: readonly Readonly<Record<string, unknown>>[]): {
  readonly labels: readonly (boolean | null | undefined)[];
  readonly faults: HistoryReader['faults'];
} {
  const reader = new HistoryReader(
    new Map([
      ['t', 'timestamp'],
      ['l', 'label'],
      ['o', 'outcome'],
    ]),
    {},
  );
  const labels = rows.map((row) => reader.read(new Map(Object.entries({ t: 1_793_440_000, ...row })))?.isFraud);
  return { labels, faults: reader.faults };
}

test('Labels of several languages, of numbers, booleans and chargebacks have a meaning, in any case and form', () => {
  const fraud = [
    'ja',
    'JA',
    'oui',
    'sí',
    'si\u0301',
    'Sì',
    'sim',
    'tak',
    'prawda',
    'Fraud',
    'Betrug',
    'fraude',
    'chargeback',
  ];
  const more = ['charge-back', 'Confirmed Fraud', '1', '1.0', 1, true, 'true', 'Y'];
  const legitimate = ['nein', 'non', 'no', 'não', 'nie', 'fałsz', 'nee', 'legit', 'genuine', 'Not Fraud', 'non-fraud'];
  const others = ['0', '0.0', 0, false, 'FALSE', ' n '];
  expect(read([...fraud, ...more].map((l) => ({ l }))).labels).toEqual([...fraud, ...more].map(() => true));
  expect(read([...legitimate, ...others].map((l) => ({ l }))).labels).toEqual(
    [...legitimate, ...others].map(() => false),
  );
});

test('Words without a meaning are never guessed: they are counted with their first row', () => {
  const { labels, faults } = read([{ l: 'ja' }, { l: 'Vielleicht' }, {}, { l: '-1' }, { l: 'vielleicht', o: '?' }]);
  expect(labels).toEqual([true, null, null, null, null]);
  expect([...faults.labels]).toEqual([
    ['vielleicht', { count: 2, firstRow: 2 }],
    ['-1', { count: 1, firstRow: 4 }],
  ]);
  expect([...faults.outcomes]).toEqual([['?', { count: 1, firstRow: 5 }]]);
});

test('Of many unknown words the first 20 have a count of their own, with at most 64 characters', () => {
  const rows = Array.from({ length: 30 }, (_none, n) => ({ l: `word ${n} ${'x'.repeat(100)}` }));
  const { faults } = read(rows);
  expect(faults.labels.size).toBe(21);
  expect(faults.labels.get('(others)')).toEqual({ count: 10, firstRow: 21 });
  expect([...faults.labels.keys()].every((word) => word.length <= 64)).toBe(true);
});

test('No word has two meanings, and outcomes and attributes know the same yes and no', () => {
  const yes = [...BOOLEAN_WORDS].filter(([, meaning]) => meaning);
  for (const [word] of yes)
    expect([meaningOf(LABEL_WORDS, word), meaningOf(OUTCOME_MEANINGS, word)]).toEqual([true, 'succeeded']);
  for (const [word, meaning] of BOOLEAN_WORDS) expect([word, meaningOf(LABEL_WORDS, word)]).toEqual([word, meaning]);
});
