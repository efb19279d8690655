import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FingerprintHash } from '../../../../src/kernel/brand.ts';
import { readAgent } from '../../../../src/risk/signals/agent.ts';
import { readEmail } from '../../../../src/risk/signals/email.ts';
import type { Familiarity, HistoryFacts } from '../../../../src/risk/history.ts';
import { readIp } from '../../../../src/risk/signals/ip.ts';
import type { Facts, GeoFacts, TokenSignals } from '../../../../src/risk/facts.ts';
import { DEFAULT_POLICY, type Policy } from '../../../../src/risk/policy/policy.ts';
import type { Rule } from '../../../../src/risk/rules/rule.ts';
import { OUTCOMES } from '../../../../src/risk/event-outcome.ts';
import { RULE_INDEX, RULES } from '../../../../src/risk/rules/rule-table.ts';
import { ANY_CHARACTER } from '../../../support/any-text.ts';
import { CALM_GEO, collectorToken, facts, NOW_SECONDS, listedAs } from '../../../support/facts.ts';
import { timesInFull } from '../../../support/long.ts';

function ruleOf(code: string): Rule {
  const rule = RULES[RULE_INDEX.get(code) ?? -1];
  if (rule === undefined) throw new Error(`no rule ${code}`);
  return rule;
}

function weightOf(code: string, request: Facts, policy: Policy = DEFAULT_POLICY): number | null {
  const rule = ruleOf(code);
  const found = rule.evaluate(request, policy, rule.thresholds ?? {});
  return found === null ? null : (rule.weights[found.level ?? 'default'] ?? Number.NaN);
}

const geo = (overrides: Partial<GeoFacts>): Partial<Facts> => ({ geo: { ...CALM_GEO, ...overrides } });
const agent = (userAgent: string): Partial<Facts> => ({ userAgent });
const headers = (...pairs: [string, string][]): Partial<Facts> => ({ headers: new Map(pairs) });
const signals = (overrides: Partial<TokenSignals>, userAgent?: string): Partial<Facts> => ({
  token: collectorToken(overrides),
  ...(userAgent !== undefined && { userAgent }),
});
const email = (value: string, eventType = 'login'): Partial<Facts> => ({ eventType, entities: [{ name: 'x', value }] });
const page = (url: string): Partial<Facts> => ({ url });
const came = (
  referrer: string | null,
  eventType = 'checkout',
  url = 'https://shop.example.com/pay',
): Partial<Facts> => ({
  eventType,
  url,
  referrer,
});

const CHROME = (major: number): string =>
  `Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${major}.0.0.0 Safari/537.36`;
const IPAD_AS_MAC =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15';
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1';
const ANDROID =
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/157.0.0.0 Mobile Safari/537.36';
const ANDROID_AS_DESKTOP =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/157.0.0.0 Safari/537.36';
const WEB_VIEW =
  'Mozilla/5.0 (Linux; Android 14; SM-S918B Build/UP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/150.0.0.0 Mobile Safari/537.36';
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';
const CURL_JA4 = 't13d3112h2_e8f1e7e78f70_b26ce05bbdd6';
const CHROME_JA4 = 't13d1516h2_8daaf6152771_806a8c22fdea';
const FIREFOX_JA4 = 't13d1517h2_8daaf6152771_3cbfd9057e0d';
const SAFARI_JA4 = 't13d2013h2_a09f3c656075_7f0f34a4126d';

interface Case {
  readonly weight: number;
  readonly fires: Readonly<Record<string, Partial<Facts>>>;
  readonly quiet: Readonly<Record<string, Partial<Facts>>>;
}

