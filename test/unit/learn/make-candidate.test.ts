import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { writeCandidate } from '../../../src/cli/candidate-files.ts';
import { StockCounter } from '../../../src/learn/learning-stock.ts';
import { checkModel } from '../../../src/score/model-check.ts';
import { judgeRows, type LearningRow, splitRows } from '../../../src/learn/learning-rows.ts';
import { makeCandidate } from '../../../src/learn/make-candidate.ts';

const DAY = 86_400_000;
const ROW: LearningRow = {
  requestId: 'req_1',
  eventType: 'login',
  policyVersion: 'v1',
  atMs: 0,
  session: null,
  label: null,
  isReviewed: false,
  hasPassed: null,
  isBlocked: false,
  isAllowed: true,
  rate: null,
};

describe('judgeRows', () => {
  const judge = (rows: readonly Partial<LearningRow>[], unknownRate = 1) =>
    judgeRows(
      rows.map((row) => ({ ...ROW, ...row })),
      20 * DAY,
      unknownRate,
    ).map(({ row, isFraud, weight }) => [row, isFraud, weight]);

  it('A label counts most and for its session, then a challenge, then BLOCK', () => {
    const rows: Partial<LearningRow>[] = [
      { session: 'a', label: 'fraud' },
      { session: 'a', hasPassed: true },
      { label: 'legitimate', isBlocked: true },
      { hasPassed: true, isBlocked: true },
      { hasPassed: false },
      { isBlocked: true, isAllowed: false },
    ];
    expect(judge(rows)).toEqual([
      [0, true, 1],
      [1, true, 1],
      [2, false, 1],
      [3, false, 0.5],
      [4, true, 0.5],
      [5, true, 0.5],
    ]);
  });

  it('A label counts before the verdict of a review in its session, and of two alike the fraud', () => {
    const sources = (rows: readonly Partial<LearningRow>[]) =>
      judgeRows(
        rows.map((row) => ({ ...ROW, session: 'a', ...row })),
        20 * DAY,
        1,
      ).map(({ isFraud, source }) => `${isFraud} ${source}`);
    expect(sources([{ label: 'legitimate' }, { label: 'fraud', isReviewed: true }, {}])[2]).toBe('false label');
    expect(sources([{ label: 'legitimate' }, { label: 'fraud' }, {}])[2]).toBe('true label');
    expect(sources([{ isBlocked: true }, { hasPassed: true }, {}])).toEqual([
      'true block',
      'false challenge',
      'false unlabelled',
    ]);
  });

  it('A row without a label counts as honest after 14 days, and as at most ten rows if it is of a sample', () => {
    expect(judge([{ atMs: 7 * DAY }])).toEqual([]);
    expect(judge([{ atMs: 6 * DAY }])).toEqual([[0, false, 0.3]]);
    expect(judge([{}], 0.25)).toEqual([[0, false, 1.2]]);
    expect(judge([{}], 0.01)).toEqual([[0, false, 3]]);
    expect(judge([{ rate: 0.5 }], 0.01)).toEqual([[0, false, 0.6]]);
    expect(judge([{ rate: 1 }, { rate: 0.2, label: 'fraud' }], 0.01)).toEqual([
      [0, false, 0.3],
      [1, true, 5],
    ]);
  });
});

describe('splitRows', () => {
  it('Earlier rows train, and rows of one session stay together at the time of its first', () => {
    // The last three rows are of the first session.
    const rows = Array.from({ length: 100 }, (_, n) => ({ ...ROW, atMs: n, session: `s${n > 96 ? 0 : n >> 1}` }));
    const parts = splitRows(rows, judgeRows(rows, 20 * DAY, 1));
    const numbers = (part: readonly { readonly row: number }[]): number[] =>
      part.map(({ row }) => row).sort((a, b) => a - b);
    expect(numbers(parts.training)).toEqual([...Array.from({ length: 68 }, (_, n) => n), 97, 98, 99]);
    expect(numbers(parts.stopping)).toEqual(Array.from({ length: 20 }, (_, n) => n + 68));
    expect(numbers(parts.latest)).toEqual(Array.from({ length: 9 }, (_, n) => n + 88));
  });
});

