import { beforeEach, describe, expect, test } from 'vitest';
import { BATCH_REQUESTS_MAX } from '../../../src/kernel/limits.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { ListAction } from '../../../src/risk/decision.ts';
import { decodeRecord, type DecisionRecord } from '../../../src/risk/decision-record.ts';
import type { RegistryFacts } from '../../../src/risk/facts.ts';
import type { Velocity } from '../../../src/ports/velocity.ts';
import type { HistoryEvent, HistoryFacts } from '../../../src/risk/history.ts';
import {
  compilePolicies,
  DEFAULT_DOCUMENT,
  DEFAULT_POLICY_SET,
  type PolicySet,
} from '../../../src/risk/policy/policy-set.ts';
import {
  ANSWER_DEGRADED,
  ANSWER_OBSERVED,
  ANSWER_SHADOW_ROUTED,
  ANSWER_SIGHTING,
  ANSWER_TRUSTED,
  AnswerReader,
  AnswerWriter,
  createBatchBuffer,
  BatchReader,
  BatchWriter,
  REQUEST_PUBLIC_KEY,
  REQUEST_SIMULATION,
  REQUEST_WARM_UP,
} from '../../../src/frames/batch-buffer.ts';
import { Engine } from '../../../src/score/engine.ts';
import { CALM_GEO } from '../../support/facts.ts';
import { history as shopperHistory } from '../../support/history.ts';

/** One engine over one batch buffer, with velocity store, lists, registry and model as configured by a test. */

const CUSTOMER = 7;
const NOW_MS = Date.UTC(2026, 10, 21, 12);
const FINGERPRINT = 'f'.repeat(64);
const CALM = {
  ip: '91.10.20.30',
  user_agent:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/157.0.0.0 Safari/537.36',
  session_token: collectorToken(),
  event_type: 'login',
};
/** 1 - .3 · .25 = 92.5: a probe by a headless browser. */
const HOSTILE = { ...CALM, user_agent: 'HeadlessChrome/157.0', url: 'https://shop.example/.env' };

function collectorToken(sid = 'session-1'): string {
  const body = { v: 1, fp: FINGERPRINT, sid, iat: NOW_MS / 1_000 - 60, sig: {} };
  return `st1.${Buffer.from(JSON.stringify(body)).toString('base64url')}`;
}

interface World {
  list: ListAction | null;
  registry: RegistryFacts | null;
  probability: number | null;
  challengerProbability: number | null;
  policies: PolicySet;
  velocity: Velocity;
  seen: HistoryEvent[];
  /** Events received by the warm-up's own velocity table. */
  warmUpSeen: HistoryEvent[];
  /** Events of simulations. */
  simulated: HistoryEvent[];
}

let world: World;

beforeEach(() => {
  const seen: HistoryEvent[] = [];
  const velocity: Velocity = {
    observe(events) {
      seen.push(...events);
      return events.map(() => null);
    },
  };
  world = {
    list: null,
    registry: null,
    probability: null,
    challengerProbability: null,
    policies: DEFAULT_POLICY_SET,
    velocity,
    seen,
    warmUpSeen: [],
    simulated: [],
  };
});

interface Scored {
  readonly status: number;
  readonly flags: number;
  readonly text: string;
  readonly record: DecisionRecord | null;
}

function modelOf(version: string, probability: number | null): ConstructorParameters<typeof Engine>[0]['model'] {
  const model = {
    version,
    threshold: 0.5,
    columns: [],
    run: (_rows: Float32Array, count: number) => Promise.resolve(new Float32Array(count).fill(probability ?? 0)),
    reasons: () => ': geo:tor +1.00',
  };
  return { current: () => (probability === null ? null : model) };
}

