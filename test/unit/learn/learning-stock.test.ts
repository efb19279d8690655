import { describe, expect, it } from 'vitest';
import { StockCounter, type StockRow } from '../../../src/learn/learning-stock.ts';

const ROW: StockRow = {
  occurredAtMs: 0,
  eventType: 'login',
  session: 'a',
  hasFeatures: true,
  isBlocked: false,
  label: null,
};

function stockOf(rows: readonly Partial<StockRow>[]) {
  const counter = new StockCounter();
  for (const row of rows) counter.add({ ...ROW, ...row });
  return counter.stock();
}

describe('StockCounter', () => {
  it('Nothing at all lacks fraud sessions and rows', () => {
    expect(stockOf([]).missing).toEqual(['fraud sessions 0 of 150', 'rows 0 of 15000']);
  });

  it('Rows are counted by label, session, day and event type; a decision without features is no row', () => {
    const stock = stockOf([
      { label: 'fraud' },
      { label: 'fraud', occurredAtMs: 86_400_000 },
      { label: 'legitimate', session: 'b', eventType: 'payment' },
      { label: 'fraud', session: null },
      { isBlocked: true },
      { hasFeatures: false, label: 'fraud', session: 'c' },
    ]);
    expect(stock).toMatchObject({ decisions: 6, rows: 5, days: 2, fraudSessions: 1, honestSessions: 1 });
    expect(stock.labels).toEqual({ fraud: 3, legitimate: 1, none: 1, blocked: 1 });
    expect(stock.eventTypes).toEqual([
      ['login', 4],
      ['payment', 1],
    ]);
  });

  it.each([
    [149, ['fraud sessions 149 of 150'], true],
    [150, [], true],
    [499, [], true],
    [500, [], false],
  ])('%i fraud sessions among 15,000 rows lack %j', (sessions, missing, isShadowOnly) => {
    const rows = Array.from({ length: 15_000 }, (_, n) =>
      n < sessions ? { label: 'fraud' as const, session: `s${n}` } : {},
    );
    expect(stockOf(rows)).toMatchObject({ missing, isShadowOnly });
  });
});
