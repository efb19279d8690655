import type { FingerprintHash } from '../../src/kernel/brand.ts';
import type { ListAction } from '../../src/risk/decision.ts';
import type { ListFacts } from '../../src/risk/lists/list-facts.ts';
import { decideByLists } from '../../src/risk/lists/list-precedence.ts';
import { readAgent } from '../../src/risk/signals/agent.ts';
import { readEmail } from '../../src/risk/signals/email.ts';
import { readIp } from '../../src/risk/signals/ip.ts';
import type { Facts, GeoFacts, TokenFacts, TokenSignals } from '../../src/risk/facts.ts';

/** 21 November 2026, noon UTC. */
export const NOW_SECONDS = Date.UTC(2026, 10, 21, 12) / 1_000;

export const CALM_USER_AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/157.0.0.0 Safari/537.36';

/** What an entry of a fingerprint with this action decides. */
export function listedAs(action: ListAction | null): ListFacts | null {
  if (action === null) return null;
  const match = { kind: 'fingerprint', action, shown: 'f'.repeat(64) } as const;
  return decideByLists([match], { eventType: 'login', isPublicKey: false });
}

/** A residential line in Germany. */
export const CALM_GEO: GeoFacts = {
  country: 'DE',
  latitude: 52.52,
  longitude: 13.4,
  accuracyKm: 20,
  asn: 3320,
  organisation: 'Deutsche Telekom AG',
  tor: false,
  proxy: false,
  residentialProxy: false,
  hosting: false,
  vpn: false,
  relay: false,
};

export const CALM_SIGNALS: TokenSignals = {
  webdriver: false,
  pluginCount: 5,
  languages: ['de-DE', 'de'],
  platform: 'Win32',
  touchPoints: 0,
  screenWidth: 1_920,
  screenHeight: 1_080,
  timeZone: 'Europe/Berlin',
  mobileHint: false,
  platformHint: 'Windows',
  automation: [],
  keyRhythm: null,
  webView: null,
};

/** A collector token issued ten minutes ago. */
export function collectorToken(signals: Partial<TokenSignals> = {}, issuedAtSeconds = NOW_SECONDS - 600): TokenFacts {
  return {
    kind: 'collector',
    hasFingerprint: true,
    sessionId: 'session-1',
    issuedAtSeconds,
    signals: { ...CALM_SIGNALS, ...signals },
    browserHash: null,
  };
}

/** Facts of a shopper that fires no rule, with the test's overrides. A `userAgent` without an `agent` is parsed. */
export function facts(overrides: Partial<Facts> = {}): Facts {
  const userAgent = overrides.userAgent === undefined ? CALM_USER_AGENT : overrides.userAgent;
  const entities = overrides.entities ?? [{ name: 'email', value: 'anna.schmidt@gmx.de' }];
  return {
    eventType: 'checkout',
    outcome: null,
    ip: readIp('91.10.20.30'),
    userAgent,
    agent: userAgent === null ? null : readAgent(userAgent),
    url: 'https://shop.example.com/checkout',
    referrer: 'https://shop.example.com/basket',
    token: collectorToken(),
    grant: null,
    fingerprintHash: 'a'.repeat(64) as FingerprintHash,
    entities,
    emails: entities.flatMap(({ value }) => readEmail(value) ?? []),
    attributes: new Map(),
    headers: new Map([
      ['accept', 'text/html'],
      ['accept-language', 'de-DE,de;q=0.9'],
      ['user-agent', userAgent ?? ''],
    ]),
    geo: CALM_GEO,
    list: null,
    registry: null,
    history: null,
    nowSeconds: NOW_SECONDS,
    ...overrides,
  };
}
