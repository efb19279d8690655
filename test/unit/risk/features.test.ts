import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Facts } from '../../../src/risk/facts.ts';
import { readIp } from '../../../src/risk/signals/ip.ts';
import { FEATURE_NAMES, fillFeatures, findColumn } from '../../../src/risk/features.ts';
import { RULES } from '../../../src/risk/rules/rule-table.ts';
import { facts } from '../../support/facts.ts';
import { history, place } from '../../support/history.ts';

const BARE = facts({
  eventType: '',
  ip: null,
  userAgent: null,
  url: null,
  referrer: null,
  token: { kind: 'none' },
  entities: [],
  headers: new Map(),
  geo: null,
  nowSeconds: 1_780_000_000,
});
const none = (): boolean => false;

function compute(name: string, given: Partial<Facts>, fired: (code: string) => boolean = none): number {
  const out = new Float32Array(3);
  fillFeatures([findColumn(name) ?? -1], { ...BARE, ...given }, fired, out, 1);
  expect([out[0], out[2]]).toEqual([0, 0]);
  return out[1] ?? NaN;
}

const GEO = {
  country: 'DE',
  latitude: 1,
  longitude: 2,
  accuracyKm: null,
  asn: null,
  organisation: null,
  tor: true,
  proxy: false,
  residentialProxy: false,
  hosting: false,
  vpn: false,
  relay: false,
};
const SIGNALS = {
  webdriver: true,
  pluginCount: 0,
  languages: [],
  platform: null,
  touchPoints: 1,
  screenWidth: null,
  screenHeight: null,
  timeZone: null,
  mobileHint: null,
  platformHint: null,
  automation: null,
  keyRhythm: null,
  webView: null,
};
const UNKNOWN = {
  device: 'unknown',
  exactAgent: 'unknown',
  agent: 'unknown',
  network: 'unknown',
  place: 'unknown',
  country: 'unknown',
} as const;
const SURGE = { networks10m: 12, usual: 3, badShare10m: 0.5 };
const CROWD = { networks: 20, slowNetworks: 0, usual: 0 };
const COLLECTOR = {
  kind: 'collector',
  hasFingerprint: true,
  browserHash: null,
  sessionId: 's',
  issuedAtSeconds: 1_780_000_000 - 7_200,
  signals: SIGNALS,
} as const;

