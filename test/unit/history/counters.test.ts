import { describe, expect, test } from 'vitest';
import { openDecisionLog } from '../../../src/history/open-decision-log.ts';
import { ChallengerCounter, RuleCounter } from '../../../src/history/rule-counter.ts';
import { TopCounter, type TopCount, TopTables } from '../../../src/history/top-counter.ts';
import type { DecisionLog } from '../../../src/history/decision-log.ts';
import type { RawRecord } from '../../../src/history/decision-log/raw-record.ts';
import type { RowPlace } from '../../../src/history/decision-log/scan.ts';
import { type Slices, Turns } from '../../../src/state/tables/turns.ts';
import type { ScanQuery } from '../../../src/history/decision-log/log-query.ts';
import { encodeRecord, type RecordParts } from '../../../src/risk/decision-record.ts';
import { LinkTailWriter } from '../../../src/risk/link-tail.ts';
import type { Bands } from '../../../src/risk/policy/policy.ts';
import { newId } from '../../../src/kernel/ids.ts';
import { facts } from '../../support/facts.ts';
import { freeSlices } from '../../support/slices.ts';
import { customer, tempStore } from '../state/support.ts';

const NOW = 1_790_000_000_000;
const BANDS: Bands = { allowWatch: 30, softChallenge: 50, review: null, block: 80 };
const QUERY: ScanQuery = { sinceMs: null, untilMs: null, nowMs: NOW + 60_000, rowsMax: 1_000 };

interface Given extends Partial<Omit<RecordParts, 'verdict' | 'links' | 'contributions'>> {
  readonly decision?: 'ALLOW' | 'SOFT_CHALLENGE' | 'BLOCK';
  readonly fired?: Readonly<Record<string, number>>;
  /** Kind → a number that stands for the value. */
  readonly links?: Readonly<Record<string, number>>;
}

function append(log: DecisionLog, given: Given = {}): string {
  const { decision = 'ALLOW', fired = {}, links = {}, occurredAtMs = NOW, ...rest } = given;
  const requestId = newId('req', occurredAtMs);
  const writer = new LinkTailWriter();
  for (const [kind, value] of Object.entries(links)) {
    const hashed = { write: (to: Uint8Array, at: number): void => void to.fill(value, at, at + 8) };
    if (kind.startsWith('entity.')) writer.addEntity(kind.slice('entity.'.length), hashed);
    else writer.addKind(kind as 'ip', hashed);
  }
  const bytes = encodeRecord({
    requestId,
    occurredAtMs,
    verdict: { decision, score: 10, reasons: [], reviewHint: '' },
    sessionMode: 'full',
    shadow: null,
    publicKey: false,
    eventType: 'login',
    facts: facts(),
    contributions: Object.entries(fired).map(([code, weight]) => ({ rule: { code }, weight, evidence: 'x' })),
    links: { bytes: writer.done(), identities: null },
    ...rest,
  });
  log.append(customer(1), bytes, 1);
  return requestId;
}

async function counted(log: DecisionLog, judgements: Partial<ConstructorParameters<typeof RuleCounter>[0]> = {}) {
  const none = { labels: new Map<string, never>(), verdicts: new Map<string, never>() };
  const counter = new RuleCounter({ ...none, ...judgements }, () => BANDS);
  await log.scan(customer(1), QUERY, (record, _bytes, _at, _end, ms) => (counter.add(record, ms), false));
  return counter;
}

