import { describe, expect, test } from 'vitest';
import type { Decision, ListAction } from '../../../src/risk/decision.ts';
import type { TokenFacts } from '../../../src/risk/facts.ts';
import { band, bandsFor, fuse, fusedScore, sessionMode, type Contribution } from '../../../src/risk/fuse.ts';
import { DEFAULT_POLICY, type Policy } from '../../../src/risk/policy/policy.ts';
import type { Family } from '../../../src/risk/rules/rule.ts';
import { RULES } from '../../../src/risk/rules/rule-table.ts';
import { collectorToken, listedAs } from '../../support/facts.ts';

function fired(code: string, family: Family, weight: number): Contribution {
  return {
    rule: { code, family, weights: { default: weight }, hint: `hint of ${code}`, quietedBy: '', evaluate: () => null },
    weight,
    evidence: '',
  };
}

function verdict(contributions: readonly Contribution[], list: ListAction | null = null, eventType = 'login') {
  return fuse(contributions, { eventType, list: listedAs(list) }, DEFAULT_POLICY);
}

/** Decisions from mild to hard, and the score at which each begins. */
type Bounds = readonly (readonly [number, Decision])[];

/** Payment and checkout. */
const HELD_BACK: Bounds = [
  [0, 'ALLOW'],
  [30, 'ALLOW_WATCH'],
  [45, 'SOFT_CHALLENGE'],
  [60, 'REVIEW'],
  [80, 'BLOCK'],
];
const OTHERS: Bounds = [
  [0, 'ALLOW'],
  [30, 'ALLOW_WATCH'],
  [50, 'SOFT_CHALLENGE'],
  [80, 'BLOCK'],
];

describe('bands', () => {
  test.each([
    ['login', OTHERS],
    ['signup', OTHERS],
    ['search', OTHERS],
    ['', OTHERS],
    ['something new', OTHERS],
    ['constructor', OTHERS],
    ['__proto__', OTHERS],
    ['payment', HELD_BACK],
    ['checkout', HELD_BACK],
  ] as const)('The bands of the event type %j begin at %j', (eventType, all) => {
    for (const [at, [lower, decision]] of all.entries()) {
      const below = all[at - 1]?.[1] ?? 'ALLOW';
      expect([lower, band(lower, eventType, DEFAULT_POLICY)]).toEqual([lower, decision]);
      expect(band(lower - 0.1, eventType, DEFAULT_POLICY)).toBe(below);
    }
    expect(band(100, eventType, DEFAULT_POLICY)).toBe('BLOCK');
    expect(bandsFor(eventType, DEFAULT_POLICY).allowWatch).toBe(30);
  });

  test('The bands use the rounded score', () => {
    // 79.96 is shown as 80, so it is decided as 80.
    const nearly = verdict([fired('a', 'client', 0.7996)]);
    expect(nearly).toMatchObject({ score: 80, decision: 'BLOCK' });
    expect(verdict([fired('a', 'client', 0.7994)])).toMatchObject({ score: 79.9, decision: 'SOFT_CHALLENGE' });
    const held = verdict([fired('a', 'client', 0.7994)], null, 'payment');
    expect(held).toMatchObject({ score: 79.9, decision: 'REVIEW' });
  });

  test("The bands of an operator's own policy are used", () => {
    const policy: Policy = {
      ...DEFAULT_POLICY,
      bands: { allowWatch: 1, softChallenge: 2, review: 3, block: 4 },
      eventTypeBands: { login: { allowWatch: 1, softChallenge: 12, review: null, block: 14 } },
    };
    expect(band(4, 'payment', policy)).toBe('BLOCK');
    expect(band(13, 'login', policy)).toBe('SOFT_CHALLENGE');
    expect(band(14, 'login', policy)).toBe('BLOCK');
  });
});

describe('the score', () => {
  test("The score is 0 without rules, and with one rule it is the rule's weight", () => {
    expect(verdict([])).toEqual({ decision: 'ALLOW', score: 0, reasons: [], reviewHint: '' });
    for (const { rule, weight } of RULES.flatMap((rule) =>
      Object.values(rule.weights).map((weight) => ({ rule, weight })),
    )) {
      expect(fusedScore([{ rule, weight }])).toBeCloseTo(weight * 100, 1);
    }
  });

  test('The score uses the strongest rule of a family, and noisy-or over families', () => {
    expect(fusedScore([fired('a', 'client', 0.3), fired('b', 'client', 0.7), fired('c', 'client', 0.62)])).toBe(70);
    expect(fusedScore([fired('a', 'client', 0.3), fired('b', 'network', 0.5)])).toBe(65);
    expect(fusedScore([fired('a', 'client', 0.5), fired('b', 'client', 0.5), fired('c', 'client', 0.5)])).toBe(50);
    expect(fusedScore([fired('a', 'client', 0.62), fired('b', 'network', 0.35), fired('c', 'journey', 0.1)])).toBe(
      77.8,
    );
  });

  test('The score has one decimal, and ties round up', () => {
    expect(fusedScore([fired('a', 'client', 0.12345)])).toBe(12.3);
    // 1 - 0.85 × 0.65 = 0.4475; 1 - 0.55 × 0.95 × 0.9 = 0.52975.
    expect(fusedScore([fired('a', 'client', 0.15), fired('b', 'network', 0.35)])).toBe(44.8);
    expect(fusedScore([fired('a', 'client', 0.45), fired('b', 'network', 0.05), fired('c', 'token', 0.1)])).toBe(53);
  });

  test('The score stays within 0 to 100 for any weight', () => {
    for (const weight of [-1, Number.NaN, Number.NEGATIVE_INFINITY, -0])
      expect(fusedScore([fired('a', 'client', weight)])).toBe(0);
    for (const weight of [1, 1.5, Number.POSITIVE_INFINITY])
      expect(fusedScore([fired('a', 'client', weight)])).toBe(100);
  });
});

