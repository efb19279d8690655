import { describe, expect, test } from 'vitest';
import { writeFeatureRow } from '../../../src/risk/feature-row.ts';
import { readSignals, SIGNAL_NAMES } from '../../../src/risk/shown-signals.ts';
import type { Facts } from '../../../src/risk/facts.ts';
import { signalRows } from '../../../src/web/dashboard/pages/decision/signal-rows.ts';
import { collectorToken, facts, NOW_SECONDS } from '../../support/facts.ts';

function rowOf(given: Facts): Buffer {
  const bytes = Buffer.alloc(4_096);
  return bytes.subarray(0, writeFeatureRow(bytes, 0, given, [{ rule: { code: 'device_headless' } }]));
}

function signalsOf(given: Facts): Readonly<Record<string, number>> {
  const signals = readSignals(rowOf(given));
  if (signals === null) throw new Error('the row is not readable');
  return signals;
}

describe('the signals of a decision', () => {
  test('They are those of the stored row, by name, without rules and without figures of other customers', () => {
    const given = facts({
      token: collectorToken({ webdriver: true, pluginCount: 0, touchPoints: 5 }, NOW_SECONDS - 5_400),
    });
    const signals = signalsOf(given);
    expect(Object.keys(signals)).toEqual(SIGNAL_NAMES);
    expect(signals).toMatchObject({
      'token:collector': 1,
      'token:webdriver': 1,
      'token:no_plugins': 1,
      'token:no_languages': 0,
      'token:touch': 1,
      'token:age_hours': 1.5,
    });
    expect(SIGNAL_NAMES.filter((name) => /^(?:rule|registry|time):/.test(name))).toEqual([]);
  });

  test('A row of another build, a damaged one and a missing one have none, instead of wrong ones', () => {
    const row = rowOf(facts());
    const foreign = Buffer.from(row);
    foreign[0] = (foreign[0] ?? 0) ^ 1;
    expect([null, foreign, row.subarray(0, 3), row.subarray(0, row.length - 4)].map(readSignals)).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  test('The page says what the token reported beside what the server saw, and nothing of a token that could not be read', () => {
    const of = (given: Facts): Record<string, readonly [string | null, string]> =>
      Object.fromEntries(signalRows(signalsOf(given)).map(({ about, token, server }) => [about, [token, server]]));
    const read = of(facts({ token: collectorToken({ webdriver: true }), userAgent: 'curl/8.5.0' }));
    expect(read['Automation']).toEqual(['the browser says that a program drives it', 'an HTTP library']);
    expect(read['Token']).toEqual(['of the collector, 10 min old', 'read and checked']);
    const opaque = of(facts({ token: { kind: 'opaque', isBroken: false } }));
    expect(opaque['Automation']).toEqual([null, 'nothing in the user agent']);
    expect(opaque['Token']).toEqual([null, 'a text that is not the collector’s']);
    expect(of(facts({ token: collectorToken({}, NOW_SECONDS + 3_600) }))['Token']?.[0]).toContain('in the future');
  });
});