describe('counts of rules', () => {
  test('A reason is decisive if the decision would be milder without it, and alone if it is the only one', async () => {
    const log = openDecisionLog(tempStore());
    append(log, { decision: 'SOFT_CHALLENGE', fired: { device_http_library: 0.62 } });
    append(log, { decision: 'SOFT_CHALLENGE', fired: { device_http_library: 0.62, ip_hosting: 0.1 } });
    append(log, { decision: 'SOFT_CHALLENGE', fired: { device_http_library: 0.62, device_headless: 0.7 } });
    append(log, { decision: 'BLOCK', fired: { list_block: 1, device_headless: 0.7 } });
    append(log, { decision: 'ALLOW', fired: { ip_hosting: 0.1 } });
    const { counts, flagged } = await counted(log);
    expect(flagged).toBe(4);
    expect([...counts].map(([code, { decisive, alone }]) => [code, decisive, alone])).toEqual([
      ['device_http_library', 2, 1],
      ['list_block', 1, 0],
    ]);
  });

  test('In observe mode the decision counts that would have been made', async () => {
    const log = openDecisionLog(tempStore());
    append(log, { decision: 'ALLOW', wouldBe: 'SOFT_CHALLENGE', fired: { device_http_library: 0.62 } });
    const { counts, flagged } = await counted(log);
    expect([flagged, counts.get('device_http_library')?.decisive]).toEqual([1, 1]);
  });

  test('Judgements count for every reason of their decision, a label before a verdict, and of ALLOW too', async () => {
    const log = openDecisionLog(tempStore());
    const both = append(log, { decision: 'SOFT_CHALLENGE', fired: { device_http_library: 0.62, ip_hosting: 0.1 } });
    const allowed = append(log, { fired: { ip_hosting: 0.1 } });
    const unsure = append(log, { fired: { ip_hosting: 0.1 } });
    const { counts } = await counted(log, {
      labels: new Map([
        [both, 'fraud'],
        [allowed, 'legitimate'],
      ]),
      verdicts: new Map([
        [both, 'legitimate'],
        [unsure, 'unsure'],
      ]),
    });
    expect(counts.get('ip_hosting')).toEqual({
      decisive: 0,
      alone: 0,
      labels: { fraud: 1, legitimate: 1 },
      verdicts: { fraud: 0, legitimate: 1, unsure: 1 },
      fraud: 1,
      legitimate: 1,
    });
    expect(counts.get('device_http_library')).toMatchObject({ decisive: 1, fraud: 1, legitimate: 0 });
  });
});

describe('the matrix of a challenger', () => {
  test('Only decisions that both made are in it, and examples are of cells off the diagonal, bounded', async () => {
    const log = openDecisionLog(tempStore());
    append(log, {});
    append(log, { challenger: 'ALLOW' });
    for (let n = 0; n < 5; n++) append(log, { challenger: 'BLOCK' });
    append(log, { decision: 'ALLOW', wouldBe: 'BLOCK', challenger: 'SOFT_CHALLENGE' });
    const counter = new ChallengerCounter<string>(3);
    await log.scan(customer(1), QUERY, (record) => (counter.add(record, () => record.requestId), false));
    expect([counter.decisions, counter.moved]).toEqual([7, 6]);
    expect([counter.count('ALLOW', 'ALLOW'), counter.count('ALLOW', 'BLOCK')]).toEqual([1, 5]);
    expect(counter.cells().map(({ from, to, count, examples }) => [from, to, count, examples.length])).toEqual([
      ['ALLOW', 'BLOCK', 5, 3],
      ['BLOCK', 'SOFT_CHALLENGE', 1, 1],
    ]);
  });
});

