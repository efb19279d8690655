import { hit, withThresholds } from './rule.ts';
import { describeTravel, findTravel } from './travel_impossible.ts';

/**
 * Fires on the same events as `travel_impossible`, at 500 to 1,000 km/h: an airliner from door to door is slower than that, but not by
 * much. Faster legs belong to that rule: a policy that changes its `kmhMin` must change `kmhMax` here too. Quiet in the same cases. Source
 * of numbers and weight: the default rules.
 */
export const travelImprobable = withThresholds({
  code: 'travel_improbable',
  family: 'movement',
  weights: { default: 0.2 },
  thresholds: { kmMin: 500, kmhMin: 500, kmhMax: 1_000 },
  hint: 'the account moved as fast as an airliner',
  quietedBy:
    'one session; near a location that the entity used before the last 24 h; from a location known for a day to a known network; a known device on a known network; relays, satellites, VPNs; no coordinates',
  evaluate(facts, policy, { kmMin, kmhMin, kmhMax }) {
    const travel = findTravel(facts, policy, kmMin);
    if (travel === null || !(travel.leg.kmh >= kmhMin && travel.leg.kmh <= kmhMax)) return null;
    return hit(describeTravel(travel));
  },
});