const CASES: Readonly<Record<string, Case>> = {
  list_block: {
    weight: 1,
    fires: { block: { list: listedAs('block') } },
    quiet: { watch: { list: listedAs('watch') }, none: {} },
  },
  list_allow: {
    weight: 0,
    fires: { allow: { list: listedAs('allow') } },
    quiet: { block: { list: listedAs('block') }, none: {} },
  },
  registry_known_bad: {
    weight: 0.7,
    fires: { edge: { registry: { risk: 80, customers: 3 } } },
    quiet: { below: { registry: { risk: 79.9, customers: 3 } }, absent: {} },
  },
  registry_suspicious: {
    weight: 0.35,
    fires: { low: { registry: { risk: 50, customers: 3 } }, high: { registry: { risk: 79.9, customers: 3 } } },
    quiet: { below: { registry: { risk: 49.9, customers: 3 } }, above: { registry: { risk: 80, customers: 3 } } },
  },
  device_missing_user_agent: {
    weight: 0.3,
    fires: { empty: agent(''), blank: agent(' ') },
    quiet: { absent: { userAgent: null, agent: null }, given: {} },
  },
  device_bot_user_agent: {
    weight: 0.62,
    fires: { bot: agent('Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)') },
    quiet: {
      browser: {},
      absent: { userAgent: null, agent: null },
      app: agent('okhttp/4.12.0'),
      ai: agent('GPTBot/1.2'),
    },
  },
  device_http_library: {
    weight: 0.62,
    fires: { curl: agent('curl/8.5.0'), python: agent('python-requests/2.32.3') },
    quiet: {
      okhttp: agent('okhttp/4.12.0'),
      ios: agent('Shop/1 CFNetwork/1498 Darwin/23'),
      dart: agent('Dart/3.4 (dart:io)'),
    },
  },
  device_headless: {
    weight: 0.7,
    fires: {
      agent: agent(
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/150.0.0.0 Safari/537.36',
      ),
      webdriver: signals({ webdriver: true }),
      bare: signals({ pluginCount: 0, languages: [] }),
      screen: signals({ screenWidth: 0, screenHeight: 0 }),
    },
    quiet: {
      plugins: signals({ pluginCount: 0 }),
      languages: signals({ languages: [] }),
      unknown: signals({ webdriver: null, pluginCount: null, languages: null, screenWidth: null, screenHeight: null }),
      phone: signals({ pluginCount: 0, languages: [] }, ANDROID),
    },
  },
  device_automation: {
    weight: 0.5,
    fires: {
      two: signals({ automation: ['no_frame', 'soft_gl'] }),
      causes: signals({ automation: ['synthetic', 'nav_own'] }),
      scripted: signals({ automation: ['no_frame'], keyRhythm: { gaps: 10, meanMs: 34, deviationMs: 9 } }),
    },
    quiet: {
      nothing: signals({ automation: [] }),
      absent: signals({ automation: null }),
      unknown: signals({ automation: ['x', 'constructor', '__proto__'] }),
      webdriver: signals({ automation: ['webdriver'] }),
      app: signals({ automation: ['nav_own', 'no_frame', 'no_lang', 'wd_patched'], webView: 'android' }),
      opaque: { token: { kind: 'opaque', isBroken: false } },
    },
  },
  device_scripted_input: {
    weight: 0.3,
    fires: {
      fast: signals({ keyRhythm: { gaps: 10, meanMs: 34, deviationMs: 30 } }),
      even: signals({ keyRhythm: { gaps: 20, meanMs: 100, deviationMs: 4 } }),
    },
    quiet: {
      few: signals({ keyRhythm: { gaps: 9, meanMs: 1, deviationMs: 0 } }),
      fastest: signals({ keyRhythm: { gaps: 200, meanMs: 35, deviationMs: 9 } }),
      person: signals({ keyRhythm: { gaps: 40, meanMs: 140, deviationMs: 45 } }),
      uneven: signals({ keyRhythm: { gaps: 20, meanMs: 100, deviationMs: 5 } }),
      short: signals({ keyRhythm: { gaps: 19, meanMs: 100, deviationMs: 0 } }),
      absent: signals({ keyRhythm: null }),
    },
  },
  device_ai_agent: {
    weight: 0.25,
    fires: { gpt: agent('Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)') },
    quiet: { browser: {}, bot: agent('Googlebot/2.1 (+http://www.google.com/bot.html)') },
  },
  device_outdated_browser: {
    weight: 0.05,
    fires: {
      chrome: agent(CHROME(90)),
      // Chrome 107 came out on 25 October 2022.
      edge: { ...agent(CHROME(107)), nowSeconds: Date.UTC(2026, 9, 26) / 1_000 },
    },
    quiet: {
      edge: { ...agent(CHROME(107)), nowSeconds: Date.UTC(2026, 9, 24) / 1_000 },
      unknown: agent(CHROME(999)),
      tv: agent(
        'Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/53.0.2785.34 Safari/537.36',
      ),
    },
  },
  device_agent_contradiction: {
    weight: 0.3,
    fires: {
      platform: signals({ platform: 'Linux x86_64', platformHint: null }),
      hint: signals({ platformHint: 'Linux', platform: null }),
      header: { ...signals({ platformHint: null }), ...headers(['sec-ch-ua-platform', '"macOS"']) },
      touchless: signals({ platform: 'iPhone', touchPoints: 0, platformHint: null, mobileHint: null }, IPHONE),
      emulated: signals({ platform: 'Win32', touchPoints: 1, platformHint: null, mobileHint: null }, ANDROID),
      mobile: signals({ mobileHint: true }),
      'Safari with hints': signals({ platform: 'Win32', platformHint: 'Windows', touchPoints: 0 }, IPAD_AS_MAC),
      'desktop site of no phone': signals({ platform: 'Win32', touchPoints: 0 }, ANDROID_AS_DESKTOP),
    },
    quiet: {
      same: {},
      iPad: signals({ platform: 'MacIntel', touchPoints: 5, platformHint: null, mobileHint: null }, IPAD_AS_MAC),
      Mac: signals({ platform: 'MacIntel', touchPoints: 0, platformHint: null, mobileHint: null }, IPAD_AS_MAC),
      'iPhone, desktop site': signals(
        { platform: 'iPhone', touchPoints: 5, platformHint: null, mobileHint: null },
        IPAD_AS_MAC,
      ),
      'Android, desktop site': signals(
        { platform: 'Linux armv81', touchPoints: 5, platformHint: 'Android', mobileHint: true },
        ANDROID_AS_DESKTOP,
      ),
      'web view': signals(
        { platform: 'Linux armv8l', touchPoints: 5, platformHint: 'Linux', mobileHint: false },
        WEB_VIEW,
      ),
      'Firefox that hides': signals({ platform: 'Linux x86_64', platformHint: null, mobileHint: null }, FIREFOX),
      'no token': { token: { kind: 'none' } },
      unknown: signals({ platform: null, platformHint: null, mobileHint: null, touchPoints: null }, IPHONE),
      empty: signals({ platform: '', platformHint: null }),
    },
  },
  device_missing_accept_language: {
    weight: 0.1,
    fires: { none: headers(['accept', '*/*']), blank: headers(['user-agent', 'x'], ['accept-language', ' ']) },
    quiet: {
      none: headers(),
      only: headers(['x-svc-ja3', '0'.repeat(32)]),
      given: headers(['accept', '*/*'], ['accept-language', 'fr']),
    },
  },
  device_tls_tool: {
    weight: 0.5,
    fires: {
      ja4: headers(['x-svc-ja4', CURL_JA4]),
      'ja4 without SNI': headers(['x-svc-ja4', 't13i3111h2_e8f1e7e78f70_b26ce05bbdd6']),
      ja3: headers(['x-svc-ja3', '8D9F7747675E24454CD9B7ED35C58707']),
    },
    quiet: {
      browser: headers(['x-svc-ja4', CHROME_JA4]),
      // Safari 26 shares its ciphers with Go.
      safari: headers(['x-svc-ja4', 't13d1313h2_f57a46bbacb6_7f0f34a4126d']),
      unknown: headers(['x-svc-ja3', '0'.repeat(32)], ['x-svc-ja4', 'nonsense']),
      none: {},
    },
  },
  device_tls_contradiction: {
    weight: 0.3,
    fires: {
      firefox: headers(['x-svc-ja4', FIREFOX_JA4]),
      tool: headers(['x-svc-ja4', CURL_JA4]),
      ja3: headers(['x-svc-ja3', '773906b0efdefa24a7f2b8eb6985bf37']),
    },
    quiet: {
      same: headers(['x-svc-ja4', CHROME_JA4]),
      unknown: headers(['x-svc-ja4', 't13d1516h2_8daaf6152771_000000000000']),
      'Chrome on iOS': {
        ...agent(IPHONE.replace('Version/26.0', 'CriOS/150.0')),
        ...headers(['x-svc-ja4', SAFARI_JA4]),
      },
      other: { ...agent('curl/8.5.0'), ...headers(['x-svc-ja4', CURL_JA4]) },
    },
  },
  ip_invalid: { weight: 0.1, fires: { bad: { ip: { kind: 'invalid' } } }, quiet: { none: { ip: null }, good: {} } },
  ip_not_public: {
    weight: 0.2,
    fires: { private: { ip: readIp('10.0.0.1') } },
    quiet: { public: {}, invalid: { ip: { kind: 'invalid' } }, none: { ip: null } },
  },
  ip_tor_exit: { weight: 0.5, fires: { flag: geo({ tor: true }) }, quiet: { calm: {}, none: { geo: null } } },
  ip_proxy: { weight: 0.4, fires: { flag: geo({ proxy: true }) }, quiet: { calm: {}, none: { geo: null } } },
  ip_residential_proxy: {
    weight: 0.35,
    fires: { flag: geo({ residentialProxy: true }) },
    quiet: { calm: {}, none: { geo: null } },
  },
  ip_hosting: {
    weight: 0.3,
    fires: { flag: geo({ hosting: true }), listed: geo({ asn: 16_509, organisation: 'Amazon' }) },
    quiet: {
      calm: {},
      none: { geo: null },
      relay: geo({ hosting: true, relay: true }),
      'relay list': geo({ hosting: true, asn: 36_183 }),
    },
  },
  ip_vpn: {
    weight: 0.2,
    fires: { flag: geo({ vpn: true }) },
    quiet: { calm: {}, none: { geo: null }, relay: geo({ vpn: true, asn: 14_593 }) },
  },
  ip_relay: {
    weight: 0,
    fires: { flag: geo({ relay: true }), listed: geo({ asn: 14_593 }) },
    quiet: { calm: {}, none: { geo: null }, unknown: geo({ asn: null }) },
  },
  ip_watched_country: { weight: 0.1, fires: {}, quiet: { 'empty by default': {} } },
  ip_watched_asn: { weight: 0.25, fires: {}, quiet: { 'empty by default': {} } },
  device_timezone_mismatch: {
    weight: 0.15,
    fires: { far: signals({ timeZone: 'America/New_York' }), alias: signals({ timeZone: 'Asia/Calcutta' }) },
    quiet: {
      same: {},
      neighbour: signals({ timeZone: 'Europe/Paris' }),
      UTC: signals({ timeZone: 'UTC' }),
      Etc: signals({ timeZone: 'Etc/GMT+5' }),
      unknown: signals({ timeZone: 'Mars/Olympus' }),
      'no zone': signals({ timeZone: null }),
      'no country': { ...signals({ timeZone: 'Asia/Tokyo' }), ...geo({ country: null }) },
      'old name': { ...signals({ timeZone: 'Asia/Calcutta' }), ...geo({ country: 'IN' }) },
      'shared zone': { ...signals({ timeZone: 'Asia/Bangkok' }), ...geo({ country: 'KH' }) },
      relay: { ...signals({ timeZone: 'Asia/Tokyo' }), ...geo({ relay: true }) },
    },
  },
  session_token_old: {
    weight: 0.05,
    fires: {
      old: { token: collectorToken({}, NOW_SECONDS - 86_401) },
      future: { token: collectorToken({}, NOW_SECONDS + 301) },
    },
    quiet: {
      edge: { token: collectorToken({}, NOW_SECONDS - 86_400) },
      skew: { token: collectorToken({}, NOW_SECONDS + 300) },
      opaque: { token: { kind: 'opaque', isBroken: false } },
    },
  },
  journey_direct_hit: {
    weight: 0.05,
    fires: { none: came(null), blank: came(' '), payment: came(null, 'payment') },
    quiet: {
      referrer: {},
      login: came(null, 'login'),
      search: came(null, 'search'),
      'no url': { url: null, referrer: null },
    },
  },
  journey_foreign_referrer: {
    weight: 0.1,
    fires: {
      foreign: came('https://cards.evil.net/x'),
      search: came('https://www.bing.com/search?q=x'),
      platform: came('https://other.myshopify.com/', 'payment', 'https://mine.myshopify.com/checkout'),
    },
    quiet: {
      same: came('https://www.example.com/'),
      paypal: came('https://www.paypal.com/checkoutnow'),
      'sub-domain': came('https://acs2.3ds.arcot.com/acs'),
      login: came('https://login.microsoftonline.com/common'),
      'other country': came('https://www.example.de/'),
      app: came('android-app://com.google.android.gm/'),
      address: came('https://203.0.113.7/'),
      event: came('https://cards.evil.net/', 'login'),
      none: came(null),
    },
  },
  journey_probe_url: {
    weight: 0.75,
    fires: Object.fromEntries(
      [
        'https://shop.example/.env',
        'https://shop.example/.env.production',
        'https://shop.example/.git/config',
        '/wp-login.php',
        'https://shop.example/wp-login.php?x=1',
        'https://shop.example/static/../../etc/passwd',
        'https://shop.example/..%2f..%2fetc%2fpasswd',
        'https://shop.example/%252e%252e%252f%252e%252e%252fetc',
        'https://shop.example/?q=%3Cscript%3Ealert(1)%3C/script%3E',
        "https://shop.example/?id=1'%20OR%20'1'='1",
        'https://shop.example/?id=1+UNION+ALL+SELECT+1,2',
        'https://shop.example/?x=${jndi:ldap://a}',
        'https://shop.example/a%00.jpg',
        'https://shop.example/?cmd=;cat%20/etc/hosts',
        'https://shop.example/?u=http://169.254.169.254/latest',
        'https://shop.example/vendor/phpunit/src/eval-stdin.php',
        'https://shop.example/%C0%AE%C0%AE/.git',
      ].map((url) => [url, page(url)]),
    ),
    quiet: Object.fromEntries(
      [
        'https://shop.example/checkout',
        'https://shop.example/blog/wp-login-guide',
        'https://shop.example/products/actuator?size=3',
        'https://shop.example/search?q=western+union+select+service',
        "https://shop.example/search?q=children's+or+men's+shoes",
        'https://shop.example/.well-known/apple-app-site-association',
        'https://shop.example/p/100%25-cotton?sale=50%',
        'https://shop.example/caf%C3%A9/../',
        'https://shop.example/login?next=%2Faccount%2Forders',
        'https://shop.example/cart?return=https%3A%2F%2Fshop.example%2F%3Fa%3Db',
        'https://shop.example/collections/environment/.environment',
        'https://shop.example/games/shadow-of-git',
        '',
        '%',
      ]
        // A path that leads upwards is a probe, even if it ends harmlessly.
        .filter((url) => !url.includes('../'))
        .map((url) => [url, page(url)]),
    ),
  },
  identity_disposable_email: {
    weight: 0.45,
    fires: { mailinator: email('a@mailinator.com'), 'sub-domain': email('A@foo.MAILINATOR.com') },
    quiet: {
      gmail: email('a@gmail.com'),
      apple: email('x7k2p9@privaterelay.appleid.com'),
      mozmail: email('abc@mozmail.com'),
      duck: email('abc@duck.com'),
      'forwarder that lists take for a disposable one': email('abc@opayq.com'),
      text: email('mailinator.com'),
      none: { entities: [] },
    },
  },
  identity_random_email: {
    weight: 0.2,
    fires: { mixed: email('k3j9x2p1q7@gmail.com'), letters: email('xqzjvkwpfq@gmail.com') },
    quiet: {
      person: email('anna.schmidt@gmail.com'),
      apple: email('k3j9x2p1q7@privaterelay.appleid.com'),
      tag: email('anna+k3j9x2p1q7@gmail.com'),
    },
  },
  email_no_mx: {
    weight: 0,
    fires: { 'a dead domain': { deadMailDomain: 'dead.example' } },
    quiet: { 'not known': { deadMailDomain: null }, 'not a sign-up': {} },
  },
  trusted_source: { weight: 0, fires: {}, quiet: { always: {} } },
  agent_verified: { weight: 0, fires: {}, quiet: { always: {} } },
  agent_forged: {
    weight: 0,
    fires: {
      'not from a range': {
        agentProof: { number: 3, name: 'Googlebot', operator: 'google', purpose: 'search', verified: 'none' },
      },
    },
    quiet: {
      'from a range': {
        agentProof: { number: 3, name: 'Googlebot', operator: 'google', purpose: 'search', verified: 'range' },
      },
      unknown: { agentProof: null },
    },
  },
  model_score: { weight: 0.44, fires: {}, quiet: { always: {} } },
};

