import { describe, expect, it } from 'vitest';
import { CustomerLabels } from '../../../bench/learning/customer-labels.ts';
import { FAMILIES, familyOf } from '../../../bench/learning/families.ts';
import { judgeWeek, type TrainedModel } from '../../../bench/learning/judge.ts';
import type { PlayedEvent } from '../../../bench/learning/play-week.ts';
import { ATTACK_KINDS } from '../../../scripts/traffic/attacks/index.ts';
import { CUSTOMERS } from '../../../scripts/traffic/customers.ts';
import type { SessionLabel, TrafficEvent } from '../../../scripts/traffic/events.ts';
import type { DecisionRecord } from '../../../src/risk/decision-record.ts';
import { FEATURE_SET } from '../../../src/risk/feature-row.ts';
import { FEATURE_NAMES } from '../../../src/risk/features.ts';
import { Forest } from '../../../src/risk/forest.ts';
import { DEFAULT_POLICY_SET } from '../../../src/risk/policy/policy-set.ts';

const [customer] = CUSTOMERS;
if (customer === undefined) throw new Error('there is no customer');
const HONEST: SessionLabel = {
  id: 1,
  customer,
  isAttack: false,
  kind: 'home',
  actor: 1,
  isOrdinary: true,
  officeFirstDay: null,
};
const ATTACK: SessionLabel = { ...HONEST, id: 2, isAttack: true, kind: 'takeover_abroad_at_once' };

function event(session: SessionLabel, eventType: string, outcome: TrafficEvent['outcome']): TrafficEvent {
  const body = { ip: '5.9.1.2', user_agent: '', session_token: 's', event_type: eventType, timestamp: 0 };
  return { atMs: 0, session, body, outcome, isFirstHours: false };
}

const record = (decision: DecisionRecord['decision']): DecisionRecord =>
  ({ decision, shadow: null }) as unknown as DecisionRecord;

describe('The labels of a customer', () => {
  it('A session that nobody noticed has none, whatever it was', () => {
    const labels = new CustomerLabels(1);
    for (let n = 0; n < 200; n++) {
      const seen = labels.of(event(ATTACK, 'page_view', null), record('ALLOW'));
      expect(seen).toMatchObject({ label: null, hasPassed: null });
    }
  });

  it('Some stolen payments and taken accounts are reported, and never an honest one', () => {
    const labels = new CustomerLabels(1);
    const reported = (session: SessionLabel, type: string): number =>
      Array.from({ length: 1_000 }, () => labels.of(event(session, type, 'succeeded'), record('ALLOW'))).filter(
        ({ label }) => label === 'fraud',
      ).length;
    expect(reported(ATTACK, 'payment')).toBeGreaterThan(500);
    expect(reported(ATTACK, 'payment')).toBeLessThan(700);
    expect(reported(ATTACK, 'login')).toBeGreaterThan(200);
    expect(reported(HONEST, 'payment')).toBe(0);
  });

  it('Reviews end with the day of their reviewer', () => {
    const labels = new CustomerLabels(1);
    const known = Array.from({ length: 100 }, () => labels.of(event(HONEST, 'checkout', null), record('REVIEW')));
    expect(known.filter(({ label }) => label !== null)).toHaveLength(40);
  });
});

describe('The judgement of a played week', () => {
  const AGE = FEATURE_NAMES.indexOf('customer:age_hours');
  /** Certain of fraud for every row. */
  const forest = new Forest({
    format: 'gatehouse-forest',
    base: 10,
    scale: 1,
    shift: 0,
    starts: [0],
    column: [-1],
    threshold: [0],
    left: [0],
    right: [0],
    value: [0],
  });
  const model: TrainedModel = { forest, threshold: 0.5, positions: new Map(), rows: 0, fraudSessions: 0 };

  function played(ageHours: number, score: number): PlayedEvent {
    const bits = Buffer.alloc(Math.ceil(FEATURE_NAMES.length / 8));
    bits[AGE >> 3] = 1 << (AGE & 7);
    const set = Buffer.alloc(4);
    set.writeUInt32BE(FEATURE_SET);
    const features = Buffer.concat([set, bits, Buffer.from([ageHours])]);
    const at = { atMs: 0, session: ATTACK, isFirstHours: false };
    return {
      event: at,
      eventType: 'login',
      decision: 'ALLOW',
      score,
      requestId: 'req_1',
      features,
      row: {} as PlayedEvent['row'],
    };
  }
  const stops = (one: PlayedEvent, weight: number): boolean =>
    judgeWeek([one], model, DEFAULT_POLICY_SET, weight).added.length === 1;

  it('The default weight stops what the rules found something of, and never alone', () => {
    expect([stops(played(30, 20), 0.44), stops(played(30, 0), 0.44), stops(played(30, 0), 0.7)]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('The model is silent on the first day', () => {
    expect(stops(played(23, 20), 0.7)).toBe(false);
  });
});

it('Every kind of attack has a family', () => {
  const families = new Set(ATTACK_KINDS.map(({ kind }) => familyOf(kind)));
  expect(families).toEqual(new Set(FAMILIES));
});
