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

/** HTTP stacks of apps and games, as they name themselves by default, and names that apps choose for themselves. */
const APP_AGENTS = [
  'UnityPlayer/2022.3.20f1 (UnityWebRequest/1.0, libcurl/8.5.0-DEV)',
  'UnityPlayer/6000.0.23f1 (UnityWebRequest/1.0, libcurl/8.6.0-DEV)',
  'UnrealEngine/5.3 (http-legacy) Windows',
  'GodotEngine/4.2.1.stable.official (Windows)',
  'BestHTTP/2 v2.8.5',
  'volley/0',
  'volley/1',
  'Dart/3.3 (dart:io)',
  'Dalvik/2.1.0 (Linux; U; Android 13; SM-A536B Build/TP1A.220624.014)',
  'okhttp/4.12.0',
  'Shop/7.1 okhttp/5.0.0-alpha.14',
  'Shop/1234 CFNetwork/1492.0.1 Darwin/23.3.0',
  'Shop/7.1 (com.shop.ios; build:42; iOS 17.4.1) Alamofire/5.8.1',
  'Alamofire/5.9.0',
  'ktor-client',
  'Ktor client',
  'Retrofit/2.11.0',
  'ReactNative/0.74.1',
  'Expo/1017699 CFNetwork/1494.0.7 Darwin/23.4.0',
  'Cronet/120.0.6099.230',
  'Shop/3.0 (Linux; Android 14; Pixel 8) Cronet/121.0.6167.71',
  'Flutter/3.19 (Dart)',
  'Xamarin.Forms/5.0',
  'shop-ios/7.1',
  'shop_android/702010',
  'MyShop/5.2.0',
  'com.shop.app/7.1 (iPhone; iOS 17.4; Scale/3.00)',
  'ShopApp-Android/7.1.0 (Android 14; Scale/2.75)',
  'ios',
  'android-app',
  'AbbottShop/2.0',
  'Botanica/3.1 (iOS)',
  'RobotoFonts/1.0',
];

describe('agents of apps and games', () => {
  it.each(APP_AGENTS)('%s is neither a bot nor a library, and weighs at most .1', (userAgent) => {
    const fired = CLIENT_RULES.flatMap((rule) => {
      const hit = rule.evaluate(facts({ userAgent, token: NO_TOKEN }), DEFAULT_POLICY, rule.thresholds ?? {});
      return hit === null ? [] : [{ code: rule.code, weight: rule.weights[hit.level ?? 'default'] ?? 0 }];
    });
    expect(fired.filter(({ code, weight }) => code === 'device_bot_user_agent' || weight > 0.1)).toEqual([]);
  });

  it('An unknown program is one that only has the form of a program', () => {
    expect(readAgent('shop-ios/7.1')).toMatchObject({ appStack: 'shop-ios/7.1', bot: null, httpLibrary: null });
    expect(readAgent('UnityPlayer/2022.3.20f1 (UnityWebRequest/1.0, libcurl/8.5.0-DEV)').appStack).toBeNull();
  });

  it.each(['MyBot/1.0', 'shop-crawler/2', 'price spider 1.0', 'acme_scraper/0.1', 'Nikto/2.5.0', 'FooBot'])(
    '%s calls itself a bot or is a known tool',
    (userAgent) => {
      expect(readAgent(userAgent).bot).not.toBeNull();
    },
  );
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
