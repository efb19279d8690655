import { describe, expect, test } from 'vitest';
import { bandsFor } from '../../../../src/risk/fuse.ts';
import { DEFAULT_POLICY } from '../../../../src/risk/policy/policy.ts';
import { deviceAutomation } from '../../../../src/risk/rules/device_automation.ts';
import { deviceHeadless } from '../../../../src/risk/rules/device_headless.ts';
import { deviceScriptedInput } from '../../../../src/risk/rules/device_scripted_input.ts';
import { collectorToken, facts } from '../../../support/facts.ts';
import type { TokenSignals } from '../../../../src/risk/facts.ts';

const SCRIPTED = { gaps: 12, meanMs: 4, deviationMs: 1 };

function judged(signals: Partial<TokenSignals>): [level: string, evidence: string] | null {
  const found = deviceAutomation.evaluate(facts({ token: collectorToken(signals) }), DEFAULT_POLICY, {});
  return found === null ? null : [found.level ?? 'default', found.evidence];
}

describe('traces of automation', () => {
  test.each([
    ['driver', ['cdc'], 'cdc'],
    ['driver', ['pw', 'no_frame', 'soft_gl'], 'pw, no_frame, soft_gl'],
    ['one', ['nav_own'], 'nav_own'],
    ['one', ['nav_own', 'wd_patched', 'worker_ua'], 'nav_own, wd_patched, worker_ua'],
    ['one', ['selenium'], 'selenium'],
    ['frequent', ['no_frame'], 'no_frame'],
    ['frequent', ['soft_gl', 'soft_gl'], 'soft_gl'],
    ['frequent', ['synthetic'], 'synthetic'],
    ['default', ['nav_own', 'no_frame'], 'nav_own, no_frame'],
    ['default', ['soft_gl', 'no_lang'], 'soft_gl, no_lang'],
  ])('The level is %s for %j', (level, automation, evidence) => {
    expect(judged({ automation })).toEqual([level, evidence]);
  });

  test('The rhythm of a program is a second cause beside another trace, and no second cause beside synthetic events', () => {
    expect(judged({ automation: ['no_frame'], keyRhythm: SCRIPTED })).toEqual(['default', 'no_frame, key rhythm']);
    expect(judged({ automation: ['synthetic'], keyRhythm: SCRIPTED })?.[0]).toBe('frequent');
    expect(judged({ automation: [], keyRhythm: SCRIPTED })).toBeNull();
  });

  test("In an app's web view only the names of drivers and tools and the graphics count", () => {
    expect(judged({ automation: ['nav_own', 'no_frame', 'soft_gl'], webView: 'app' })).toEqual(['frequent', 'soft_gl']);
    expect(judged({ automation: ['cdc', 'nav_own'], webView: 'ios' })).toEqual(['driver', 'cdc']);
  });

  test('Alone one trace is at most ALLOW_WATCH, two of different causes are a challenge, and nothing reaches BLOCK', () => {
    const weights = { ...deviceAutomation.weights };
    for (const type of ['login', 'signup', 'payment', 'checkout']) {
      const bands = bandsFor(type, DEFAULT_POLICY);
      expect(100 * (weights['one'] ?? 1)).toBeLessThan(bands.softChallenge);
      expect(100 * (weights['frequent'] ?? 1)).toBeLessThan(bands.allowWatch);
      expect(100 * (deviceScriptedInput.weights['default'] ?? 1)).toBeLessThan(bands.softChallenge);
      expect(100 * (weights['default'] ?? 0)).toBeGreaterThanOrEqual(bands.softChallenge);
      for (const weight of Object.values(weights)) expect(100 * weight).toBeLessThan(bands.block);
    }
    const families = new Set([deviceAutomation, deviceScriptedInput, deviceHeadless].map(({ family }) => family));
    expect([...families]).toEqual(['client']);
  });
});
