import { isPayingStep } from '../event-outcome.ts';
import { hit, withThresholds } from './rule.ts';

/**
 * Fires when a payment or checkout comes within 3 s of the first event of its session. Quiet when it is that first event, which
 * `journey_single_event` covers. Source of the number: the default rules. Choice: the default weight is low, since a shop may send two
 * requests for one click. Level `program`: the session had 4 or more events in those 3 s. Choice: two steps may be one click, but nobody
 * logs in, opens a page, checks out and pays at less than a second each.
 */
export const journeyTooFast = withThresholds({
  code: 'journey_too_fast',
  family: 'journey',
  weights: { default: 0.05, program: 0.5 },
  thresholds: { secondsMax: 3, events: 4 },
  hint: 'the session went to payment faster than people do',
  quietedBy: 'it is the first event itself',
  evaluate({ eventType, history }, _policy, { secondsMax, events }) {
    if (history === null || !isPayingStep(eventType)) return null;
    const { isFirstEvent, ageMs, decisions1m } = history.session;
    if (isFirstEvent || !(ageMs <= secondsMax * 1_000)) return null;
    const evidence = `${eventType} ${(ageMs / 1_000).toFixed(1)} s after the session began`;
    return decisions1m >= events ? hit(`${evidence}, as its event ${decisions1m}`, 'program') : hit(evidence);
  },
});
