import { CommanderError } from 'commander';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Decision } from '../../../src/risk/decision.ts';
import { DEFAULT_POLICY_SET } from '../../../src/risk/policy/policy-set.ts';
import type { GeoContent } from '../../../src/assets/asset-messages.ts';
import { openDetectEngine, type DetectEngine } from '../../../bench/detect/engine.ts';
import { readOptions } from '../../../bench/detect/options.ts';
import { learnedOutcome, OUTCOME_DELAY_MS, OutcomeQueue, type OutcomeReport } from '../../../bench/detect/outcomes.ts';
import { computeReport, type Report } from '../../../bench/detect/report.ts';
import { computeRoc } from '../../../bench/detect/roc.ts';
import { runSessions } from '../../../bench/detect/run.ts';
import { Tally } from '../../../bench/detect/tally.ts';
import { CUSTOMERS } from '../../../scripts/traffic/customers.ts';
import type { PlannedSession, SessionLabel, TrafficEvent } from '../../../scripts/traffic/events.ts';
import { planWeek } from '../../../scripts/traffic/week.ts';

const [customer] = CUSTOMERS;
if (customer === undefined) throw new Error('there is no customer');

function label(id: number, parts: Partial<SessionLabel> = {}): SessionLabel {
  return {
    id,
    customer: customer as SessionLabel['customer'],
    isAttack: false,
    kind: 'home',
    actor: id,
    isOrdinary: true,
    officeFirstDay: null,
    ...parts,
  };
}

function event(session: SessionLabel, parts: Partial<TrafficEvent> = {}): TrafficEvent {
  const body = { ip: '5.9.1.2', user_agent: '', session_token: 's', event_type: 'login', timestamp: 0 };
  return { atMs: 0, session, body, outcome: 'succeeded', isFirstHours: false, ...parts };
}

const decided = (decision: Decision, score: number): Parameters<Tally['add']>[1] => ({
  requestId: 'req_1',
  decision,
  score,
  contributions: [{ code: 'travel_impossible', weight: 0.62, evidence: '' }],
});

describe('the report', () => {
  test('The report counts the sessions and people that were challenged or worse, with first hours and offices counted separately', () => {
    const tally = new Tally();
    const office = { kind: 'office_large', isOrdinary: false };
    tally.add(event(label(1)), decided('ALLOW', 0));
    tally.add(event(label(1)), decided('REVIEW', 70));
    tally.add(event(label(2, { actor: 1 })), decided('ALLOW_WATCH', 30));
    tally.add(event(label(3, { ...office, officeFirstDay: true }), { isFirstHours: true }), decided('BLOCK', 90));
    tally.add(event(label(4, { ...office, officeFirstDay: false })), decided('ALLOW', 0));
    const { honest, ordinary, reasons } = computeReport([tally]);
    expect(honest.sessions).toEqual({ part: 2, of: 4 });
    expect(honest.people).toEqual({ part: 2, of: 3 });
    expect(honest.firstHours).toEqual({ part: 1, of: 1 });
    expect(honest.later).toEqual({ part: 1, of: 3 });
    expect(honest.officeFirstDay).toEqual({ part: 1, of: 1 });
    expect(honest.officeLater).toEqual({ part: 0, of: 1 });
    expect(ordinary.sessions).toEqual({ part: 1, of: 2 });
    expect(reasons.map(({ kind, rules }) => [kind, rules])).toEqual([
      ['home', [['travel_impossible', 1]]],
      ['office_large', [['travel_impossible', 1]]],
    ]);
  });

  test('The report distinguishes challenged from blocked events, and a review is not a block', () => {
    const tally = new Tally();
    const attack = { isAttack: true, isOrdinary: false, kind: 'stuffing', actor: 9 };
    tally.add(event(label(1, attack)), decided('ALLOW', 0));
    tally.add(event(label(2, attack)), decided('REVIEW', 70));
    tally.add(event(label(3, attack)), decided('SOFT_CHALLENGE', 55));
    tally.add(event(label(4, attack)), decided('ALLOW', 0));
    tally.add(event(label(5, { ...attack, kind: 'quiet', actor: 10 })), decided('ALLOW', 0));
    const report = computeReport([tally]);
    const [stuffing, quiet] = report.attackKinds;
    expect(stuffing).toMatchObject({
      challenged: { part: 2, of: 4 },
      heldBack: { part: 1, of: 4 },
      throughFirst: 2,
      neverStopped: 0,
      campaigns: 1,
      through: { part: 3, of: 4 },
    });
    expect(quiet).toMatchObject({ throughFirst: 1, neverStopped: 1 });
    expect(report.meanChallenged).toBe(0.25);
    expect(report.meanHeldBack).toBe(0.125);
    expect([report.kindsFrom90, report.kindsUnder10]).toEqual([0, 1]);
  });

  test('The report does not merge people of two seeds', () => {
    const rowCounters = [1, 2].map(() => {
      const tally = new Tally();
      tally.add(event(label(1)), decided('BLOCK', 100));
      return tally;
    });
    expect(computeReport(rowCounters).honest.people).toEqual({ part: 2, of: 2 });
  });
});