async function score(bodies: readonly unknown[], flags = 0): Promise<Scored[]> {
  const frame = createBatchBuffer();
  const writer = new BatchWriter(frame);
  for (const body of bodies) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    writer.add(Buffer.from(text), CUSTOMER, flags, NOW_MS);
  }
  const { probability, challengerProbability } = world;
  const engine = new Engine({
    sources: {
      findList: () => world.list,
      findListKey: () => null,
      listedKinds: () => null,
      findNamedList: () => null,
      hasNamedItem: () => false,
      findRegistry: () => world.registry,
      lookupGeo: () => CALM_GEO,
      geoEpoch: () => 0,
      crawlersKnown: () => new Set<string>(),
    },
    model: modelOf('active', probability),
    challengerModel: modelOf('next', challengerProbability),
    policies: { current: () => world.policies },
    velocity: { observe: (events) => world.velocity.observe(events) },
    keys: {
      links: Buffer.alloc(32, 7),
      requests: Buffer.alloc(32, 7),
      grants: Buffer.alloc(32, 7),
      lists: Buffer.alloc(32, 7),
    },
    simulatedVelocity: { observe: (events) => (world.simulated.push(...events), events.map(() => null)) },
    warmUpVelocity: { observe: (events) => (world.warmUpSeen.push(...events), events.map(() => null)) },
    isDegraded: () => false,
    takeStoreFailure: () => false,
    onMemoryFailed: () => {},
  });
  await engine.scoreBatch(new BatchReader(frame), new AnswerWriter(frame), 0, bodies.length);
  const answers = new AnswerReader(frame);
  return bodies.map((_body, at) => ({
    status: answers.status(at),
    flags: answers.flags(at),
    text: answers.text(at),
    record: answers.status(at) === 200 ? decodeRecord(answers.record(at)) : null,
  }));
}

interface Answered {
  readonly decision: string;
  readonly would_be?: string;
  readonly score: number;
  readonly reasons: readonly string[];
  readonly review_hint: string;
}

async function scoreOne(body: unknown, flags = 0): Promise<Scored> {
  const [scored] = await score([body], flags);
  if (scored === undefined) throw new Error('no answer');
  return scored;
}

const history = (over: Partial<HistoryFacts['session']>): HistoryFacts => ({
  session: {
    isFirstEvent: false,
    ageMs: 60_000,
    decisions1m: 1,
    payments1h: 0,
    paid1h: 0,
    declined1h: 0,
    rhythm: null,
    pages: null,
    networkChanged: false,
    previousCountry: null,
    previousCountryAgeSeconds: 0,
    regions1h: 1,
    agentChanged: false,
    leftItsOrigin: false,
    ...over,
  },
  customerAgeSeconds: 30 * 86_400,
  ip: null,
  entities: [],
  context: null,
  device: null,
  surge: null,
  crowd: null,
  values: null,
  amounts: null,
  counters: new Map(),
  isTokenReplayed: false,
  trace: null,
});

