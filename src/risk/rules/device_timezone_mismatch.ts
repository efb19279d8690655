import { TIME_ZONES, type TimeZone } from '../data/time-zones.ts';
import { hit, type Rule } from './rule.ts';
import { isRelay } from './ip_relay.ts';

/**
 * Fires when the token's time zone is not used in the country of the IP, and no part of that country has the same clock time.
 * Source of the weight: the default rules; low, since travellers do not reset their clock.
 *
 * Choice: quiet if some zone of the IP's country shows the same time in January or in July: phones and Windows name any city with the right
 * offset (a Belgian computer reports Europe/Paris), and borders are crossed daily. What remains are zones far from the country.
 * Quiet for names without a country (UTC, Etc/…), unknown names, unknown countries, private relays and satellite networks.
 */
export const deviceTimezoneMismatch: Rule = {
  code: 'device_timezone_mismatch',
  family: 'movement',
  weights: { default: 0.15 },
  hint: 'the time zone of the browser does not exist in the country of the IP address',
  quietedBy: 'a zone of the country has the same time in January or July; UTC; relays',
  evaluate(facts, policy) {
    const { token, geo } = facts;
    if (token.kind !== 'collector' || token.signals.timeZone === null) return null;
    const country = geo?.country ?? null;
    if (country === null || isRelay(facts, policy)) return null;
    const zone = findZone(token.signals.timeZone);
    const local = ZONES_BY_COUNTRY.get(country);
    if (zone === undefined || local === undefined || zone.countries.includes(country)) return null;
    if (local.some((other) => showsSameTime(zone, other))) return null;
    return hit(`${token.signals.timeZone} and ${country}`.slice(0, EVIDENCE_CHARACTERS_MAX));
  },
};

/** Choice: keeps evidence short, because the zone is the client's text. */
const EVIDENCE_CHARACTERS_MAX = 200;

let lastName = '';
let lastZone: TimeZone | undefined;

/** Most tokens name the same few zones, so the last one is kept. */
function findZone(name: string): TimeZone | undefined {
  if (name !== lastName) {
    lastZone = TIME_ZONES.get(name.toLowerCase());
    lastName = name;
  }
  return lastZone;
}

const ZONES_BY_COUNTRY = groupByCountry();

function groupByCountry(): ReadonlyMap<string, readonly TimeZone[]> {
  const zones = new Map<string, TimeZone[]>();
  for (const zone of TIME_ZONES.values()) {
    for (const country of zone.countries) {
      const known = zones.get(country) ?? [];
      if (!known.some((other) => isSame(zone, other))) known.push(zone);
      zones.set(country, known);
    }
  }
  return zones;
}

function isSame(a: TimeZone, b: TimeZone): boolean {
  return a.januaryMinutes === b.januaryMinutes && a.julyMinutes === b.julyMinutes;
}

function showsSameTime(a: TimeZone, b: TimeZone): boolean {
  return a.januaryMinutes === b.januaryMinutes || a.julyMinutes === b.julyMinutes;
}