describe.each(Object.entries(CASES))('%s', (code, { weight, fires, quiet }) => {
  it.each(Object.entries(fires))('The rule fires on the case: %s', (_, overrides) => {
    expect(weightOf(code, facts(overrides))).toBe(weight);
  });
  it.each(Object.entries(quiet))('The rule is quiet on the case: %s', (_, overrides) => {
    expect(weightOf(code, facts(overrides))).toBeNull();
  });
});

describe('what a policy or an event changes', () => {
  it('Disposable e-mails weigh more on sign-up', () => {
    expect(weightOf('identity_disposable_email', facts(email('a@mailinator.com', 'signup')))).toBe(0.6);
  });
  it('The policy sets watched countries and networks', () => {
    const policy: Policy = { ...DEFAULT_POLICY, watchedCountries: new Set(['DE']), watchedAsns: new Set([3_320]) };
    expect(weightOf('ip_watched_country', facts(), policy)).toBe(0.1);
    expect(weightOf('ip_watched_asn', facts(), policy)).toBe(0.25);
    expect(weightOf('ip_watched_country', facts({ geo: null }), policy)).toBeNull();
    expect(weightOf('ip_watched_asn', facts(geo({ asn: null })), policy)).toBeNull();
  });
  it('The policy sets hosting and relay networks', () => {
    const policy: Policy = { ...DEFAULT_POLICY, hostingAsns: new Set([3_320]), relayAsns: new Set([1]) };
    expect(weightOf('ip_hosting', facts(), policy)).toBe(0.3);
    expect(weightOf('ip_relay', facts(geo({ asn: 14_593 })), policy)).toBeNull();
  });
});