describe('makeCandidate', () => {
  // One column; fraud has mostly large values.
  const values = Float32Array.from({ length: 20_000 }, (_, n) => ((n * 7919) % 1_000) / 1_000);
  const rows = [...values].map((value, n): LearningRow => {
    const isFraud = value > 0.9 ? n % 10 !== 0 : n % 50 === 0;
    return { ...ROW, atMs: n, session: `s${n}`, label: isFraud ? 'fraud' : 'legitimate' };
  });
  const make = (budget: number | null) =>
    makeCandidate(rows, {
      nowMs: DAY,
      prior: 0.01,
      budget,
      unknownRate: 1,
      columns: ['a'],
      fill: (row, target) => {
        target[0] = values[row] ?? 0;
      },
    });

  it.each([0, 0.002, 0.02])('At most the share %d of the honest sessions is stopped by the model alone', (budget) => {
    const { addedSessions, honestSessions, threshold } = make(budget);
    // A third of them are in the latest rows.
    expect(honestSessions).toBeGreaterThan(4_500);
    expect(addedSessions).toBeLessThanOrEqual(budget * honestSessions);
    expect(threshold).toBeGreaterThan(0);
    expect(threshold).toBeLessThan(1);
  });

  it('A candidate that is written passes the check of models', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-candidate-'));
    const stock = new StockCounter().stock();
    const candidate = make(0.002);
    const columns = ['rule:device_headless'];
    const files = { id: '20260101-000000', nowMs: DAY, prior: 0.01, budget: 0.002, columns, stock, rows, candidate };
    writeCandidate(folder, files);
    const version = '20260101-000000';
    expect(await checkModel(folder)).toMatchObject({ kind: 'ok', format: 'forest', version, rows: 32 });
    const manifest = JSON.parse(readFileSync(join(folder, 'model.json'), 'utf8')) as object;
    expect(manifest).toMatchObject({ id: version, prior: 0.01, threshold: candidate.threshold, columns });
    expect(manifest).toMatchObject({ policy_hash: 'v1', shadow_only: true });
    const page = readFileSync(join(folder, 'report.html'), 'utf8');
    expect(page).toContain('Honest sessions that moved most');
    expect(page).not.toMatch(/<script|https?:|src=|@import|url\(/);
    rmSync(folder, { recursive: true });
  });

  it('The report compares the model with the rules, by source and event type, and shows what moved', () => {
    const { report, leftOut, threshold } = make(0.02);
    expect(report.all).toMatchObject({ rulesCatch: 0, rulesAlarms: 0 });
    expect(report.all.bothCatch).toBeGreaterThan(0.5);
    expect(report.all.addedAlarms).toBeLessThanOrEqual(0.02);
    expect(report.roc.rules).toEqual([0, 0]);
    expect(report.roc.area).toBeGreaterThan(0.8);
    expect(report.byEventType.map(({ group }) => group)).toEqual(['login']);
    expect(report.bySource.map(({ group }) => group)).toEqual(['label']);
    expect(report.moved).toHaveLength(20);
    expect(report.moved[0]).toMatchObject({ source: 'label', reasons: [['a', expect.any(Number)]] });
    expect(report.labels).toMatchObject([{ source: 'label', weight: 20_000 }]);
    for (const { predicted, from, to } of report.reliability) {
      expect(predicted).toBeGreaterThanOrEqual(from);
      expect(predicted).toBeLessThanOrEqual(to);
    }
    expect(threshold).toBeGreaterThan(0);
    // All frauds are of one source.
    expect(leftOut).toEqual([]);
  });

  it('A source that alone shows a kind of fraud finds less of it when it is left out', () => {
    const reviewed = rows.map((row, n): LearningRow => ({ ...row, isReviewed: n % 2 === 1 }));
    const other = (row: number): number => values[row] ?? 0;
    const { leftOut } = makeCandidate(reviewed, {
      nowMs: DAY,
      prior: 0.01,
      budget: 0.02,
      unknownRate: 1,
      columns: ['even', 'odd'],
      fill: (row, target) => {
        target[row % 2] = other(row);
      },
    });
    expect(leftOut.map(({ source }) => source)).toEqual(['label', 'review']);
    for (const { withCatch, withoutCatch } of leftOut) expect(withoutCatch ?? 1).toBeLessThan((withCatch ?? 0) - 0.3);
  });

  it('Without a budget the threshold is .5, and the columns and test rows are given', () => {
    const { threshold, gain, golden, rows: counts } = make(null);
    expect(threshold).toBe(0.5);
    expect(gain.map(([name]) => name)).toEqual(['a']);
    expect(golden.length).toBe(32);
    expect(counts).toEqual({ training: 14_000, stopping: 4_000, latest: 2_000 });
  });

  it('30,000 rows of 160 columns are trained in 12 MiB beside the rows themselves', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const bufferMib = (): number => {
      collect();
      return process.memoryUsage().arrayBuffers / 2 ** 20;
    };
    const many = Array.from({ length: 30_000 }, (_, n): LearningRow => {
      return { ...ROW, atMs: n, label: n % 100 < 5 ? 'fraud' : 'legitimate' };
    });
    const before = bufferMib();
    let held = Infinity;
    const onTree = (): never => {
      held = bufferMib() - before;
      throw new Error('one tree is enough');
    };
    const options = { nowMs: DAY, prior: 0.01, budget: null, unknownRate: 1, onTree };
    const columns = Array.from({ length: 160 }, (_, n) => `c${n}`);
    // As in feature rows, one value in six is not 0.
    const fill = (row: number, target: Float32Array): void => {
      for (let column = row % 6; column < 160; column += 6) target[column] = 1 + ((row * 7919 + column) % 100);
    };
    expect(() => makeCandidate(many, { ...options, columns, fill })).toThrow('one tree is enough');
    expect(held).toBeLessThan(12);
  });
});
