import { describe, expect, test } from 'vitest';
import type { ListEntryRow } from '../../../src/contract/wire-types.ts';
import { readEntriesCsv, toListCsv } from '../../../src/web/dashboard/pages/lists/list-csv.ts';

const NOW = 1_795_262_400;
const A = 'a'.repeat(64);
const B = 'b'.repeat(64);

function entry(fields: Partial<ListEntryRow>): ListEntryRow {
  return {
    fingerprint_hash: A,
    kind: 'fingerprint',
    value: A,
    action: 'block',
    note: null,
    created_at: NOW,
    updated_at: NOW,
    expires_at: null,
    ...fields,
  };
}

describe('The CSV of a list', () => {
  test('can be uploaded as it was exported, with formulas, quotation marks and line breaks in notes', () => {
    const rows = [
      entry({ note: '=HYPERLINK("http://x")', expires_at: NOW + 100 }),
      entry({ value: B, action: 'allow', note: 'two\nlines, "quoted"' }),
      entry({ value: 'c'.repeat(64), action: 'watch', note: "'quoted'" }),
    ];
    const { entries, faults } = readEntriesCsv(toListCsv(rows), null, NOW);
    expect(faults).toEqual([]);
    expect(entries).toEqual(
      rows.map(({ kind, value, action, note, expires_at }) => ({ kind, value, action, note, expires_at })),
    );
  });

  test('ends blocks without a time after the chosen one, and nothing else', () => {
    const text = `fingerprint_hash,action\n${A},block\n${B},ALLOW\n`;
    expect(readEntriesCsv(text, NOW + 30, NOW).entries.map(({ expires_at: at }) => at)).toEqual([NOW + 30, null]);
  });

  test.each([
    ['2027-01-31', Date.UTC(2027, 0, 31) / 1_000],
    ['2027-01-31T12:00:00Z', Date.UTC(2027, 0, 31, 12) / 1_000],
    ['2027-01-31T12:00+02:00', Date.UTC(2027, 0, 31, 10) / 1_000],
    [String(NOW + 5), NOW + 5],
  ])('reads the time %s', (text, seconds) => {
    const read = readEntriesCsv(`action,expires_at,fingerprint_hash\nblock,${text},${A.toUpperCase()}`, null, NOW);
    expect(read.entries).toEqual([{ kind: 'fingerprint', value: A, action: 'block', note: null, expires_at: seconds }]);
  });

  test.each([
    [`${A},block,x,${NOW}`, 'expires_at'],
    [`${A},block,x,2027-01-31T12:00`, 'expires_at'],
    [`${A},block,x,2027-13-01`, 'expires_at'],
    [`${A},block,x,soon`, 'expires_at'],
    [`${A},deny,x,`, 'action'],
    ['abc,block,x,', 'fingerprint'],
    [`${A},block,${'x'.repeat(501)},`, 'note'],
    [`${A},block`, 'first line'],
  ])('refuses the line %s and keeps the one after it', (line, about) => {
    const text = `fingerprint_hash,action,note,expires_at\n${line}\n${B},watch,,`;
    const { entries, faults } = readEntriesCsv(text, null, NOW);
    expect(faults.map((fault) => fault.line)).toEqual([2]);
    expect(faults[0]?.message).toContain(about);
    expect(entries.map(({ value }) => value)).toEqual([B]);
  });

  test('reads entries of every kind, with their event types', () => {
    const text = 'kind,value,action,event_types\nnetwork,203.0.113.0/24,block,login payment\nentity.card,4711,allow,';
    expect(readEntriesCsv(text, null, NOW).entries).toEqual([
      {
        kind: 'network',
        value: '203.0.113.0/24',
        action: 'block',
        note: null,
        expires_at: null,
        event_types: ['login', 'payment'],
      },
      { kind: 'entity.card', value: '4711', action: 'allow', note: null, expires_at: null },
    ]);
  });

  test.each([
    ['', 1],
    ['hash,action\n', 1],
    [`fingerprint_hash\n${A}`, 1],
    ['fingerprint_hash,action,action\n', 1],
    [`fingerprint_hash,action\n${A},"block`, 2],
    [`fingerprint_hash,action\n${`${A},block\n`.repeat(10_001)}`, 1],
  ])('refuses the whole text %#', (text, line) => {
    const { entries, faults } = readEntriesCsv(text, null, NOW);
    expect(entries).toEqual([]);
    expect(faults.map((fault) => fault.line)).toEqual([line]);
  });
});