describe('the velocity store', () => {
  test('The velocity store receives decided requests in order, but no rejected ones', async () => {
    await score([
      CALM,
      'no JSON',
      { ...CALM, ip: 5 },
      { ...CALM, session_token: '' },
      { ...CALM, event_type: 'Payment', entity_keys: { user: 'u1', tenant: 't1' } },
    ]);
    expect(world.seen.map(({ eventType }) => eventType)).toEqual(['login', 'login', 'payment']);
    expect(world.seen[2]).toMatchObject({
      customer: CUSTOMER,
      publicKey: false,
      nowMs: NOW_MS,
      sessionId: 'session-1',
      device: FINGERPRINT,
      networks: { host: '91.10.20.30', site: '91.10.20', region: '91.10' },
      country: 'DE',
      place: { latitude: 52.52, longitude: 13.4, accuracyKm: 20 },
      entities: [{ name: 'user', value: 'u1' }],
    });
  });

  test('A request without a token is a session of its own, whose decision does not depend on the velocity store', async () => {
    const bare = { ...CALM, session_token: '', outcome: 'failed' };
    const [first, second] = await score([bare, bare]);
    const [one, other] = world.seen;
    expect(one).toMatchObject({ device: null, browser: null, grant: null, outcome: 'failed' });
    expect(one?.sessionId).toBe(first?.record?.requestId);
    expect(other?.sessionId).toBe(second?.record?.requestId);
    world.velocity = { observe: () => Promise.reject(new Error('unavailable')) };
    const alone = await scoreOne(bare);
    expect(alone.record).toMatchObject({
      decision: 'SOFT_CHALLENGE',
      score: 50,
      sessionMode: 'no_session',
      trace: null,
    });
  });

  test('The velocity store counts public keys separately, and an opaque token as its hash, without a device', async () => {
    await scoreOne({ ...CALM, session_token: 'opaque' }, REQUEST_PUBLIC_KEY);
    expect(world.seen[0]).toMatchObject({ publicKey: true, device: null });
    expect(world.seen[0]?.sessionId).toMatch(/^[0-9a-f]{64}$/);
  });

  test('History is visible to the rules of its own request only', async () => {
    world.velocity = { observe: () => [null, history({ regions1h: 4 })] };
    const [first, second] = await score([CALM, CALM]);
    expect(first?.record?.contributions.map(({ code }) => code)).not.toContain('session_many_networks');
    expect(second?.record?.contributions.map(({ code }) => code)).toContain('session_many_networks');
  });

  test('The velocity store may respond asynchronously, like one over a network', async () => {
    world.velocity = { observe: () => Promise.resolve([history({ regions1h: 4 })]) };
    expect((await scoreOne(CALM)).record?.contributions.map(({ code }) => code)).toContain('session_many_networks');
  });

  test.each([
    ['throws', { observe: (): never => { throw new Error('torn'); } }], // prettier-ignore
    ['rejects', { observe: () => Promise.reject(new Error('gone')) }],
  ] as const)(
    'A velocity store that %s leaves its rules quiet, and the response is marked as degraded',
    async (_how, velocity) => {
      world.velocity = velocity;
      const scored = await scoreOne(CALM);
      expect(scored.status).toBe(200);
      expect(scored.flags & ANSWER_DEGRADED).not.toBe(0);
      expect(scored.record?.sessionMode).toBe('degraded');
    },
  );
});

