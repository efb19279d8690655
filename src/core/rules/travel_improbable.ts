import { hit, withThresholds } from '../rule.ts';
import { describeTravel, findTravel } from './travel_impossible.ts';

/**
 * Fires where `travel_impossible` looks, at 500 to 1,000 km/h: an airliner from door to door is slower than that, but not by
 * much. Faster is the other rule's: who moves its `kmhMin` moves `kmhMax` here too. Quiet where the other one is.
 * Source of numbers and weight: the default rules.
 */
export const travelImprobable = withThresholds({
  code: 'travel_improbable',
  family: 'movement',
  weights: { default: 0.2 },
  thresholds: { kmMin: 500, kmhMin: 500, kmhMax: 1_000 },
  hint: 'the account moved as fast as an airliner',
  evaluate(facts, policy, { kmMin, kmhMin, kmhMax }) {
    const travel = findTravel(facts, policy, kmMin);
    if (travel === null || !(travel.leg.kmh >= kmhMin && travel.leg.kmh <= kmhMax)) return null;
    return hit(describeTravel(travel));
  },
});
