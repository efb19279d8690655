import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { sampleCondition } from '../../../src/api/rule-sample.ts';
import { RULE_SAMPLE_DECISIONS } from '../../../src/kernel/history-limits.ts';
import { openDecisionLog } from '../../../src/history/open-decision-log.ts';
import { compileCondition } from '../../../src/risk/conditions/compile-condition.ts';
import { CONDITION_COST_MAX } from '../../../src/risk/conditions/condition.ts';
import { keptNames } from '../../../src/risk/conditions/kept-facts.ts';
import { declaredNames } from '../../../src/risk/policy/counter-declarations.ts';
import { Turns } from '../../../src/state/tables/turns.ts';
import { decide } from '../state/decision-log-support.ts';
import { customer, open, tempFolder } from '../state/support.ts';

const NOW = 1_790_000_000_000;
const ONE = customer(1);
/** Rows that a scan passes between two looks at the clock. */
const CLOCK_ROWS = 8;
const NO_DECLARATIONS = { attributes: {}, counters: {} };
const NO_NAMES = declaredNames(NO_DECLARATIONS);

/** A condition of nearly the largest cost: it goes through a list for each of its parts, and never holds. */
function dearest(): string {
  const parts: string[] = [];
  for (;;) {
    const when = [...parts, `reasons.exists(r,r=="${parts.length}")`].join('||');
    if (compileCondition(when, keptNames(NO_NAMES)).kind !== 'ok') return parts.join('||');
    parts.push(`reasons.exists(r,r=="${parts.length}")`);
  }
}

describe('a sample of a condition', () => {
  test('The dearest condition on all decisions of a sample yields after every eighth', async () => {
    const store = open(tempFolder());
    onTestFinished(() => store.close());
    const log = openDecisionLog(store, {});
    for (let n = 0; n < RULE_SAMPLE_DECISIONS; n++)
      decide(log, ONE, { occurredAtMs: NOW + n, reasons: Array.from({ length: 16 }, () => 'list_block') });
    await log.flush();
    const when = dearest();
    const compiled = compileCondition(when, keptNames(NO_NAMES));
    expect(compiled.kind === 'ok' ? compiled.condition.cost : 0).toBeGreaterThan(0.8 * CONDITION_COST_MAX);
    // Each look at the clock finds the slice over.
    let nowMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 1_000));
    const turns = vi.spyOn(Turns.prototype, 'next');
    onTestFinished(() => {
      clock.mockRestore();
      turns.mockRestore();
    });
    const request = { caller: { customer: ONE }, nowMs: NOW + 10_000, coverage: undefined };
    const sampled = await sampleCondition(
      { decisions: log, newestRequests: () => new Map() },
      request as unknown as Parameters<typeof sampleCondition>[1],
      when,
      null,
      NO_DECLARATIONS,
    );
    expect(sampled).toMatchObject({ decisions: RULE_SAMPLE_DECISIONS, matches: 0, undecided: 0 });
    expect(turns.mock.calls.length).toBeGreaterThanOrEqual(RULE_SAMPLE_DECISIONS / CLOCK_ROWS);
  });
});