describe('reporting a BLOCK to the registry', () => {
  const isSighting = async (body: unknown = HOSTILE, flags = 0): Promise<boolean> => {
    const scored = await scoreOne(body, flags);
    return (scored.flags & ANSWER_SIGHTING) !== 0;
  };

  test("The evidence of model_score is the probability and the model's reasons", async () => {
    world.probability = 0.75;
    const found = (await scoreOne(CALM)).record?.contributions.find(({ code }) => code === 'model_score');
    expect(found?.evidence).toBe('probability 0.750: geo:tor +1.00');
  });

  test('The model has one weight from its threshold on, and none below it', async () => {
    const weightAt = async (probability: number): Promise<number | undefined> => {
      world.probability = probability;
      return (await scoreOne(CALM)).record?.contributions.find(({ code }) => code === 'model_score')?.weight;
    };
    expect([await weightAt(0.499), await weightAt(0.5), await weightAt(1)]).toEqual([undefined, 0.44, 0.44]);
  });

  test('A challenger model is kept with the decision, and neither the decision nor its reasons have it', async () => {
    const alone = await scoreOne(CALM);
    world.challengerProbability = 0.9;
    const beside = await scoreOne(CALM);
    expect(beside.text).not.toContain('challenger');
    expect(beside.record).toMatchObject({ decision: alone.record?.decision, score: alone.record?.score });
    expect(beside.record?.contributions).toEqual(alone.record?.contributions);
    expect(beside.record?.observed).toEqual([]);
    expect(beside.record?.beside).toEqual({ id: 'next', probability: 0.9, decision: 'ALLOW_WATCH' });
    expect(alone.record?.beside).toBeUndefined();
  });

  test("A challenger's decision is that without the active model", async () => {
    world.probability = 0.9;
    world.challengerProbability = 0.1;
    const { record } = await scoreOne(CALM);
    expect(record?.decision).toBe('ALLOW_WATCH');
    expect(record?.beside).toEqual({ id: 'next', probability: 0.1, decision: 'ALLOW' });
  });

  test('A challenger whose probability is none is not kept', async () => {
    world.challengerProbability = Number.NaN;
    expect((await scoreOne(CALM)).record?.beside).toBeUndefined();
  });

  test('A model with a weight of 0 gives no reason', async () => {
    world.probability = 0.9;
    const document = { ...DEFAULT_DOCUMENT, weights: { model_score: 0 } };
    world.policies = compilePolicies(document, () => 1 as CustomerNumber);
    expect((await scoreOne(CALM)).record?.contributions.map(({ code }) => code)).not.toContain('model_score');
  });

  test('On the first day of a customer the model adds nothing, unless the policy says that it counts', async () => {
    world.probability = 1;
    const isCounted = async (customerAgeSeconds: number): Promise<boolean> => {
      world.velocity = { observe: () => [shopperHistory({ customerAgeSeconds })] };
      return (await scoreOne(CALM)).record?.contributions.some(({ code }) => code === 'model_score') ?? false;
    };
    expect([await isCounted(86_399), await isCounted(86_400)]).toEqual([false, true]);
    world.policies = compilePolicies({ ...DEFAULT_DOCUMENT, modelFirstDay: 'counts' }, () => 1 as CustomerNumber);
    expect(await isCounted(0)).toBe(true);
  });

  test('A BLOCK counts for the registry when it is justified by its own evidence', async () => {
    expect((await scoreOne(HOSTILE)).record?.decision).toBe('BLOCK');
    expect(await isSighting()).toBe(true);
  });
  test('A BLOCK counts for the registry even if the registry knows the fingerprint but was not needed', async () => {
    world.registry = { risk: 95, customers: 3 };
    expect(await isSighting()).toBe(true);
  });
  test('A BLOCK does not count for the registry when the registry caused it', async () => {
    world.registry = { risk: 95, customers: 3 };
    const body = { ...CALM, user_agent: 'HeadlessChrome/157.0' };
    expect((await scoreOne(body)).record?.decision).toBe('BLOCK');
    expect(await isSighting(body)).toBe(false);
  });
  test("A BLOCK does not count for the registry when a model caused it that used the registry's evidence", async () => {
    world.registry = { risk: 40, customers: 3 };
    world.probability = 1;
    const body = { ...CALM, user_agent: 'HeadlessChrome/157.0' };
    expect((await scoreOne(body)).record?.decision).toBe('BLOCK');
    expect(await isSighting(body)).toBe(false);
    world.registry = null;
    expect(await isSighting(body)).toBe(true);
  });
  test("A BLOCK does not count for the registry when the customer's own list caused it", async () => {
    world.list = 'block';
    expect(await isSighting()).toBe(false);
  });
  test("A decision does not count for the registry with a public key, with a token's fingerprint, or if it is not BLOCK", async () => {
    expect(await isSighting(HOSTILE, REQUEST_PUBLIC_KEY)).toBe(false);
    expect(await isSighting({ ...HOSTILE, session_token: 'opaque' })).toBe(false);
    expect(await isSighting(CALM)).toBe(false);
  });
});

