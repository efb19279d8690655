import type { Facts, GeoFacts } from '../facts.ts';
import type { EntityHistory } from '../history.ts';
import type { Policy } from '../policy.ts';
import { entityName, hit, withThresholds } from '../rule.ts';
import { fastestLeg, placeOf, type Leg } from '../travel.ts';

/**
 * Fires when an entity was somewhere else in the last 24 h, over 500 km away beyond both accuracy radii, and would have had to
 * travel faster than 1,000 km/h. The fastest way counts, over all of the request's entities.
 *
 * Quiet within one session, whose networks have rules of their own; near a place that the entity used before the last 24 h; for
 * private relays, satellite networks and VPNs, whose place is not the person's; without a place.
 * Source of numbers and weight: the default rules; airliners do some 900 km/h, and nobody boards at once.
 */
export const travelImpossible = withThresholds({
  code: 'travel_impossible',
  family: 'movement',
  weights: { default: 0.62 },
  thresholds: { kmMin: 500, kmhMin: 1_000 },
  hint: 'the account moved faster than people can travel',
  evaluate(facts, policy, { kmMin, kmhMin }) {
    const travel = findTravel(facts, policy, kmMin);
    return travel !== null && travel.leg.kmh > kmhMin ? hit(describeTravel(travel)) : null;
  },
});

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
  if (here === null) return null;
  let fastest: Travel | null = null;
  for (const entity of history.entities) {
    if (entity.placeIsFamiliar) continue;
    const leg = fastestLeg(here, entity.places, kmMin);
    if (leg !== null && (fastest === null || leg.kmh > fastest.leg.kmh)) fastest = { entity, leg, geo };
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
