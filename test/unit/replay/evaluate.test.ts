import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyMap, guessColumns } from '../../../src/replay/history-columns.ts';
import { shareWithInterval } from '../../../src/kernel/wilson.ts';
import { command, MAIN, type Ran } from '../../support/command-line.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-evaluate-test-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function evaluate(path: string, words: readonly string[] = []): Promise<Ran> {
  return command(['--data-dir', join(folder, 'data'), 'evaluate', path, '--no-geo', ...words]);
}

async function evaluated(path: string, words: readonly string[] = []): Promise<Record<string, unknown>> {
  const ran = await evaluate(path, ['--json', ...words]);
  expect([ran.code, ran.out.trim().split('\n').length]).toEqual([0, 1]);
  return JSON.parse(ran.out) as Record<string, unknown>;
}

const AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36';

interface Login {
  readonly seconds: number;
  readonly email: string;
  readonly ip: string;
  readonly result: string;
  readonly fraud: string;
}

/** People who log in twice, and an attacker who tries one password with many accounts from one address. */
function logins(): Login[] {
  const people = Array.from({ length: 40 }, (_none, n): Login[] =>
    [0, 7_200].map((later) => ({
      seconds: 1_793_440_000 + n * 60 + later,
      email: `p${n}@example.com`,
      ip: `81.2.${n}.7`,
      result: 'success',
      fraud: '0',
    })),
  ).flat();
  const attack = Array.from({ length: 60 }, (_none, n): Login => ({
    seconds: 1_793_450_000 + n,
    email: `v${n}@example.com`,
    ip: '91.1.1.1',
    result: 'failure',
    fraud: '1',
  }));
  return [...people, ...attack].sort((a, b) => a.seconds - b.seconds);
}

function csvOf(rows: readonly Login[], separator = ','): string {
  const head = ['Login Timestamp', 'Customer E-Mail', 'IP Address', 'User Agent', 'Login Result', 'isFraud', 'noise'];
  const lines = rows.map(({ seconds, email, ip, result, fraud }) =>
    [new Date(seconds * 1_000).toISOString(), email, ip, `"${AGENT}"`, result, fraud, 'x'].join(separator),
  );
  return [head.join(separator), ...lines].join('\n');
}

/** The file has no session and no event type; the e-mail's column has a name that is not guessed. */
const WORDS = ['--map', 'Customer E-Mail=entity_keys.email', '--map', 'noise=event_type'];