describe('the row to learn from', () => {
  test('A decision other than ALLOW is always kept, and ALLOW at the rate of the policy', async () => {
    const { record } = await scoreOne({ ...CALM, user_agent: 'HeadlessChrome/157.0' });
    expect(record).toMatchObject({ learning: { rate: 1, policyVersion: 'default', model: null } });
    world.policies = compilePolicies({ ...DEFAULT_DOCUMENT, logFeaturesSample: 1 }, () => null);
    expect((await scoreOne(CALM)).record).toMatchObject({ decision: 'ALLOW', learning: { rate: 1 } });
    world.policies = compilePolicies({ ...DEFAULT_DOCUMENT, logFeaturesSample: 0 }, () => null);
    expect((await scoreOne(CALM)).record).toMatchObject({ decision: 'ALLOW', features: null });
    expect((await scoreOne(CALM)).record).not.toHaveProperty('learning');
  });

  test('An ALLOW is drawn by its session: all rows of one are kept, or none, always the same ones', async () => {
    world.policies = compilePolicies({ ...DEFAULT_DOCUMENT, logFeaturesSample: 0.25 }, () => null);
    const [sessions, steps] = [400, ['login', 'view', 'checkout']];
    const bodies = steps.flatMap((event_type) =>
      Array.from({ length: sessions }, (_, n) => ({ ...CALM, event_type, session_token: `session ${n}` })),
    );
    const keptOf = async (): Promise<boolean[]> => {
      const kept: boolean[] = [];
      for (let at = 0; at < bodies.length; at += BATCH_REQUESTS_MAX) {
        for (const { record } of await score(bodies.slice(at, at + BATCH_REQUESTS_MAX))) {
          expect(record?.decision).toBe('ALLOW');
          const isKept = record !== null && record.features !== null;
          kept.push(isKept);
          if (isKept) expect(record.learning?.rate).toBe(0.25);
        }
      }
      return kept;
    };
    const kept = await keptOf();
    const first = kept.slice(0, sessions);
    for (let step = 1; step < steps.length; step++)
      expect(kept.slice(step * sessions, (step + 1) * sessions)).toEqual(first);
    expect(await keptOf()).toEqual(kept);
    // Five standard deviations.
    expect(Math.abs(first.filter(Boolean).length - 100)).toBeLessThan(44);
  });

  test('An ALLOW that a challenger model would stop is kept, and stands for itself alone', async () => {
    const bands = { allowWatch: 10, softChallenge: 20, review: 50, block: 85 };
    world.policies = compilePolicies({ ...DEFAULT_DOCUMENT, bands, logFeaturesSample: 0 }, () => null);
    world.challengerProbability = 0.1;
    expect((await scoreOne(CALM)).record).toMatchObject({ decision: 'ALLOW', features: null });
    world.challengerProbability = 0.9;
    const { record } = await scoreOne(CALM);
    expect(record).toMatchObject({ decision: 'ALLOW', beside: { decision: 'SOFT_CHALLENGE' }, learning: { rate: 1 } });
    expect(record?.features).not.toBeNull();
  });
});

describe('what a challenger model differs on', () => {
  const BLOCKED = { ...CALM, user_agent: 'HeadlessChrome/157.0', event_type: 'checkout' };

  beforeEach(() => {
    const bands = { allowWatch: 10, softChallenge: 20, review: 50, block: 85 };
    world.policies = compilePolicies({ ...DEFAULT_DOCUMENT, bands, sampleRate: 0 }, () => null);
  });

  test.each([
    [CALM, 'ALLOW', 0.9, 'challenger'],
    [CALM, 'ALLOW', 0.49, null],
    [BLOCKED, 'REVIEW', 0.49, 'challenger'],
    [BLOCKED, 'REVIEW', 0.9, null],
  ] as const)(
    '%o is %s, and at a probability of %d the reason for its review is %s',
    async (body, decision, found, shadow) => {
      world.challengerProbability = found;
      const scored = await scoreOne(body);
      expect(scored.record).toMatchObject({ decision, shadow });
      expect((scored.flags & ANSWER_SHADOW_ROUTED) !== 0).toBe(shadow !== null);
    },
  );

  test('A block by an entry of a list is no disagreement', async () => {
    world.list = 'block';
    world.challengerProbability = 0.1;
    expect((await scoreOne(CALM)).record).toMatchObject({ decision: 'BLOCK', shadow: null });
  });
});

