import { openDecisionLog } from '../../src/history/open-decision-log.ts';
import * as fc from 'fast-check';
import { rm } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { type Decision, DECISIONS } from '../../src/risk/decision.ts';
import { ALLOW_KEPT_MS, FLAGGED_KEPT_MS } from '../../src/kernel/history-limits.ts';
import type { DecisionLog } from '../../src/history/decision-log.ts';
import { decide, idOf, pageOf, query } from '../unit/state/decision-log-support.ts';
import { customer, open, tempFolder } from '../unit/state/support.ts';
import { timesInFull } from '../support/long.ts';

/** Compares the log with a list that holds, sorts and filters every decision. */

interface Row {
  readonly customer: number;
  readonly id: string;
  readonly occurredAtMs: number;
  readonly decision: Decision;
  readonly reason: string;
  readonly arrival: number;
}

const REASONS = ['ip_vpn', 'ip_tor_exit', 'list_block'] as const;
const start = 1_790_000_000_000;
const customers = fc.constantFrom(1, 2, 0xffff_ffff);

const append = fc.record({
  kind: fc.constant('append' as const),
  customer: customers,
  decision: fc.constantFrom(...DECISIONS),
  reason: fc.constantFrom(...REASONS),
  count: fc.integer({ min: 1, max: 12 }),
  /** Batches may overtake each other, and clocks may be set back. */
  lateMs: fc.constantFrom(0, 0, 0, 1, 5, 400_000),
});
const step = fc.oneof(
  { weight: 12, arbitrary: append },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('flush' as const), isAwaited: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 50, 40_000_000, FLAGGED_KEPT_MS),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('prune' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      customer: customers,
      decision: fc.option(fc.constantFrom(...DECISIONS)),
      text: fc.constantFrom(null, 'IP_', 'tor', 'none of them'),
      limit: fc.integer({ min: 1, max: 9 }),
      /** Number of decisions that are made between two pages. */
      meanwhile: fc.integer({ min: 0, max: 3 }),
    }),
  },
);

class Model {
  readonly rows: Row[] = [];
  nowMs = start;

  decide(log: DecisionLog, given: Pick<Row, 'customer' | 'decision' | 'reason'>, lateMs: number): void {
    const occurredAtMs = this.nowMs - lateMs;
    const { decision, reason } = given;
    const id = decide(log, customer(given.customer), { occurredAtMs, decision, reasons: [reason] });
    this.rows.push({ ...given, id, occurredAtMs, arrival: this.rows.length });
  }

  expected(asked: { customer: number; decision: Decision | null; text: string | null }): string[] {
    return this.rows
      .filter(
        (row) =>
          row.customer === asked.customer &&
          row.occurredAtMs > this.nowMs - (row.decision === 'ALLOW' ? ALLOW_KEPT_MS : FLAGGED_KEPT_MS) &&
          (asked.decision === null || row.decision === asked.decision) &&
          (asked.text === null || row.reason.includes(asked.text.toLowerCase())),
      )
      .sort((a, b) => b.occurredAtMs - a.occurredAtMs || b.arrival - a.arrival)
      .map(({ id }) => id);
  }
}

describe('the decision log', () => {
  test('The decision log returns every decision once, newest first, across flushes, prunes, restarts and pages', async () => {
    const sizes = fc.record({
      blockRowsMax: fc.integer({ min: 1, max: 20 }),
      blockBytesMin: fc.constantFrom(1, 1_000, 4_096),
      openBlocksMax: fc.integer({ min: 1, max: 6 }),
      scanRowsMax: fc.integer({ min: 1, max: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(sizes, fc.array(step, { minLength: 5, maxLength: 60 }), async (bounds, steps) => {
        const folder = tempFolder();
        let store = open(folder);
        let log = openDecisionLog(store, { bounds });
        const model = new Model();
        const writes: Promise<void>[] = [];
        try {
          for (const one of steps) {
            switch (one.kind) {
              case 'append':
                for (let i = 0; i < one.count; i++) model.decide(log, one, i % 2 === 0 ? one.lateMs : 0);
                break;
              case 'flush':
                writes.push(log.flush());
                if (one.isAwaited) await Promise.all(writes);
                break;
              case 'pass':
                model.nowMs += one.ms;
                break;
              case 'prune':
                log.prune(model.nowMs);
                break;
              case 'reopen':
                await store.close();
                store = open(folder);
                log = openDecisionLog(store, { bounds });
                break;
              case 'read':
                expect(await read(log, model, one)).toEqual(true);
                break;
            }
          }
          expect(log.stats()).toMatchObject({ damagedBlocks: 0, dropped: 0 });
        } finally {
          await store.close();
          await rm(folder, { recursive: true, force: true });
        }
      }),
      { numRuns: timesInFull(60), seed: 20_261_121, endOnFailure: true },
    );
  });
});

interface Read {
  readonly customer: number;
  readonly decision: Decision | null;
  readonly text: string | null;
  readonly limit: number;
  readonly meanwhile: number;
}

async function read(log: DecisionLog, model: Model, asked: Read): Promise<boolean> {
  const expected = model.expected(asked);
  const got: string[] = [];
  const { nowMs } = model;
  let after = null;
  do {
    const { decision, text, limit } = asked;
    const page = pageOf(await log.search(customer(asked.customer), query({ decision, text, limit, after, nowMs })));
    expect(page.rows.length).toBeLessThanOrEqual(limit);
    got.push(...page.rows.map(idOf));
    after = page.next;
    // Newer than all existing decisions, so it belongs to no page of this listing.
    if (after === null) break;
    model.nowMs++;
    const made = { customer: asked.customer, decision: 'REVIEW', reason: 'ip_vpn' } as const;
    for (let i = 0; i < asked.meanwhile; i++) model.decide(log, made, 0);
  } while (got.length <= expected.length);
  expect(got).toEqual(expected);
  for (const id of expected.slice(0, 20)) {
    expect(log.find(customer(asked.customer), id, nowMs)?.record.requestId).toBe(id);
    expect(log.find(customer(asked.customer === 1 ? 2 : 1), id, nowMs)).toBeNull();
  }
  return true;
}
