import { hit, type Rule } from '../rule.ts';

/**
 * Fires when a payment is the first event of its session: nobody was seen to choose anything. Quiet once anything was seen of the
 * session. Source of the weight: the default rules; low, since an integration may ask about payments alone.
 */
export const journeySingleEvent: Rule = {
  code: 'journey_single_event',
  family: 'journey',
  weights: { default: 0.1 },
  hint: 'the payment is all that was seen of the session',
  evaluate: ({ eventType, history }) =>
    history !== null && eventType === 'payment' && history.session.isFirstEvent
      ? hit('a payment opens the session')
      : null,
};