describe('a challenger', () => {
  const withChallenger = (weight: number): PolicySet =>
    compilePolicies(
      {
        ...DEFAULT_DOCUMENT,
        sampleRate: 0,
        challenger: { version: 'next', sampleRate: 0, weights: { device_headless: weight } },
      },
      () => 1 as CustomerNumber,
    );
  const HEADLESS = { ...CALM, user_agent: 'HeadlessChrome/157.0', event_type: 'checkout' };

  test('A challenger that reaches another band copies the decision to the review queue and changes nothing in it', async () => {
    world.policies = withChallenger(0.1);
    const scored = await scoreOne(HEADLESS);
    expect(scored.flags & ANSWER_SHADOW_ROUTED).not.toBe(0);
    expect(scored.record).toMatchObject({ decision: 'REVIEW', score: 70, shadow: 'challenger' });
    expect(scored.text).toContain('"shadow_routed":true');
  });
  test('A challenger that reaches the same band does not copy the decision', async () => {
    world.policies = withChallenger(0.72);
    const scored = await scoreOne(HEADLESS);
    expect(scored.flags & ANSWER_SHADOW_ROUTED).toBe(0);
    expect(scored.record?.shadow).toBeNull();
  });
});

describe('a trusted source', () => {
  const trusting = (more: object = {}): PolicySet =>
    compilePolicies(
      { ...DEFAULT_DOCUMENT, sampleRate: 0, trustedNetworks: { partner: ['91.10.20.0/24'] }, ...more },
      () => 1 as CustomerNumber,
    );
  const TOOL = { ...CALM, user_agent: 'curl/8.5.0' };
  const codes = ({ record }: Scored): readonly string[] => record?.contributions.map(({ code }) => code) ?? [];
  const busy: Velocity = { observe: () => [history({ decisions1m: 500, regions1h: 4 })] };

  test('A trusted source is named and flagged, and only rules of client and volume are skipped for it', async () => {
    world.policies = trusting();
    world.velocity = busy;
    const scored = await scoreOne({ ...TOOL, url: 'https://shop.example/.env' });
    expect(codes(scored)).toEqual(['trusted_source', 'session_many_networks', 'journey_probe_url']);
    expect(scored.record?.contributions[0]).toMatchObject({ weight: 0, evidence: 'partner' });
    expect(scored.flags & ANSWER_TRUSTED).not.toBe(0);
  });

  test('Rules of client and volume fire on a request from a network that is not trusted', async () => {
    world.policies = trusting();
    world.velocity = busy;
    const scored = await scoreOne({ ...TOOL, ip: '91.10.21.30' });
    expect(codes(scored)).toEqual(['device_http_library', 'velocity_session_1m', 'session_many_networks']);
    expect(scored.flags & ANSWER_TRUSTED).toBe(0);
  });

  test('A trusted source may be a user agent', async () => {
    world.policies = trusting({ trustedNetworks: undefined, trustedAgents: { monitor: ['curl/*'] } });
    expect((await scoreOne(TOOL)).record).toMatchObject({ decision: 'ALLOW', score: 0 });
  });

  test("A trusted source does not override the customer's own list", async () => {
    world.policies = trusting();
    world.list = 'block';
    expect((await scoreOne(TOOL)).record).toMatchObject({ decision: 'BLOCK', score: 100 });
  });

  test('A source is not trusted with a public key, or with its rule switched off', async () => {
    world.policies = trusting();
    expect(codes(await scoreOne(TOOL, REQUEST_PUBLIC_KEY))).toEqual(['device_http_library']);
    world.policies = trusting({ rulesOff: ['trusted_source'] });
    expect(codes(await scoreOne(TOOL))).toEqual(['device_http_library']);
  });

  test('A trusted source in a later part of the policy replaces an earlier one of the same name', async () => {
    world.policies = trusting({ eventTypes: new Map([['login', { trustedNetworks: { partner: [] } }]]) });
    expect(codes(await scoreOne(TOOL))).toEqual(['device_http_library']);
    expect(codes(await scoreOne({ ...TOOL, event_type: 'search' }))).toEqual(['trusted_source']);
  });
});

