import { describe, expect, it } from 'vitest';
import { readAgent } from '../../../../src/risk/signals/agent.ts';
import type { Facts, TokenFacts } from '../../../../src/risk/facts.ts';
import { DEFAULT_POLICY } from '../../../../src/risk/policy/policy.ts';
import { RULES } from '../../../../src/risk/rules/rule-table.ts';
import { facts } from '../../../support/facts.ts';
import { leastCpuMs } from '../../../support/cpu-time.ts';
import { AUTOMATED_USER_AGENTS, REAL_USER_AGENTS } from '../data/real-user-agents.ts';

const CLIENT_RULES = RULES.filter(({ family }) => family === 'client');
const NO_TOKEN: TokenFacts = { kind: 'none' };

function firedByClientRules(request: Facts): string[] {
  return CLIENT_RULES.filter((rule) => rule.evaluate(request, DEFAULT_POLICY, rule.thresholds ?? {}) !== null).map(
    ({ code }) => code,
  );
}

describe('real user agents fire nothing of family client', () => {
  it('The list of real user agents has at least 150 entries', () => {
    expect(Object.values(REAL_USER_AGENTS).flat().length).toBeGreaterThanOrEqual(150);
  });
  for (const [kind, userAgents] of Object.entries(REAL_USER_AGENTS)) {
    describe(`kind: ${kind}`, () => {
      it.each(userAgents)('No client rule fires on the real user agent %s', (userAgent) => {
        expect(firedByClientRules(facts({ userAgent, token: NO_TOKEN }))).toEqual([]);
      });
    });
  }
});

describe('automated user agents fire the expected rule and no other except device_outdated_browser', () => {
  it('The list of automated user agents has at least 60 entries', () =>
    expect(AUTOMATED_USER_AGENTS.length).toBeGreaterThanOrEqual(60));
  it.each(AUTOMATED_USER_AGENTS)('Only %s fires on the automated user agent %s', (rule, userAgent) => {
    const fired = firedByClientRules(facts({ userAgent, token: NO_TOKEN }));
    expect(fired.filter((code) => code !== 'device_outdated_browser')).toEqual([rule]);
  });
  it('A text that names an AI agent and another crawler is both', () => {
    const agent = readAgent('Mozilla/5.0 (compatible; GPTBot/1.2; AhrefsBot/7.0; +http://ahrefs.com/robot/)');
    expect(agent).toMatchObject({ aiAgent: 'GPTBot', bot: 'AhrefsBot' });
  });
  it('An app that names a crawler is that crawler', () => {
    expect(readAgent('okhttp/4.12.0 (compatible; AhrefsBot/7.0)').bot).toBe('AhrefsBot');
  });
});

const at = (date: string): number => Date.parse(date) / 1_000;

describe('family, version, system and form', () => {
  it.each([
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0',
      {
        browser: 'chromium',
        browserMajor: 126,
        system: 'windows',
        form: 'desktop',
        browserReleasedAtSeconds: at('2024-06-11'),
      },
    ],
    [
      'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
      {
        browser: 'firefox',
        browserMajor: 128,
        system: 'linux',
        form: 'desktop',
        browserReleasedAtSeconds: at('2024-07-09'),
      },
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1',
      { browser: 'safari', browserMajor: 26, system: 'ios', form: 'mobile' },
    ],
    [
      'Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1',
      { browser: 'safari', browserMajor: 17, system: 'ios', form: 'tablet' },
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 392.0.0.26.79',
      { browser: 'safari', browserMajor: null, system: 'ios', form: 'mobile', browserReleasedAtSeconds: null },
    ],
    [
      'Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/132.0.0.0 Safari/537.36',
      { browser: 'chromium', browserMajor: 132, system: 'chromeos', form: 'desktop' },
    ],
    [
      'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36',
      { browser: 'chromium', system: 'android', form: 'tablet' },
    ],
    [
      'Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/79.0.3945.79 Safari/537.36',
      { form: 'other', system: 'other', browserReleasedAtSeconds: null },
    ],
    ['Mozilla/5.0 (Windows NT 10.0; Trident/7.0; rv:11.0) like Gecko', { browser: 'other', browserMajor: null }],
    ['', { browser: 'other', system: 'other', form: 'other', bot: null, httpLibrary: null }],
  ])('readAgent recognises browser, version, system and form of %s', (userAgent, expected) => {
    expect(readAgent(userAgent)).toMatchObject(expected);
  });
});

describe('hostile texts', () => {
  // The limit is far above the measured cost, and far below what backtracking would take.
  const MS_MAX = 2;
  it.each(['a', ' a', 'a/1.', '.1', '@a-', '; a', 'bot ', 'Android ', 'x(', '%', 'google ', '\u{1F600}', 'A1b2 '])(
    'readAgent takes under 2 ms for a hostile text of repeated %j',
    (part) => {
      const text = part.repeat(2_048).slice(0, 5_000);
      readAgent(text);
      const ms = leastCpuMs(20 * MS_MAX, () => {
        for (let i = 0; i < 20; i++) readAgent(text);
      });
      expect(ms / 20).toBeLessThan(MS_MAX);
    },
  );
});
