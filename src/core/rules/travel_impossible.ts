import type { Facts, GeoFacts } from '../facts.ts';
import { ownerScale } from '../account-context.ts';
import type { ContextHistory, EntityHistory } from '../history.ts';
import type { Policy } from '../policy.ts';
import { entityName, hit, withThresholds } from '../rule.ts';
import { fastestLeg, placeOf, type Leg } from '../travel.ts';

/**
 * Fires when an entity was somewhere else in the last 24 h, over 500 km away beyond both accuracy radii, and would have had to travel
 * faster than 1,000 km/h. The fastest way counts, over all of the request's entities.
 *
 * Quiet within one session, whose networks have rules of their own; near a place that the entity used before the last 24 h; for private
 * relays, satellite networks and VPNs, whose place is not the person's; without a place; on a device and a network that the account knows,
 * and from a place where it has been for over a day to a network that it knows. Weighs less with a device or an exact user agent that the
 * account knows (level `device`), with one of its systems, browsers and languages (level `agent`), and within one country (level
 * `domestic`), in which databases place a carrier's addresses anywhere.
 * Source of numbers and weight: the default rules; airliners do some 900 km/h, and nobody boards at once.
 */
export const travelImpossible = withThresholds({
  code: 'travel_impossible',
  family: 'movement',
  weights: { default: 0.62, domestic: 0.35, agent: 0.4, device: 0.2 },
  thresholds: { kmMin: 500, kmhMin: 1_000 },
  hint: 'the account moved faster than people can travel',
  evaluate(facts, policy, { kmMin, kmhMin }) {
    const travel = findTravel(facts, policy, kmMin);
    if (travel === null || !(travel.leg.kmh > kmhMin)) return null;
    const level = levelOf(facts.history?.context ?? null) ?? domesticLevel(travel);
    return level === undefined ? hit(describeTravel(travel)) : hit(`${describeTravel(travel)}; ${KNOWN[level]}`, level);
  },
});

/** What of the account comes along. */
const KNOWN = {
  domestic: 'within one country',
  device: 'on a device or with a user agent that the account knows',
  agent: 'with a system, browser and language that the account knows',
} as const;

/** Databases place a carrier's gateway anywhere in its country. */
function domesticLevel({ leg, geo }: Travel): 'domestic' | undefined {
  return geo.country !== null && leg.from.country === geo.country ? 'domestic' : undefined;
}

function levelOf(context: ContextHistory | null): 'device' | 'agent' | undefined {
  if (context === null) return undefined;
  if (context.device === 'known' || context.exactAgent === 'known') return 'device';
  return context.agent === 'known' ? 'agent' : undefined;
}

/** The fastest way of one of the request's entities. */
interface Travel {
  readonly entity: EntityHistory;
  readonly leg: Leg;
  readonly geo: GeoFacts;
}

/** null when nobody came from over `kmMin` away, or nobody can say. */
export function findTravel({ geo, history }: Facts, policy: Policy, kmMin: number): Travel | null {
  if (geo === null || history === null) return null;
  const here = placeOf(geo, policy);
  if (here === null || ownerScale(history) === 0) return null;
  const isKnownNetwork = history.context?.network === 'known';
  let fastest: Travel | null = null;
  for (const entity of history.entities) {
    if (entity.placeIsFamiliar) continue;
    const leg = fastestLeg(here, entity.places, kmMin);
    if (leg !== null && !(isKnownNetwork && leg.from.isFamiliar) && (fastest === null || leg.kmh > fastest.leg.kmh))
      fastest = { entity, leg, geo };
  }
  return fastest;
}

/** `user_id: from DE 52.5,13.4 to US 40.7,-74.0, 6290 km beyond both radii in 2 h`. */
export function describeTravel({ entity, leg, geo }: Travel): string {
  const from = describePlace(leg.from.country, leg.from.latitude, leg.from.longitude);
  const to = describePlace(geo.country, geo.latitude ?? 0, geo.longitude ?? 0);
  const hours = Number(leg.hours.toPrecision(2));
  const text = `${entityName(entity)}: from ${from} to ${to}, ${Math.round(leg.km)} km beyond both radii in ${hours} h`;
  return text.slice(0, EVIDENCE_CHARACTERS_MAX);
}

/** Choice: evidence is short. */
const EVIDENCE_CHARACTERS_MAX = 200;

function describePlace(country: string | null, latitude: number, longitude: number): string {
  return `${(country ?? '').slice(0, 8)} ${latitude.toFixed(1)},${longitude.toFixed(1)}`.trim();
}