describe('observe mode', () => {
  const observing = (more: object = {}): PolicySet =>
    compilePolicies({ ...DEFAULT_DOCUMENT, sampleRate: 0, mode: 'observe', ...more }, () => 1 as CustomerNumber);
  const HEADLESS = { ...CALM, user_agent: 'HeadlessChrome/157.0' };

  test('Observe mode responds with ALLOW, with the real score and reasons, and with would_be', async () => {
    world.policies = observing();
    const scored = await scoreOne(HOSTILE);
    const { decision, would_be, score: points, reasons, review_hint } = JSON.parse(`${scored.text}0}`) as Answered;
    expect({ decision, would_be, points, reasons, review_hint }).toEqual({
      decision: 'ALLOW',
      would_be: 'BLOCK',
      points: 92.5,
      reasons: ['device_headless', 'journey_probe_url'],
      review_hint: '',
    });
    expect(scored.record).toMatchObject({ decision: 'ALLOW', wouldBe: 'BLOCK', score: 92.5 });
    expect(scored.flags & ANSWER_OBSERVED).not.toBe(0);
  });

  test('Observe mode reports would_be ALLOW for a harmless request too', async () => {
    world.policies = observing();
    const scored = await scoreOne(CALM);
    expect(scored.text).toContain('"decision":"ALLOW","would_be":"ALLOW","score":0,');
    expect(scored.flags & ANSWER_OBSERVED).toBe(0);
  });

  test('Enforce mode sets no would_be', async () => {
    world.policies = observing({ mode: 'enforce' });
    const scored = await scoreOne(HOSTILE);
    expect(scored.text).not.toContain('would_be');
    expect(scored.record).toMatchObject({ decision: 'BLOCK', wouldBe: null });
  });

  test('Observe mode leaves an empty session token at SOFT_CHALLENGE', async () => {
    world.policies = observing();
    const scored = await scoreOne({ ...CALM, session_token: '' });
    expect(scored.record).toMatchObject({ decision: 'SOFT_CHALLENGE', wouldBe: null });
    expect(scored.text).not.toContain('would_be');
  });

  test('Observe mode applies lists', async () => {
    world.policies = observing();
    world.list = 'block';
    const blocked = await scoreOne(CALM);
    expect(blocked.record).toMatchObject({ decision: 'BLOCK', score: 100, wouldBe: null });
    world.list = 'allow';
    expect((await scoreOne(HOSTILE)).record).toMatchObject({ decision: 'ALLOW', wouldBe: 'ALLOW' });
  });

  test('Observe mode does not report to the registry, and routes decisions near BLOCK to the review queue', async () => {
    world.policies = observing();
    expect((await scoreOne(HOSTILE)).flags & ANSWER_SIGHTING).toBe(0);
    world.policies = observing({ weights: { device_headless: 0.78 } });
    const near = await scoreOne(HEADLESS);
    expect(near.record).toMatchObject({ decision: 'ALLOW', wouldBe: 'SOFT_CHALLENGE', shadow: 'near_block' });
  });

  test('Observe mode compares the challenger with the decision that would have been made', async () => {
    world.policies = observing({ challenger: { version: 'next', weights: { device_headless: 0.72 } } });
    expect((await scoreOne(HEADLESS)).record).toMatchObject({ wouldBe: 'SOFT_CHALLENGE', shadow: null });
  });
});

test('A request of the warm-up is scored, and counts only in the table that is discarded', async () => {
  const scored = await scoreOne({ session_token: 's1', entity_keys: { user_id: 'u1' } }, REQUEST_WARM_UP);
  expect(scored.status).toBe(200);
  expect([world.seen.length, world.warmUpSeen.length]).toEqual([0, 1]);
});

test('A simulation is scored with its history, and counts in no table', async () => {
  const scored = await scoreOne({ session_token: 's1', entity_keys: { user_id: 'u1' } }, REQUEST_SIMULATION);
  expect(scored.status).toBe(200);
  expect([world.seen.length, world.warmUpSeen.length, world.simulated.length]).toEqual([0, 0, 1]);
});
