import type { GeoFacts } from './facts.ts';
import type { Place, PlaceHistory } from './history.ts';
import type { Policy } from './policy/policy.ts';
import { isRelay } from './rules/ip_relay.ts';

/** Mean radius of the earth, km. Source: IUGG. */
const EARTH_RADIUS_KM = 6_371.0088;
/** Source: the default rules: the radius if the database gives none. */
const ACCURACY_KM_UNKNOWN = 200;
/** Source: the default rules: an older location is familiar, and no leg starts there. */
const AGE_SECONDS_MAX = 86_400;
/** Choice: locations are stored with the minute, so a leg takes at least one. */
const TRAVEL_SECONDS_MIN = 60;

/** A leg from an earlier location to the present one. */
export interface Leg {
  readonly from: PlaceHistory;
  /** Distance between the two, minus both accuracy radii. */
  readonly km: number;
  readonly hours: number;
  readonly kmh: number;
}

/**
 * Returns where the person is according to the address. Null without coordinates, and for relays, satellite networks and VPNs, which exit
 * at another location than their users'.
 */
export function placeOf(geo: GeoFacts, policy: Pick<Policy, 'relayAsns'>): Place | null {
  const { latitude, longitude, accuracyKm } = geo;
  if (latitude === null || longitude === null || geo.vpn || isRelay({ geo }, policy)) return null;
  return { latitude, longitude, accuracyKm: accuracyKm ?? ACCURACY_KM_UNKNOWN };
}

/**
 * Returns the fastest of the legs that lead here from over `kmMin` away: in another session, in the last 24 h. Null without one. Ignores
 * coordinates that are NaN.
 */
export function fastestLeg(here: Place, places: readonly PlaceHistory[], kmMin: number): Leg | null {
  let fastest: Leg | null = null;
  for (const from of places) {
    if (from.sameSession || !(from.ageSeconds <= AGE_SECONDS_MAX)) continue;
    const km = distanceKm(here, from) - radiusKm(here) - radiusKm(from);
    if (!(km > kmMin)) continue;
    const hours = Math.max(from.ageSeconds, TRAVEL_SECONDS_MIN) / 3_600;
    const kmh = km / hours;
    if (kmh > (fastest?.kmh ?? 0)) fastest = { from, km, hours, kmh };
  }
  return fastest;
}

function radiusKm({ accuracyKm }: Place): number {
  return Math.max(0, accuracyKm);
}

/** Great-circle distance by the haversine formula; within 0.6 % of the earth's true shape. Coordinates in degrees. */
export function distanceKm(a: Pick<Place, 'latitude' | 'longitude'>, b: typeof a): number {
  const northward = Math.sin(radians(b.latitude - a.latitude) / 2) ** 2;
  const eastward = Math.sin(radians(b.longitude - a.longitude) / 2) ** 2;
  const haversine = northward + Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude)) * eastward;
  // Rounding can make it slightly larger than 1 for antipodes.
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.sqrt(Math.min(1, haversine)));
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