describe('gatehouse evaluate', () => {
  test('A CSV file with names of its own gives catch, false alarms, decisions, rules and people', async () => {
    const text = csvOf(logins()).replaceAll(/,x$/gm, ',login');
    const result = await evaluated(write('a.csv', text), WORDS);
    expect(Object.keys(result)).toEqual(
      expect.arrayContaining([
        'events',
        'labelled',
        'catch',
        'false_alarms',
        'decisions',
        'rules',
        'people',
        'cold_start',
      ]),
    );
    expect(result).toMatchObject({
      events: 140,
      labelled: { fraud: 60, legitimate: 80 },
      false_alarms: { part: 0, of: 80, share: 0, low: 0 },
      was_in_order: true,
      columns: {
        'Login Timestamp': 'timestamp',
        'Customer E-Mail': 'entity_keys.email',
        'IP Address': 'ip',
        'User Agent': 'user_agent',
        'Login Result': 'outcome',
        isFraud: 'label',
        noise: 'event_type',
      },
      left_out: { without_time: 0, unreadable: 0, refused: 0 },
      unknown_outcomes: {},
    });
    // One address with many accounts whose passwords are wrong.
    const caught = result['catch'] as { readonly share: number; readonly low: number; readonly high: number };
    expect(caught.share).toBeGreaterThan(0.3);
    expect(caught.low).toBeLessThan(caught.share);
    expect(caught.high).toBeGreaterThan(caught.share);
    const { gain } = result['rules'] as { readonly gain: readonly { readonly code: string }[] };
    expect(gain.length).toBeGreaterThan(0);
    expect(Object.keys(result['decisions'] as object)).toEqual(['login']);
  });

  test('Rows in any order, separators, a byte order mark and NDJSON give the same figures', async () => {
    const rows = logins();
    const ordered = await evaluated(write('b.csv', csvOf(rows).replaceAll(/,x$/gm, ',login')), WORDS);
    const turned = csvOf(rows.toReversed(), ';').replaceAll(/;x$/gm, ';login');
    const other = await evaluated(write('c.csv', `\uFEFF${turned}`), WORDS);
    expect(other).toEqual({ ...ordered, was_in_order: false });
    const lines = rows.map(({ seconds, email, ip, result, fraud }) =>
      JSON.stringify({
        timestamp: seconds,
        event_type: 'login',
        ip,
        user_agent: AGENT,
        entity_keys: { email },
        outcome: result,
        label: Number(fraud),
      }),
    );
    const { columns: _names, ...figures } = await evaluated(write('d.ndjson', lines.join('\n')));
    const { columns: _other, ...expected } = ordered;
    expect(figures).toEqual(expected);
  });

  test('Two runs print the same bytes', async () => {
    const path = write('e.csv', csvOf(logins()));
    const first = await evaluate(path, ['--json']);
    expect((await evaluate(path, ['--json'])).out).toBe(first.out);
  });

  test('Missing values, rows without a time and unknown words are counted and told, not fatal', async () => {
    const text = [
      'time,ip,email,label,outcome',
      '1793440000,81.2.0.7,a@example.com,legit,ok',
      ',81.2.0.7,a@example.com,legit,ok',
      '1793440001,,,maybe,',
      '1793440002,not-an-address,b@example.com,,perhaps',
      '1793440003',
    ].join('\n');
    const result = await evaluated(write('f.csv', text));
    expect(result).toMatchObject({
      events: 4,
      labelled: { fraud: 0, legitimate: 1 },
      catch: { part: 0, of: 0, share: null },
      left_out: { without_time: 1, unreadable: 0 },
      unknown_labels: { maybe: 1 },
      unknown_label_rows: { maybe: 3 },
      unknown_outcomes: { perhaps: 1 },
      unknown_outcome_rows: { perhaps: 4 },
    });
    const ran = await evaluate(join(folder, 'f.csv'));
    expect(ran.out).toContain('1 rows without a time were left out.');
    expect(ran.out).toContain('Unknown labels: maybe (1, first in row 3).');
  });

  test('The page is one file without scripts and links, with escaped names and masked people', async () => {
    const rows = logins().map((row) => (row.email === 'p3@example.com' ? { ...row, ip: '91.1.1.1' } : row));
    const text = csvOf(rows).replaceAll(/,x$/gm, ',<b>login');
    const html = join(folder, 'report.html');
    const ran = await evaluate(write('g.csv', text), [...WORDS, '--html', html]);
    expect([ran.code, ran.out.includes(`Written: ${html}`)]).toEqual([0, true]);
    const page = readFileSync(html, 'utf8');
    expect(page).toMatch(/^<!doctype html>/);
    expect(page).not.toMatch(/<script|src=|href=|url\(|@import|<b>|[pv]\d+@example/);
    expect(page).toContain('&lt;b&gt;login');
    expect(page).toContain('prefers-color-scheme:dark');
  });

  test('A file without a time, without rows, of an unknown column or field, or not of its format are refused with a hint', async () => {
    const path = write('h.csv', 'a,b\n1,2\n');
    expect(await evaluate(path)).toMatchObject({ code: 2, err: expect.stringContaining('--map <column>=timestamp') });
    expect((await evaluate(path, ['--map', 'c=ip'])).err).toContain('there is no column "c"; the columns are a, b');
    expect((await evaluate(path, ['--map', 'a=mail'])).err).toContain(
      'there is no field "mail"; the fields are timestamp,',
    );
    expect((await evaluate(write('i.csv', 'time\n'))).err).toContain('has no rows');
    expect((await evaluate(join(folder, 'none.csv'))).err).toContain('cannot be read');
    expect((await evaluate(write('j.parquet', 'PAR1'))).err).toContain('is not a Parquet file');
  });

  test('On a terminal the guess and three rows are shown, and a column can be changed', async () => {
    const path = write('k.csv', csvOf(logins()));
    const words = [process.execPath, MAIN, '--data-dir', join(folder, 'data'), 'evaluate', path, '--no-geo'];
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const child = spawn('script', ['--quiet', '--return', '--command', quoted, '/dev/null']);
    const answers = ['noise=nothing\n', 'Customer E-Mail=entity_keys.email\n', '\n'];
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      out += piece;
      const asked = out.split('lists fields): ').length - 1;
      if (asked > 3 - answers.length) child.stdin.write(answers.shift() ?? '\n');
    });
    const code = await new Promise((resolve) => {
      child.on('close', resolve);
    });
    expect(code).toBe(0);
    expect(out).toContain('Row 3');
    expect(out).toContain('there is no field "nothing"');
    expect(out).toContain('entity_keys.email');
    expect(out).toContain('140 events');
  });
});

describe('the columns of a history', () => {
  test('are guessed from usual names, each field once, exact names first', () => {
    const guessed = guessColumns([
      'time',
      'timestamp',
      'userId',
      'E-Mail',
      'Total',
      'attributes.vip',
      'headers.x-a',
      'other',
    ]);
    expect([...guessed]).toEqual([
      ['timestamp', 'timestamp'],
      ['attributes.vip', 'attributes.vip'],
      ['headers.x-a', 'headers.x-a'],
      ['userId', 'entity_keys.user_id'],
      ['E-Mail', 'entity_keys.email'],
      ['Total', 'attributes.amount'],
    ]);
  });

  test('are changed by pairs: a field moves to its new column, an empty one ignores it, = may be in a name', () => {
    const columns = ['ip', 'a=b', 'c'];
    const applied = applyMap(columns, guessColumns(columns), ['a=b=ip', 'c=entity_keys.x y'], 'c');
    expect(applied).toEqual({
      kind: 'ok',
      columns: new Map([
        ['a=b', 'ip'],
        ['c', 'label'],
      ]),
    });
    expect(applyMap(columns, guessColumns(columns), ['ip='], null)).toEqual({ kind: 'ok', columns: new Map() });
  });
});

test('A share has the interval of Wilson', () => {
  // Source: R, binom::binom.wilson(0, 10), (42, 50) and (10, 10).
  expect(shareWithInterval(0, 10)).toEqual({ part: 0, of: 10, share: 0, low: 0, high: 0.2775 });
  expect(shareWithInterval(42, 50)).toEqual({ part: 42, of: 50, share: 0.84, low: 0.7149, high: 0.9166 });
  expect(shareWithInterval(10, 10)).toEqual({ part: 10, of: 10, share: 1, low: 0.7225, high: 1 });
});