describe('the registry of rules', () => {
  it('Every rule tested in this file exists', () => {
    expect(Object.keys(CASES).filter((code) => !RULE_INDEX.has(code))).toEqual([]);
  });
  it('A calm shopper fires no rule', () => {
    expect(
      RULES.filter((rule) => rule.evaluate(facts(), DEFAULT_POLICY, rule.thresholds ?? {}) !== null).map(
        ({ code }) => code,
      ),
    ).toEqual([]);
  });
  it('Weights are probabilities and hints are plain ASCII phrases', () => {
    for (const { weights, hint } of RULES) {
      for (const weight of Object.values(weights)) expect(weight >= 0 && weight <= 1).toBe(true);
      expect(hint).toMatch(/^[a-z][\x20-\x7e]+[^.]$/);
    }
  });
  it('Rules of one family are adjacent', () => {
    const families = RULES.map(({ family }) => family).filter((family, at, all) => family !== all[at - 1]);
    expect(families).toEqual([...new Set(families)]);
  });
});

const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -1, 1e300));
const text = fc.oneof(
  fc.string({ unit: ANY_CHARACTER, maxLength: 300 }),
  fc.webUrl(),
  fc.emailAddress(),
  fc.constantFrom('', ' ', '%', '@', '%%%', 'https://', 'http://[', '../', 'Mozilla/5.0 (', 'a@b', '\0', '\uD800'),
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary, { nil: null });
const hostile = fc.oneof(number, fc.constantFrom(NaN, Infinity, -Infinity));
const anyPlace = fc.record({
  latitude: hostile,
  longitude: hostile,
  accuracyKm: hostile,
  country: maybe(fc.oneof(text, fc.constantFrom('US', 'DE'))),
  ageSeconds: hostile,
  isFamiliar: fc.boolean(),
  sameSession: fc.boolean(),
});
const familiarity = fc.constantFrom<Familiarity>('known', 'new', 'unknown');
const anyContext = fc.record({
  name: text,
  sessions: hostile,
  ratio: hostile,
  device: familiarity,
  exactAgent: familiarity,
  agent: familiarity,
  network: familiarity,
  place: familiarity,
  country: familiarity,
});
const anyEntity = fc.record({
  name: text,
  decisions1m: hostile,
  payments1h: hostile,
  devices24h: hostile,
  networks1h: hostile,
  countries24h: hostile,
  loginsFailed1h: hostile,
  declined1h: hostile,
  hasSucceededHere: fc.boolean(),
  isNew: fc.boolean(),
  networkIsNew: fc.boolean(),
  agentIsNew: fc.boolean(),
  knownForSeconds: hostile,
  deviceIsNew: fc.boolean(),
  places: fc.array(anyPlace, { maxLength: 3 }),
  placeIsFamiliar: fc.boolean(),
});
const anyHistory: fc.Arbitrary<HistoryFacts> = fc.record({
  session: fc.record({
    isFirstEvent: fc.boolean(),
    ageMs: hostile,
    decisions1m: hostile,
    payments1h: hostile,
    paid1h: hostile,
    declined1h: hostile,
    rhythm: maybe(fc.record({ events: hostile, variation: hostile })),
    pages: maybe(fc.record({ events10m: hostile, events1h: hostile })),
    networkChanged: fc.boolean(),
    previousCountry: maybe(text),
    previousCountryAgeSeconds: hostile,
    regions1h: hostile,
    agentChanged: fc.boolean(),
    leftItsOrigin: fc.boolean(),
  }),
  ip: maybe(
    fc.record({
      decisions1m: hostile,
      signups24h: hostile,
      coldLogins10m: hostile,
      coldPayments1h: hostile,
      coldEntities1h: hostile,
      coldShare10m: hostile,
      coldShare1h: hostile,
      accountsSucceeded24h: hostile,
      knownAccountsSucceeded24h: hostile,
      accountsFailing24h: hostile,
      loginsFailed24h: hostile,
      paid1h: hostile,
      declined1h: hostile,
    }),
  ),
  entities: fc.array(anyEntity, { maxLength: 3 }),
  context: maybe(anyContext),
  device: maybe(
    fc.record({
      entities24h: hostile,
      networks24h: hostile,
      days: hostile,
      isCommon: fc.boolean(),
      browser: maybe(fc.record({ entities24h: hostile, networks24h: hostile, isOfAccount: fc.boolean() })),
    }),
  ),
  surge: maybe(fc.record({ networks10m: hostile, usual: hostile, badShare10m: hostile })),
  crowd: maybe(
    fc.record({
      customerAgeSeconds: hostile,
      surge: maybe(fc.record({ networks: hostile, slowNetworks: hostile, usual: hostile })),
      agent: maybe(fc.record({ networks1h: hostile, share: hostile, usualShare: hostile })),
      address: maybe(fc.record({ logins24h: hostile, strangers24h: hostile, usualShare: hostile })),
      network: maybe(
        fc.record({
          logins1h: hostile,
          cold1h: hostile,
          addresses1h: hostile,
          failed1h: hostile,
          succeeded1h: hostile,
          usualShare: hostile,
        }),
      ),
      account: maybe(fc.record({ name: text, logins1h: hostile })),
      signups: maybe(fc.record({ signups1h: hostile, addresses1h: hostile, networks1h: hostile })),
      mailDomain: maybe(fc.record({ networks3d: hostile, knownForSeconds: hostile, customerAgeThenSeconds: hostile })),
      spellings30d: hostile,
    }),
  ),
  values: maybe(
    fc.record({
      name: text,
      actor: fc.constantFrom('person' as const, 'session' as const, 'device' as const),
      ofActor24h: hostile,
      ofBrowser24h: hostile,
      ofAddress24h: hostile,
    }),
  ),
  amounts: maybe(fc.record({ value: hostile, usual: hostile, known: hostile })),
  customerAgeSeconds: hostile,
  counters: fc.constant(new Map<number, number>()),
  isTokenReplayed: fc.boolean(),
  trace: fc.constant(null),
});
const anyFacts: fc.Arbitrary<Facts> = fc
  .record({
    eventType: fc.oneof(fc.constantFrom('login', 'checkout', 'payment', 'signup', 'search', ''), text),
    outcome: maybe(fc.constantFrom(...OUTCOMES)),
    ip: maybe(
      fc.oneof(
        fc.constant({ kind: 'invalid' as const }),
        fc.record({
          kind: fc.constant('valid' as const),
          version: fc.constantFrom(4 as const, 6 as const),
          text,
          public: fc.boolean(),
          networks: fc.constant({ host: '91.10.20.30', site: '91.10.20', region: '91.10' }),
        }),
      ),
    ),
    userAgent: maybe(text),
    url: maybe(text),
    referrer: maybe(text),
    attributes: fc
      .dictionary(fc.constantFrom('amount', 'account_created_at'), fc.oneof(hostile, text))
      .map((all) => new Map(Object.entries(all))),
    token: fc.oneof(
      fc.constantFrom({ kind: 'none' as const }, { kind: 'opaque' as const, isBroken: false }),
      fc.record({
        kind: fc.constant('collector' as const),
        hasFingerprint: fc.boolean(),
        sessionId: text,
        issuedAtSeconds: number,
        signals: fc.record({
          webdriver: maybe(fc.boolean()),
          pluginCount: maybe(number),
          languages: maybe(fc.array(text, { maxLength: 3 })),
          platform: maybe(text),
          touchPoints: maybe(number),
          screenWidth: maybe(number),
          screenHeight: maybe(number),
          timeZone: maybe(fc.oneof(text, fc.constantFrom('Asia/Tokyo', 'Europe/Berlin'))),
          mobileHint: maybe(fc.boolean()),
          platformHint: maybe(text),
          automation: maybe(fc.array(text, { maxLength: 3 })),
          keyRhythm: maybe(fc.record({ gaps: number, meanMs: number, deviationMs: number })),
          webView: maybe(text),
        }),
        browserHash: maybe(fc.constant('e'.repeat(64) as FingerprintHash)),
      }),
    ),
    grant: maybe(
      fc.record({
        fault: fc.constantFrom(null, 'signature' as const, 'customer' as const, 'origin' as const, 'expired' as const),
        isOtherNetwork: fc.boolean(),
      }),
    ),
    fingerprintHash: fc.constant('f'.repeat(64) as FingerprintHash),
    entities: fc.array(fc.record({ name: text, value: text }), { maxLength: 4 }),
    headers: fc
      .array(
        fc.tuple(
          fc.constantFrom(
            'accept',
            'user-agent',
            'accept-language',
            'x-svc-ja3',
            'x-svc-ja4',
            'sec-ch-ua-platform',
            'sec-ch-ua-mobile',
            'sec-ch-ua',
          ),
          text,
        ),
      )
      .map((pairs): ReadonlyMap<string, string> => new Map(pairs)),
    geo: maybe(
      fc.record({
        country: maybe(fc.oneof(text, fc.constantFrom('US', 'DE'))),
        latitude: maybe(number),
        longitude: maybe(number),
        accuracyKm: maybe(number),
        asn: maybe(number),
        organisation: maybe(text),
        tor: fc.boolean(),
        proxy: fc.boolean(),
        residentialProxy: fc.boolean(),
        hosting: fc.boolean(),
        vpn: fc.boolean(),
        relay: fc.boolean(),
      }),
    ),
    list: fc.constantFrom(listedAs('block'), listedAs('allow'), null),
    registry: maybe(fc.record({ risk: number, customers: number })),
    history: maybe(anyHistory),
    nowSeconds: number,
  })
  .map((given) => ({
    ...given,
    agent: given.userAgent === null ? null : readAgent(given.userAgent),
    emails: given.entities.flatMap(({ value }) => readEmail(value) ?? []),
  }));

describe('properties', () => {
  it('Every rule is total, returns a weight that it has, and keeps its evidence short', () => {
    fc.assert(
      fc.property(anyFacts, (request) => {
        for (const rule of RULES) {
          const found = rule.evaluate(request, DEFAULT_POLICY, rule.thresholds ?? {});
          if (found === null) continue;
          expect(rule.weights[found.level ?? 'default']).toBeTypeOf('number');
          expect(found.evidence.length).toBeLessThanOrEqual(200);
          const scale = found.scale ?? 1;
          expect(scale >= 0 && scale <= 1).toBe(true);
        }
      }),
      { seed: 1, numRuns: timesInFull(1_000) },
    );
  });
});