describe('computeRoc', () => {
  const attack = (score: number): { score: number; isAttack: boolean } => ({ score, isAttack: true });
  const honest = (score: number): { score: number; isAttack: boolean } => ({ score, isAttack: false });

  test('The area under the curve is 1 for separated scores, ½ for equal scores and 0 for inverted scores', () => {
    expect(computeRoc([attack(80), attack(60), honest(10), honest(0)]).area).toBe(1);
    expect(computeRoc([attack(20), honest(20), honest(20)]).area).toBe(0.5);
    expect(computeRoc([attack(0), honest(50)]).area).toBe(0);
    expect(computeRoc([honest(50)]).area).toBeNaN();
  });

  test('The curve runs from no detections to all', () => {
    const { points } = computeRoc([attack(80), honest(80), attack(12.3), honest(0)]);
    expect(points.map((point) => [point.score, point.falseAlarms, point.catch])).toEqual([
      [101, 0, 0],
      [80, 0.5, 0.5],
      [12.3, 0.5, 1],
      [0, 1, 1],
    ]);
  });
});

describe('outcomes', () => {
  test('The outcomes are what the customer learns: attackers fail a challenge, and a blocked event never happens', () => {
    const honest = event(label(1));
    const attack = event(label(2, { isAttack: true }));
    expect(learnedOutcome(honest, 'SOFT_CHALLENGE')).toBe('succeeded');
    expect(learnedOutcome(attack, 'SOFT_CHALLENGE')).toBe('challenge_failed');
    expect(learnedOutcome(attack, 'REVIEW')).toBe('succeeded');
    expect(learnedOutcome(honest, 'BLOCK')).toBeNull();
    expect(learnedOutcome(event(label(1), { outcome: null }), 'ALLOW')).toBeNull();
  });

  test('The outcomes are reported in order, each when it is due', async () => {
    const reported: number[] = [];
    const queue = new OutcomeQueue({ report: ({ atMs }) => void reported.push(atMs) });
    const report = (atMs: number): OutcomeReport => ({
      requestId: 'req_1',
      customerNumber: 1,
      outcome: 'failed',
      atMs,
      event: event(label(1)),
    });
    for (const atMs of [100, 200, 300]) queue.add(report(atMs));
    await queue.flush(200);
    expect(reported).toEqual([100, 200]);
    expect(queue.nextDueMs).toBe(300);
    await queue.flush(Infinity);
    expect([reported.at(-1), queue.nextDueMs, queue.reported]).toEqual([300, Infinity, 3]);
  });
});

/** Runs without location databases, which take a while to load. */
function openEngine(): DetectEngine {
  const absent: GeoContent = { kind: 'absent', generation: 0, detail: '' };
  const geo = { city: absent, country: absent, asn: absent, anonymiser: absent, networks: absent, domains: absent };
  return openDetectEngine({ geo, policies: DEFAULT_POLICY_SET, velocityBytes: 16 * 2 ** 20 });
}

describe('runSessions', () => {
  const sessions = planWeek({ seed: 3, scale: 0.002, days: 1, attacks: true }, () => 'DE');

  async function run(parts: Partial<Parameters<typeof runSessions>[0]> = {}): Promise<Report> {
    const { tally } = await runSessions({ sessions, engine: openEngine(), reportsOutcomes: false, ...parts });
    return computeReport([tally]);
  }

  let report: Report;
  beforeAll(async () => {
    report = await run();
  });

  test('The run decides every event of every session', () => {
    expect(report.events).toBe(sessions.reduce((sum, session) => sum + session.play().length, 0));
    const probing = report.attackKinds.find(({ kind }) => kind === 'probing_for_holes');
    expect(probing?.challenged).toEqual({ part: 3, of: 3 });
    expect(report.roc.area).toBeGreaterThan(0.5);
  });

  test('Each outcome is reported before any later event is decided; a second run, which only reports them, has the same result', async () => {
    const engine = openEngine();
    let nowMs = 0;
    let latest = 0;
    const watching: DetectEngine = {
      ...engine,
      async decide(events) {
        nowMs = Math.max(nowMs, events.at(-1)?.atMs ?? 0);
        return engine.decide(events);
      },
      outcomes: {
        report({ atMs }) {
          expect(nowMs).toBeLessThan(atMs);
          expect(atMs).toBeGreaterThanOrEqual(latest);
          latest = atMs;
        },
      },
    };
    const { tally, outcomesReported } = await runSessions({ sessions, engine: watching, reportsOutcomes: true });
    expect(outcomesReported).toBeGreaterThan(100);
    expect(latest).toBeGreaterThan(OUTCOME_DELAY_MS);
    expect(computeReport([tally])).toEqual(report);
  });

  test('The run accepts an empty list of sessions', async () => {
    const none: readonly PlannedSession[] = [];
    expect((await run({ sessions: none })).honest.sessions.of).toBe(0);
  });
});

describe('the options', () => {
  test('The help names three seeds for tuning', () => {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    onTestFinished(() => write.mockRestore());
    expect(() => readOptions(['node', 'detect', '--help'])).toThrow(CommanderError);
    expect(write.mock.calls.join('')).toContain('seeds 1, 2 and 3 only');
  });

  test('The options accept several seeds and refuse values out of bounds', () => {
    expect(readOptions(['node', 'detect', '--seed', '11,12', '--no-attacks'])).toMatchObject({
      seed: [11, 12],
      attacks: false,
      scale: 1,
    });
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => write.mockRestore());
    for (const argv of [
      ['--scale', '0'],
      ['--days', '1.5'],
      ['--seed', 'x'],
    ])
      expect(() => readOptions(['node', 'detect', ...argv])).toThrow(CommanderError);
  });
});