describe('the most frequent subjects', () => {
  async function top(log: DecisionLog, by: string, count: TopCount = 'decisions') {
    const counter = new TopCounter(by, count);
    await log.scan(customer(1), QUERY, (record, bytes, at, end, ms, block) => {
      counter.add(record, bytes, { block, at, end }, ms);
      return false;
    });
    return await counter.top(3, freeSlices());
  }

  test('Subjects are counted by decisions, by flagged ones, and by distinct others', async () => {
    const log = openDecisionLog(tempStore());
    for (let n = 0; n < 4; n++) append(log, { links: { ip: 1, 'entity.email': 1 } });
    append(log, { decision: 'BLOCK', links: { ip: 2, 'entity.email': 2, 'entity.own': 3 } });
    append(log, { decision: 'SOFT_CHALLENGE', links: { ip: 2, 'entity.email': 4 } });
    append(log, { links: {} });
    const countsOf = async (by: string, count?: TopCount): Promise<number[]> =>
      (await top(log, by, count)).map((subject) => subject.count);
    expect(await countsOf('ip')).toEqual([4, 2]);
    expect(await countsOf('ip', 'identities')).toEqual([2, 1]);
    expect(await countsOf('ip', 'flagged')).toEqual([2]);
    expect(await countsOf('entity.email', 'addresses')).toEqual([1, 1, 1]);
    expect(await countsOf('entity.own')).toEqual([1]);
    expect(await countsOf('identity')).toEqual([4, 1, 1]);
    expect(await countsOf('session')).toEqual([]);
    const [second] = await top(log, 'ip', 'identities');
    expect(second).toMatchObject({ decisions: 2, challenged: 1, blocked: 1, worst: 4 });
  });

  test('Among many subjects the first ones are found in slices, the most recent first among equals', async () => {
    const counter = new TopCounter('event_type', 'decisions');
    const subjects = 20_000;
    const place = {} as RowPlace;
    for (let n = 0; n < subjects + 3; n++) {
      // The last three rows are of the first three subjects.
      const subject = n % subjects;
      const record = { eventType: `${String.fromCodePoint(97 + (subject % 26))}${subject}`, effective: 'ALLOW' };
      counter.add(record as RawRecord, Buffer.alloc(0), place, NOW + n);
    }
    let slices = 0;
    const over = { isOver: true, begin: async () => void slices++ } as unknown as Slices;
    const found = await counter.top(4, over);
    expect(found.map(({ count, lastSeenMs }) => [count, lastSeenMs - NOW])).toEqual([
      [2, subjects + 2],
      [2, subjects + 1],
      [2, subjects],
      [1, subjects - 1],
    ]);
    expect(slices).toBeGreaterThan(20);
  });

  test('Identities of a flood of decisions are counted exactly, those of the name with the most', async () => {
    const log = openDecisionLog(tempStore());
    for (let n = 0; n < 150; n++)
      append(log, { links: { 'entity.email': n % 50, 'entity.card': 100 + n, 'entity.phone': 250 } });
    const found = await top(log, 'identity', 'identities');
    // The phone occurs with 150 cards and 50 e-mail addresses, each address with 3 cards.
    expect(found.map(({ count }) => count)).toEqual([150, 3, 3]);
    expect(found[0]?.key).toBe('fa'.repeat(8));
  });

  test('A person with a user id, an e-mail address and a name of the customer is one identity', async () => {
    const log = openDecisionLog(tempStore());
    const person = { 'entity.user_id': 1, 'entity.email': 2, 'entity.own': 3 };
    for (let n = 0; n < 3; n++) append(log, { links: { ip: 9, fingerprint: 8, ...person } });
    for (const by of ['ip', 'fingerprint'])
      expect((await top(log, by, 'identities')).map(({ count }) => count)).toEqual([1]);
  });

  test('Tables that were used before count as new ones do', async () => {
    const log = openDecisionLog(tempStore());
    for (let n = 0; n < 50; n++) append(log, { decision: 'BLOCK', links: { ip: n % 7, 'entity.email': n } });
    const tables = new TopTables();
    const count = async (by: string, of: TopCount, used: TopTables): Promise<unknown> => {
      used.reset();
      const counter = new TopCounter(by, of, used);
      await log.scan(customer(1), QUERY, (record, bytes, at, end, ms, block) => {
        counter.add(record, bytes, { block, at, end }, ms);
        return false;
      });
      return counter.top(3, freeSlices());
    };
    for (const [by, of] of [
      ['ip', 'identities'],
      ['identity', 'decisions'],
      ['event_type', 'addresses'],
      ['entity.email', 'addresses'],
      ['ip', 'identities'],
    ] as const)
      expect(await count(by, of, tables)).toEqual(await count(by, of, new TopTables()));
  });

  test('A scan with a slow visitor yields within a block, and passes each row once', async () => {
    const turns = new Turns();
    const log = openDecisionLog(tempStore(), { turns });
    const rows = 400;
    for (let n = 0; n < rows; n++) append(log, { occurredAtMs: NOW + n });
    let inTurn = 0;
    let longest = 0;
    const next = turns.next.bind(turns);
    turns.next = async () => {
      await next();
      inTurn = 0;
    };
    const seen: number[] = [];
    const slow = (_record: unknown, _bytes: unknown, _at: number, _end: number, ms: number): boolean => {
      longest = Math.max(longest, ++inTurn);
      seen.push(ms - NOW);
      const untilMs = performance.now() + 0.05;
      while (performance.now() < untilMs);
      return false;
    };
    expect(await log.scan(customer(1), QUERY, slow)).toMatchObject({ rows, isTruncated: false });
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: rows }, (_, n) => n));
    // 0.3 ms have 6 such rows, and the clock is looked at every 8 rows.
    expect(longest).toBeLessThanOrEqual(16);
  });

  test('A block that grows, or is removed, while a scan of it yields is read to its end, or left', async () => {
    const log = openDecisionLog(tempStore());
    for (let n = 0; n < 100; n++) append(log, { occurredAtMs: NOW + n });
    let passed = 0;
    const slow = (): boolean => {
      passed++;
      if (passed === 20) append(log, { occurredAtMs: NOW + 1_000 });
      if (passed === 30) void log.flush();
      const untilMs = performance.now() + 0.05;
      while (performance.now() < untilMs);
      return false;
    };
    expect(await log.scan(customer(1), QUERY, slow)).toMatchObject({ rows: 100 });
    passed = 100;
    const rows = await log.scan(customer(1), QUERY, () => {
      if (passed === 110) log.prune(NOW + 31 * 86_400_000);
      return slow();
    });
    expect(rows).toMatchObject({ kind: 'scanned', isTruncated: false });
    expect(log.stats().rows).toBe(0);
    expect(log.stats().damagedBlocks).toBe(0);
  });

  test('Countries, event types and reasons are shown as their own text', async () => {
    const log = openDecisionLog(tempStore());
    append(log, { fired: { ip_hosting: 0.1, device_headless: 0.7 } });
    append(log, { fired: { ip_hosting: 0.1 }, eventType: 'signup' });
    append(log, { facts: null, eventType: '' });
    const keys = async (by: string): Promise<unknown[]> => (await top(log, by)).map(({ key, count }) => [key, count]);
    expect(await keys('reason')).toEqual([
      ['ip_hosting', 2],
      ['device_headless', 1],
    ]);
    expect(new Map((await keys('event_type')) as [string, number][])).toEqual(
      new Map([
        ['login', 1],
        ['signup', 1],
      ]),
    );
    expect(await keys('country')).toEqual([[facts().geo?.country, 2]]);
  });

  test('A scan reads the newest blocks first and reports that it left older ones out', async () => {
    const log = openDecisionLog(tempStore());
    for (let n = 0; n < 3_000; n++) append(log, { occurredAtMs: NOW + n });
    const seen: number[] = [];
    const note = (_record: unknown, _bytes: unknown, _at: number, _end: number, ms: number): boolean => {
      seen.push(ms - NOW);
      return false;
    };
    const part = await log.scan(customer(1), { ...QUERY, rowsMax: 100 }, note);
    expect(part).toMatchObject({ kind: 'scanned', isTruncated: true, rows: seen.length });
    expect(Math.max(...seen)).toBe(2_999);
    expect(seen.length).toBeGreaterThanOrEqual(100);
    seen.length = 0;
    const range = { ...QUERY, sinceMs: NOW + 10, untilMs: NOW + 20 };
    expect(await log.scan(customer(1), range, note)).toMatchObject({ rows: 10, isTruncated: false });
    expect(seen.toSorted((a, b) => a - b)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    expect(await log.scan(customer(2), QUERY, note)).toMatchObject({ rows: 0, isTruncated: false, oldestMs: null });
  });
});
