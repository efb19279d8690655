import { hit, type Rule } from './rule.ts';

/**
 * Fires when a payment is the first event of its session: no earlier step was seen. Quiet once any event of the session was seen. Source of
 * the weight: the default rules; low, since an integration may send payments only.
 */
export const journeySingleEvent: Rule = {
  code: 'journey_single_event',
  family: 'journey',
  weights: { default: 0.1 },
  hint: 'the payment is the first event of the session',
  quietedBy: 'the session had any earlier event',
  evaluate: ({ eventType, history }) =>
    history !== null && eventType === 'payment' && history.session.isFirstEvent
      ? hit('a payment opens the session')
      : null,
};
