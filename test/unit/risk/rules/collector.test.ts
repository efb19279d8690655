import { describe, expect, test } from 'vitest';
import type { Facts, GrantFacts } from '../../../../src/risk/facts.ts';
import type { BrowserHistory, DeviceHistory } from '../../../../src/risk/history.ts';
import { DEFAULT_POLICY } from '../../../../src/risk/policy/policy.ts';
import { deviceManyEntities } from '../../../../src/risk/rules/device_many_entities.ts';
import { deviceNewForEntity } from '../../../../src/risk/rules/device_new_for_entity.ts';
import type { Rule } from '../../../../src/risk/rules/rule.ts';
import { tokenBroken } from '../../../../src/risk/rules/token_broken.ts';
import { tokenForged } from '../../../../src/risk/rules/token_forged.ts';
import { tokenReplayed } from '../../../../src/risk/rules/token_replayed.ts';
import { tokenUnbound } from '../../../../src/risk/rules/token_unbound.ts';
import { tokenWithoutGrant } from '../../../../src/risk/rules/token_without_grant.ts';
import { readToken } from '../../../../src/risk/signals/collector-token.ts';
import { facts } from '../../../support/facts.ts';
import { history } from '../../../support/history.ts';

const GOOD: GrantFacts = { fault: null, isOtherNetwork: false };

/** Returns the weight with which a rule fires; null if it does not. */
function weightOf(
  { evaluate, weights, thresholds = {} }: Rule,
  overrides: Partial<Facts>,
  policy = DEFAULT_POLICY,
): number | null {
  const hit = evaluate(facts(overrides), policy, thresholds);
  return hit === null ? null : Number(((weights[hit.level ?? 'default'] ?? 0) * (hit.scale ?? 1)).toFixed(3));
}

describe('rules about grants', () => {
  test('A genuine token fires none of them', () => {
    for (const rule of [tokenForged, tokenReplayed, tokenUnbound]) {
      expect(weightOf(rule, { grant: GOOD, history: history() })).toBeNull();
      expect(weightOf(rule, { grant: null, history: history({ isTokenReplayed: true }) })).toBeNull();
    }
  });

  test.each([
    ['signature', 0.7],
    ['customer', 0.7],
    ['origin', 0.7],
    ['expired', 0.3],
  ] as const)('token_forged weighs a fault of %s with %s', (fault, weight) => {
    expect(weightOf(tokenForged, { grant: { ...GOOD, fault } })).toBe(weight);
  });

  test('token_replayed fires for the second use, and not without the velocity store', () => {
    expect(weightOf(tokenReplayed, { grant: GOOD, history: history({ isTokenReplayed: true }) })).toBe(0.6);
    expect(weightOf(tokenReplayed, { grant: GOOD, history: null })).toBeNull();
  });

  test('A token of the collector that was cut off weighs as much as one of another network, however the policy is', () => {
    for (const text of ['st1.', 'st2.abc', 'st1.not-json', 'st2.e30.x', `st2.${'x'.repeat(9_000)}`])
      expect(weightOf(tokenBroken, { token: readToken(text).facts, grant: null })).toBe(0.1);
    for (const text of ['8f14e45fceea167a5a36dedd4bea2543', 'ST1.x', 'st3.x'])
      expect(weightOf(tokenBroken, { token: readToken(text).facts, grant: null })).toBeNull();
  });

  test('A token without a grant weighs .35 if the policy requires one, and nothing otherwise', () => {
    const required = { ...DEFAULT_POLICY, grant: 'required' as const };
    const collector = facts({}).token;
    for (const token of [readToken('my-own-session').facts, readToken('st1.cut').facts, collector]) {
      expect(weightOf(tokenWithoutGrant, { token, grant: null })).toBeNull();
      expect(weightOf(tokenWithoutGrant, { token, grant: null }, required)).toBe(0.35);
    }
    expect(weightOf(tokenWithoutGrant, { grant: GOOD }, required)).toBeNull();
    expect(weightOf(tokenWithoutGrant, { token: { kind: 'none' }, grant: null }, required)).toBeNull();
  });

  test('token_unbound fires for another network', () => {
    expect(weightOf(tokenUnbound, { grant: { ...GOOD, isOtherNetwork: true } })).toBe(0.1);
  });
});

describe('device_many_entities', () => {
  const with_ = (device: Partial<DeviceHistory>, browser: Partial<BrowserHistory> | null = null) =>
    weightOf(deviceManyEntities, {
      history: history({
        device: {
          ...device,
          browser: browser === null ? null : { entities24h: 1, networks24h: 1, isOfAccount: false, ...browser },
        },
      }),
    });

  test('The count of a fingerprint weighs less with each network over 10, and nothing over 20', () => {
    const weights = [3, 10, 11, 15, 20].map((networks24h) => with_({ entities24h: 61 + networks24h, networks24h }));
    expect(weights).toEqual([0.5, 0.5, 0.455, 0.273, 0.045]);
    expect(with_({ entities24h: 100, networks24h: 21, isCommon: true })).toBeNull();
  });

  test('The count of a browser weighs in full, however many networks and whatever its fingerprint', () => {
    const common = { entities24h: 1_000, networks24h: 500, isCommon: true };
    expect(with_(common, { entities24h: 6, networks24h: 6 })).toBe(0.5);
    expect(with_(common, { entities24h: 5, networks24h: 5 })).toBeNull();
    expect(with_(common, { entities24h: 60, networks24h: 2 })).toBe(0.15);
    expect(with_(common, { entities24h: 61, networks24h: 2 })).toBe(0.5);
  });

  test('The stronger one of browser and fingerprint counts', () => {
    const farm = { entities24h: 40, networks24h: 3 };
    expect(with_(farm, { entities24h: 6 })).toBe(0.5);
    expect(with_({ entities24h: 8 }, { entities24h: 6, networks24h: 6 })).toBe(0.5);
    expect(with_({ entities24h: 8 }, { entities24h: 6 })).toBe(0.15);
  });

  test('An account that knows the browser silences the count of the fingerprint, not that of the browser', () => {
    const farm = { entities24h: 40, networks24h: 3 };
    expect(with_(farm, { isOfAccount: false })).toBe(0.5);
    expect(with_(farm, { isOfAccount: true })).toBeNull();
    expect(with_(farm, { isOfAccount: true, entities24h: 12, networks24h: 12 })).toBe(0.5);
  });
});

describe('device_new_for_entity', () => {
  const DAYS = 3 * 86_400;
  const with_ = (device: Partial<DeviceHistory>, networkIsNew = true) =>
    weightOf(deviceNewForEntity, {
      history: history({ device, entities: [{ deviceIsNew: true, knownForSeconds: DAYS, networkIsNew }] }),
    });
  const browser: BrowserHistory = { entities24h: 1, networks24h: 1, isOfAccount: false };

  test('A new fingerprint weighs less with each network over 10, and nothing when it is common', () => {
    expect([1, 10, 15].map((networks24h) => with_({ networks24h }, false))).toEqual([0.15, 0.15, 0.082]);
    expect(with_({ networks24h: 25, isCommon: true })).toBeNull();
  });

  test('A new browser weighs in full on a new network, also with a common fingerprint, and nothing on a known one', () => {
    expect(with_({ networks24h: 25, isCommon: true, browser })).toBe(0.15);
    expect(with_({ networks24h: 25, isCommon: true, browser }, false)).toBeNull();
    expect(with_({ browser }, false)).toBeNull();
  });
});
