import type { Facts, GeoFacts } from '../facts.ts';
import { ownerScale } from './support/account-context.ts';
import type { ContextHistory, EntityHistory } from '../history.ts';
import type { Policy } from '../policy/policy.ts';
import { entityName, hit, withThresholds } from './rule.ts';
import { fastestLeg, placeOf, type Leg } from '../travel.ts';

/**
 * Fires when an entity was at another location in the last 24 h, over 500 km away beyond both accuracy radii, and would have had to travel
 * faster than 1,000 km/h. The fastest leg of all of the request's entities counts.
 *
 * Quiet within one session, whose networks have their own rules; near a location that the entity used before the last 24 h; for private
 * relays, satellite networks and VPNs, whose location is not the person's; without a location; on a device and a network that the account
 * knows; and from a location where the entity was first seen over a day before to a network that it knows. Weighs less with a device or an
 * exact user agent that the account knows (level `device`), with a system, browser and language that it knows (level `agent`), and within
 * one country (level `domestic`), because databases locate a carrier's addresses anywhere in it.
 * Source of numbers and weight: the default rules; airliners fly at about 900 km/h, and nobody boards at once.
 */
export const travelImpossible = withThresholds({
  code: 'travel_impossible',
  family: 'movement',
  weights: { default: 0.62, domestic: 0.35, agent: 0.4, device: 0.2 },
  thresholds: { kmMin: 500, kmhMin: 1_000 },
  hint: 'the account moved faster than people can travel',
  quietedBy:
    'one session; near a location that the entity used before the last 24 h; from a location known for a day to a known network; a known device on a known network; relays, satellites, VPNs; no coordinates',
  evaluate(facts, policy, { kmMin, kmhMin }) {
    const travel = findTravel(facts, policy, kmMin);
    if (travel === null || !(travel.leg.kmh > kmhMin)) return null;
    const level = levelOf(facts.history?.context ?? null) ?? domesticLevel(travel);
    return level === undefined ? hit(describeTravel(travel)) : hit(`${describeTravel(travel)}; ${KNOWN[level]}`, level);
  },
});

/** What the account knows of the event, or why the level applies, for evidence. */
const KNOWN = {
  domestic: 'within one country',
  device: 'on a device or with a user agent that the account knows',
  agent: 'with a system, browser and language that the account knows',
} as const;

/** Databases locate a carrier's gateway anywhere in its country. */
function domesticLevel({ leg, geo }: Travel): 'domestic' | undefined {
  return geo.country !== null && leg.from.country === geo.country ? 'domestic' : undefined;
}

function levelOf(context: ContextHistory | null): 'device' | 'agent' | undefined {
  if (context === null) return undefined;
  if (context.device === 'known' || context.exactAgent === 'known') return 'device';
  return context.agent === 'known' ? 'agent' : undefined;
}

/** The fastest leg of one of the request's entities. */
interface Travel {
  readonly entity: EntityHistory;
  readonly leg: Leg;
  readonly geo: GeoFacts;
}

/** Returns null if no entity came from over `kmMin` away, or if its location is unknown. */
export function findTravel({ geo, history }: Facts, policy: Policy, kmMin: number): Travel | null {
  // Most entities have no other location.
  if (geo === null || history === null || !history.entities.some(hasLeft)) return null;
  const here = placeOf(geo, policy);
  if (here === null || ownerScale(history) === 0) return null;
  const isKnownNetwork = history.context?.network === 'known';
  let fastest: Travel | null = null;
  for (const entity of history.entities) {
    if (!hasLeft(entity)) continue;
    const leg = fastestLeg(here, entity.places, kmMin);
    if (leg !== null && !(isKnownNetwork && leg.from.isFamiliar) && (fastest === null || leg.kmh > fastest.leg.kmh))
      fastest = { entity, leg, geo };
  }
  return fastest;
}

function hasLeft({ placeIsFamiliar, places }: EntityHistory): boolean {
  return !placeIsFamiliar && places.length > 0;
}

/** Returns `user_id: from DE 52.5,13.4 to US 40.7,-74.0, 6290 km beyond both radii in 2 h`. */
export function describeTravel({ entity, leg, geo }: Travel): string {
  const from = describePlace(leg.from.country, leg.from.latitude, leg.from.longitude);
  const to = describePlace(geo.country, geo.latitude ?? 0, geo.longitude ?? 0);
  const hours = Number(leg.hours.toPrecision(2));
  const text = `${entityName(entity)}: from ${from} to ${to}, ${Math.round(leg.km)} km beyond both radii in ${hours} h`;
  return text.slice(0, EVIDENCE_CHARACTERS_MAX);
}

/** Choice: keeps evidence short. */
const EVIDENCE_CHARACTERS_MAX = 200;

function describePlace(country: string | null, latitude: number, longitude: number): string {
  return `${(country ?? '').slice(0, 8)} ${latitude.toFixed(1)},${longitude.toFixed(1)}`.trim();
}