describe('features', () => {
  it('Features have unique names, and each is found at its position', () => {
    expect(new Set(FEATURE_NAMES).size).toBe(FEATURE_NAMES.length);
    for (const [column, name] of FEATURE_NAMES.entries()) expect(findColumn(name)).toBe(column);
    expect(findColumn('no:such')).toBeNull();
  });

  it.each<[string, Partial<Facts>, number]>([
    ['event:login', { eventType: 'login' }, 1],
    ['event:login', { eventType: 'payment' }, 0],
    ['ip:v6', { ip: readIp('2001:db8::1') }, 1],
    ['ip:public', { ip: readIp('2001:db8::1') }, 0],
    ['ip:valid', { ip: { kind: 'invalid' } }, 0],
    ['ip:given', { ip: { kind: 'invalid' } }, 1],
    ['geo:known', { geo: GEO }, 1],
    ['geo:tor', { geo: GEO }, 1],
    ['geo:country_known', { geo: { ...GEO, country: null } }, 0],
    ['token:opaque', { token: { kind: 'opaque', isBroken: false } }, 1],
    ['token:age_hours', { token: COLLECTOR }, 2],
    ['token:age_hours', { token: { ...COLLECTOR, issuedAtSeconds: 0 } }, 168],
    ['token:age_hours', { token: { ...COLLECTOR, issuedAtSeconds: NaN } }, 0],
    ['token:webdriver', { token: COLLECTOR }, 1],
    ['token:no_languages', { token: { ...COLLECTOR, signals: { ...SIGNALS, languages: null } } }, 0],
    [
      'entities:count',
      {
        entities: [
          { name: 'email', value: 'a' },
          { name: 'user', value: 'b' },
        ],
      },
      2,
    ],
    ['headers:count', { headers: new Map([['accept', 'x']]) }, 1],
    ['referrer:given', { referrer: '' }, 0],
    ['url:query', { url: 'https://a.example/?q=1' }, 1],
    ['registry:risk', { registry: { risk: 50, customers: 3 } }, 0.5],
    ['registry:risk', { registry: { risk: Infinity, customers: 3 } }, 0],
    // Finite as a double, infinite in 32 bits.
    ['registry:risk', { registry: { risk: 1e300, customers: 3 } }, 0],
    ['history:known', { history: history() }, 1],
    ['history:known', {}, 0],
    ['history:session_age_seconds', { history: history({ session: { ageMs: 1_500 } }) }, 1.5],
    ['history:session_age_seconds', { history: history({ session: { ageMs: 9e9 } }) }, 86_400],
    ['history:session_decisions_1m', { history: history({ session: { decisions1m: 7 } }) }, 7],
    ['history:ip_decisions_1m', { history: history({ ip: { decisions1m: 9 } }) }, 9],
    ['history:ip_decisions_1m', { history: history({ ip: null }) }, 0],
    ['history:ip_cold_share_1h', { history: history({ ip: { coldShare1h: 0.5 } }) }, 0.5],
    ['history:ip_cold_logins_10m', { history: history({ ip: { coldLogins10m: 11 } }) }, 11],
    // The largest of several entities.
    ['history:entity_decisions_1m', { history: history({ entities: [{}, { decisions1m: 30 }, {}] }) }, 30],
    ['history:entity_devices_24h', { history: history({ entities: [{ devices24h: 3 }, {}] }) }, 3],
    ['history:entity_networks_1h', { history: history({ entities: [] }) }, 0],
    ['history:entity_known_hours', { history: history({ entities: [{ knownForSeconds: 5_400 }] }) }, 1.5],
    ['history:entity_known_hours', { history: history({ entities: [{ knownForSeconds: 9e9 }] }) }, 720],
    ['history:entity_known_hours', { history: history({ entities: [{ knownForSeconds: NaN }] }) }, 0],
    ['history:device_entities_24h', { history: history({ device: { entities24h: 4 } }) }, 4],
    ['history:device_entities_24h', { history: history({ device: null }) }, 0],
    ['event:other', { eventType: 'page' }, 1],
    ['event:other', { eventType: 'login' }, 0],
    ['event:pays', { eventType: 'checkout' }, 1],
    ['event:pays', { eventType: 'login' }, 0],
    ['customer:age_hours', { history: history({ customerAgeSeconds: 5_400 }) }, 1.5],
    ['customer:age_hours', { history: history() }, 48],
    ['history:session_pages_10m', { history: history({ session: { pages: { events10m: 8, events1h: 9 } } }) }, 8],
    ['history:session_left_origin', { history: history({ session: { leftItsOrigin: true } }) }, 1],
    ['history:session_rhythm_known', { history: history({ session: { rhythm: { events: 5, variation: 0 } } }) }, 1],
    [
      'history:session_rhythm_variation',
      { history: history({ session: { rhythm: { events: 5, variation: 0.5 } } }) },
      0.5,
    ],
    ['history:device_days', { history: history({ device: { days: 3 } }) }, 3],
    ['history:device_networks_24h', { history: history({ device: { networks24h: 4 } }) }, 4],
    [
      'history:values_of_actor_24h',
      {
        history: history({
          values: { name: 'card', ofActor24h: 3, actor: 'session', ofBrowser24h: 0, ofAddress24h: 1 },
        }),
      },
      3,
    ],
    ['history:ip_accounts_succeeded_24h', { history: history({ ip: { accountsSucceeded24h: 5 } }) }, 5],
    ['history:ip_logins_failed_24h', { history: history({ ip: { loginsFailed24h: 6 } }) }, 6],
    ['history:ip_signups_24h', { history: history({ ip: { signups24h: 7 } }) }, 7],
    ['history:ip_cold_share_10m', { history: history({ ip: { coldShare10m: 0.25 } }) }, 0.25],
    ['history:ip_cold_payments_1h', { history: history({ ip: { coldPayments1h: 2 } }) }, 2],
    [
      'history:entity_known_hours_min',
      { history: history({ entities: [{ knownForSeconds: 7_200 }, { knownForSeconds: 5_400 }] }) },
      1.5,
    ],
    ['history:entity_known_hours_min', { history: history({ entities: [] }) }, 0],
    ['history:entity_declined_1h', { history: history({ entities: [{}, { declined1h: 2 }] }) }, 2],
    ['history:entity_places', { history: history({ entities: [{ places: [place(), place()] }, {}] }) }, 2],
    ['history:entity_agent_new', { history: history({ entities: [{}, { agentIsNew: true }] }) }, 1],
    ['history:entity_network_new', { history: history({ entities: [{}, { networkIsNew: true }] }) }, 1],
    ['history:entity_succeeded_here', { history: history({ entities: [{ hasSucceededHere: true }] }) }, 1],
    ['history:context_new', { history: history({ context: { ...UNKNOWN, device: 'new', country: 'new' } }) }, 2],
    ['history:context_known', { history: history({ context: { ...UNKNOWN, device: 'known' } }) }, 1],
    ['history:context_country_new', { history: history({ context: { ...UNKNOWN, country: 'new' } }) }, 1],
    ['history:surge_networks_10m', { history: history({ surge: SURGE }) }, 12],
    ['history:surge_bad_share_10m', { history: history({ surge: SURGE }) }, 0.5],
    ['history:surge_deviations', { history: history({ surge: SURGE }) }, 4.5],
    ['history:surge_deviations', { history: history({ surge: SURGE, crowd: { surge: CROWD } }) }, 20],
    ['history:surge_deviations', { history: history() }, 0],
    ['history:crowd_networks', { history: history({ crowd: { surge: CROWD } }) }, 20],
    ['time:hour_cos', { nowSeconds: 0 }, 1],
    ['time:hour_cos', { nowSeconds: 43_200 }, -1],
    ['time:hour_sin', { nowSeconds: NaN }, 0],
  ])('The feature %s of %j is %d', (name, given, expected) => {
    expect(compute(name, given)).toBe(expected);
  });

  it('Features show which rules fired', () => {
    expect(compute('rule:device_headless', {}, (code) => code === 'device_headless')).toBe(1);
    expect(compute('rule:device_headless', {}, (code) => code === 'ip_vpn')).toBe(0);
  });

  it('docs/models.md has the column of every feature, also rule:<code> of every rule', () => {
    const page = readFileSync('docs/models.md', 'utf8');
    expect(FEATURE_NAMES.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('docs/models.md has no column that is no feature: a model that names it would stop working', () => {
    const columns = readFileSync('docs/models.md', 'utf8').split('## Columns')[1] ?? '';
    const named = [...columns.matchAll(/`(\w+:\w+)`/g)].map((match) => match[1] ?? '');
    expect(named.filter((name) => findColumn(name) === null)).toEqual([]);
    expect(named.length).toBe(FEATURE_NAMES.length);
  });

  it('Every rule is a feature, except lists and the model itself', () => {
    const without = RULES.filter(({ code }) => findColumn(`rule:${code}`) === null);
    expect(without.map(({ code }) => code)).toEqual(['list_block', 'list_allow', 'model_score']);
  });

  it('A column that does not exist is written as 0', () => {
    const out = new Float32Array([9]);
    fillFeatures([FEATURE_NAMES.length], BARE, none, out, 0);
    expect([...out]).toEqual([0]);
  });

  it('Features are finite for any numbers', () => {
    const columns = [...FEATURE_NAMES.keys()];
    fc.assert(
      fc.property(fc.double(), fc.double(), fc.double(), fc.string(), (nowSeconds, issuedAtSeconds, risk, text) => {
        const out = new Float32Array(columns.length);
        const given: Facts = {
          ...BARE,
          nowSeconds,
          userAgent: text,
          url: text,
          token: { ...COLLECTOR, issuedAtSeconds },
          registry: { risk, customers: risk },
          geo: { ...GEO, latitude: nowSeconds },
          history: history({
            session: { ageMs: risk, decisions1m: risk },
            ip: { decisions1m: risk, coldShare1h: risk, coldLogins10m: risk },
            entities: [{ decisions1m: risk, devices24h: risk, networks1h: risk, knownForSeconds: risk }],
            device: { entities24h: risk },
          }),
        };
        fillFeatures(columns, given, () => true, out, 0);
        expect(out.every((value) => Number.isFinite(value))).toBe(true);
      }),
      { seed: 1, numRuns: 1_000 },
    );
  });
});
