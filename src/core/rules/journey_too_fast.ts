import { isPayingStep } from '../outcome.ts';
import { hit, withThresholds } from '../rule.ts';

/**
 * Fires when a payment or checkout comes within 3 s of the first event of its session. Quiet when it is that first event, which
 * is the business of `journey_single_event`. Source of the number: the default rules. Choice: the weight; a shop may ask twice
 * about one click.
 */
export const journeyTooFast = withThresholds({
  code: 'journey_too_fast',
  family: 'journey',
  weights: { default: 0.05 },
  thresholds: { secondsMax: 3 },
  hint: 'the session went to payment faster than people do',
  evaluate({ eventType, history }, _policy, { secondsMax }) {
    if (history === null || !isPayingStep(eventType)) return null;
    const { isFirstEvent, ageMs } = history.session;
    if (isFirstEvent || !(ageMs <= secondsMax * 1_000)) return null;
    return hit(`${eventType} ${(ageMs / 1_000).toFixed(1)} s after the session began`);
  },
});
