import { beforeAll, describe, expect, it } from 'vitest';
import { openDetectEngine, type DetectEngine } from '../../../../bench/detect/engine.ts';
import { CUSTOMERS } from '../../../../scripts/traffic/customers.ts';
import type { TrafficEvent } from '../../../../scripts/traffic/events.ts';
import { DEFAULT_POLICY_SET } from '../../../../src/risk/policy/policy-set.ts';

/** Attackers who own accounts, so that some of what they do succeeds. Every rule and the velocity store, on a virtual clock. */

const SECOND = 1_000;
const DAY = 86_400 * SECOND;
const MONDAY_MS = Date.UTC(2026, 10, 9);
const AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36';
const ABSENT = { kind: 'absent', generation: 0, detail: '' } as const;
const VICTIMS = 200;

/** One step of a script. `outcome` null reports none. */
interface Step {
  readonly atMs: number;
  readonly ip: string;
  readonly email: string | null;
  readonly type?: string;
  readonly outcome?: 'succeeded' | 'failed' | null;
  readonly session?: string;
}

let engine: DetectEngine;
beforeAll(() => {
  const geo = { city: ABSENT, country: ABSENT, asn: ABSENT, anonymiser: ABSENT, networks: ABSENT, domains: ABSENT };
  engine = openDetectEngine({ geo, policies: DEFAULT_POLICY_SET, velocityBytes: 64 * 2 ** 20 });
});

/** Plays the steps for a customer of their own. Returns whether each was held back. */
async function play(steps: readonly Step[]): Promise<boolean[]> {
  const [template] = CUSTOMERS;
  if (template === undefined) throw new Error('there is no customer');
  customers++;
  const customer = { ...template, number: 100 + customers };
  const held: boolean[] = [];
  for (const [id, { atMs, ip, email, type = 'login', outcome = 'succeeded', session = `s${id}` }] of steps.entries()) {
    const event: TrafficEvent = {
      atMs,
      session: {
        id,
        customer,
        isAttack: true,
        kind: 'test',
        actor: 1,
        isOrdinary: false,
        officeFirstDay: null,
      },
      body: {
        ip,
        user_agent: AGENT,
        session_token: session,
        ...(email !== null && { entity_keys: { email } }),
        event_type: type,
        timestamp: Math.floor(atMs / 1_000),
      },
      outcome,
      isFirstHours: false,
    };
    const [decided] = await engine.decide([event]);
    if (decided === undefined) throw new Error('the event was not decided');
    held.push(decided.decision === 'SOFT_CHALLENGE' || decided.decision === 'BLOCK');
    if (outcome === null) continue;
    const told = held.at(-1) === true && outcome === 'failed' ? 'challenge_failed' : outcome;
    const report = { requestId: decided.requestId, customerNumber: customer.number, event, atMs: atMs + 400 };
    await engine.outcomes.report({ ...report, outcome: told });
  }
  return held;
}

let customers = 0;
const HERE = '84.17.3.9';

/** Forty people who log in once a day from lines of their own: what is usual for the customer. */
function everyday(days: number): Step[] {
  const steps: Step[] = [];
  for (let day = -days; day < 0; day++)
    for (let person = 0; person < 40; person++)
      steps.push({
        atMs: MONDAY_MS + day * DAY + person * 600 * SECOND,
        ip: `91.${person}.7.1`,
        email: `person${person}@mail.example`,
      });
  return steps;
}

/** One own success, then one failure of somebody else, every two seconds. */
function stuff(own: (n: number) => Partial<Step>, gapMs = 2 * SECOND): Step[] {
  const steps: Step[] = [];
  for (let n = 0; n < VICTIMS; n++) {
    const atMs = MONDAY_MS + 9 * 3_600 * SECOND + n * gapMs;
    steps.push({ atMs, ip: HERE, email: null, ...own(n) });
    steps.push({ atMs: atMs + gapMs / 2, ip: HERE, email: `victim${n}@list.example`, outcome: 'failed' });
  }
  return steps;
}

/** How many attempts on other people's accounts were held back. */
async function stoppedOf(steps: readonly Step[]): Promise<number> {
  const held = await play(steps);
  return steps.filter(({ email }, n) => email?.startsWith('victim') === true && held[n] === true).length;
}

const ownAccount = (accounts: number) => (n: number) => ({ email: `own${n % accounts}@own.example` });

/** The own accounts were used on the day before: at the same address, or somewhere else. */
function prepared(accounts: number, ip: string): Step[] {
  return Array.from({ length: accounts }, (_none, n) => ({
    atMs: MONDAY_MS - DAY + n * 3_600 * SECOND,
    ip,
    email: `own${n}@own.example`,
  }));
}

