import { type Decision, DECISIONS } from './decision.ts';

/**
 * One number has a weight of 0 to 1; below 0 what rules of the customer's own have besides: -1 to -2 an observed weight, from -3 on the
 * position in `DECISIONS` of a decision, from -8 on of an observed one. A build that does not know them takes them for 0.
 */
const OBSERVED_WEIGHT = -1;
const DECIDES = -3;
const OBSERVED_DECIDES = DECIDES - DECISIONS.length;

/** What one stored number of a contribution says. */
export interface WeightEffect {
  /** 0 to 1. */
  readonly weight: number;
  readonly decides?: Decision;
  readonly isObserved?: boolean;
}

/** Returns the number for an effect. */
export function storedWeight({ weight, decides, isObserved = false }: WeightEffect): number {
  if (decides !== undefined) return (isObserved ? OBSERVED_DECIDES : DECIDES) - DECISIONS.indexOf(decides);
  return isObserved ? OBSERVED_WEIGHT - weight : weight;
}

/** Returns what a stored weight says. */
export function effectOfWeight(stored: number): WeightEffect {
  if (!(stored < 0)) return { weight: stored };
  // Adding 1 has cost the last digits.
  if (stored > DECIDES) return { weight: Math.round((OBSERVED_WEIGHT - stored) * 1e9) / 1e9, isObserved: true };
  const isObserved = stored <= OBSERVED_DECIDES;
  const decides = DECISIONS[(isObserved ? OBSERVED_DECIDES : DECIDES) - stored];
  return { weight: 0, ...(decides !== undefined && { decides }), ...(isObserved && { isObserved }) };
}