describe('the model', () => {
  const model = (weight: number): Contribution => fired('model_score', 'model', weight);
  const at = (block: number, review: number | null, contributions: readonly Contribution[]) =>
    fuse(
      contributions,
      { eventType: 'x', list: null },
      { ...DEFAULT_POLICY, eventTypeBands: {}, bands: { allowWatch: 1, softChallenge: 2, review, block } },
    ).decision;

  test('A model never blocks alone, whatever the bands are, and rules without a weight do not change that', () => {
    const silent = [fired('trusted_source', 'network', 0), fired('ip_relay', 'network', 0)];
    for (let block = 3; block <= 100; block++) {
      for (const weight of [0.1, 0.44, 0.7, 0.99, 1]) {
        expect(at(block, null, [model(weight)])).not.toBe('BLOCK');
        expect(at(block, 2.5, [...silent, model(weight)])).not.toBe('BLOCK');
      }
    }
    expect(at(40, null, [model(0.44)])).toBe('SOFT_CHALLENGE');
    expect(at(40, 30, [model(0.44)])).toBe('REVIEW');
    expect(at(40, 30, [model(0.44), fired('ip_vpn', 'network', 0.2)])).toBe('BLOCK');
  });
});

describe('the caller’s own list', () => {
  const registry = fired('registry_known_bad', 'registry', 0.7);
  const client = fired('device_headless', 'client', 0.7);

  test("A block by the caller's list is BLOCK with 100, and the other rules are still reported", () => {
    const list = fired('list_block', 'list', 1);
    expect(verdict([list, registry, client], 'block')).toEqual({
      decision: 'BLOCK',
      score: 100,
      reasons: ['list_block', 'registry_known_bad', 'device_headless'],
      reviewHint: 'Strongest evidence: hint of list_block (list_block).',
    });
  });

  test("A block by the caller's list is BLOCK even if its rule is switched off", () => {
    expect(verdict([], 'block')).toMatchObject({ decision: 'BLOCK', score: 100, reasons: [] });
  });

  test("An allow by the caller's list drops the registry and is ALLOW, and the score reflects the rest", () => {
    const list = fired('list_allow', 'list', 0);
    expect(verdict([list, registry, client], 'allow')).toEqual({
      decision: 'ALLOW',
      score: 70,
      reasons: ['list_allow', 'device_headless'],
      reviewHint: '',
    });
    expect(verdict([list, registry], 'allow')).toMatchObject({ decision: 'ALLOW', score: 0 });
  });

  test("A watch by the caller's list changes nothing", () => {
    expect(verdict([registry, client], 'watch')).toEqual(verdict([registry, client]));
  });
});

describe('the review hint', () => {
  test('The review hint is one sentence with the strongest evidence, on SOFT_CHALLENGE, REVIEW and BLOCK only', () => {
    const weights: readonly (readonly [number, Decision, boolean])[] = [
      [0.29, 'ALLOW', false],
      [0.3, 'ALLOW_WATCH', false],
      [0.5, 'SOFT_CHALLENGE', true],
      [0.65, 'REVIEW', true],
      [0.85, 'BLOCK', true],
    ];
    for (const [weight, decision, hinted] of weights) {
      const given = verdict([fired('weak', 'journey', 0), fired('strong', 'client', weight)], null, 'payment');
      expect(given.decision).toBe(decision);
      expect(given.reviewHint).toBe(hinted ? 'Strongest evidence: hint of strong (strong).' : '');
    }
  });

  test('The review hint of every rule is plain ASCII', () => {
    for (const { hint, code } of RULES) expect(`${code}: ${hint}`).toMatch(/^[\x20-\x7e]+$/);
  });
});

describe('the session mode', () => {
  test.each([
    [{ kind: 'none' }, 'no_session', 'no_session'],
    [{ kind: 'opaque', isBroken: false }, 'unverified', 'degraded'],
    [collectorToken(), 'full', 'degraded'],
  ] as const satisfies readonly (readonly [TokenFacts, string, string])[])(
    'The session mode of the token %j is %s, and %s if an asset is missing',
    (token, well, degraded) => {
      expect(sessionMode(token, false)).toBe(well);
      expect(sessionMode(token, true)).toBe(degraded);
    },
  );
});