function byTime(steps: readonly Step[]): Step[] {
  return [...steps].sort((a, b) => a.atMs - b.atMs);
}

describe('a stuffer at one address with a success of an own account for each failure', () => {
  describe.each([1, 5, 20])('and %i own accounts', (accounts) => {
    it('is stopped at least 150 times in 200 with accounts that are new', async () => {
      expect(await stoppedOf([...everyday(3), ...stuff(ownAccount(accounts))])).toBeGreaterThanOrEqual(150);
    });

    it("is stopped at least 150 times in 200 on the customer's first day", async () => {
      expect(await stoppedOf(stuff(ownAccount(accounts)))).toBeGreaterThanOrEqual(150);
    });

    it.each([
      ['the same address', HERE],
      ['another one', '79.4.3.2'],
    ])('is stopped at least 150 times in 200 with accounts that were used at %s the day before', async (_where, ip) => {
      const steps = [...everyday(3), ...prepared(accounts, ip), ...stuff(ownAccount(accounts))];
      expect(await stoppedOf(byTime(steps))).toBeGreaterThanOrEqual(150);
    });

    it('is stopped at least 150 times in 200 with an attempt every six minutes', async () => {
      const steps = [...everyday(3), ...stuff(ownAccount(accounts), 360 * SECOND)];
      expect(await stoppedOf(steps)).toBeGreaterThanOrEqual(150);
    });
  });

  it('is stopped at least 150 times in 200 if no outcomes are reported', async () => {
    const silent = stuff(ownAccount(1)).map((step) => ({ ...step, outcome: null }));
    expect(await stoppedOf([...everyday(3), ...silent])).toBeGreaterThanOrEqual(150);
  });
});

describe('sessions and logins that an attacker makes for nothing', () => {
  it('An empty session for each attempt at an address silences no rule', async () => {
    const steps = stuff((n) => ({ type: 'search', session: `empty${n}` })).map((step) => ({ ...step, outcome: null }));
    expect(await stoppedOf([...everyday(3), ...steps])).toBeGreaterThanOrEqual(150);
  });

  it('Waiting 21 seconds in each session does not silence the surge of unknown accounts', async () => {
    const steps: Step[] = [];
    for (let n = 0; n < VICTIMS; n++) {
      const atMs = MONDAY_MS + 9 * 3_600 * SECOND + n * 3 * SECOND;
      const [ip, session] = [`93.${n}.8.4`, `waits${n}`];
      steps.push({ atMs, ip, session, email: null, type: 'search', outcome: null });
      steps.push({ atMs: atMs + 21 * SECOND, ip, session, email: `victim${n}@list.example`, outcome: 'failed' });
    }
    expect(await stoppedOf(byTime([...everyday(3), ...steps]))).toBeGreaterThanOrEqual(150);
  });

  it('An own success for each failure does not silence the surge over many addresses', async () => {
    const steps = stuff(ownAccount(1)).map((step, n) => ({ ...step, ip: `93.${n % 200}.8.4` }));
    expect(await stoppedOf([...everyday(3), ...steps])).toBeGreaterThanOrEqual(150);
  });
});

describe('an office', () => {
  /** Thirty people, of whom each tenth mistypes the password once. */
  function office(known: boolean): Step[] {
    const steps: Step[] = [];
    const startMs = MONDAY_MS + 8 * 3_600 * SECOND;
    for (let n = 0; n < 30; n++) {
      const email = `staff${n}@firm.example`;
      if (known) steps.push({ atMs: MONDAY_MS - 2 * DAY + n * 2_400 * SECOND, ip: `87.${n}.1.1`, email });
      if (n % 10 === 4)
        steps.push({
          atMs: startMs + n * 20 * SECOND - 9 * SECOND,
          ip: HERE,
          email,
          outcome: 'failed',
          session: `o${n}`,
        });
      steps.push({ atMs: startMs + n * 20 * SECOND, ip: HERE, email, session: `o${n}` });
    }
    return byTime(steps);
  }

  it.each([
    ['people who are known from home', true],
    ['people who come for the first time', false],
  ])('of %s is not challenged if outcomes are reported', async (_who, known) => {
    const steps = byTime([...everyday(3), ...office(known)]);
    const held = await play(steps);
    expect(steps.filter(({ email }, n) => email?.startsWith('staff') === true && held[n] === true)).toEqual([]);
  });
});
