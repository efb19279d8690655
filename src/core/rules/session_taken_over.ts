import { hit, type Rule } from '../rule.ts';

/**
 * Fires when both the browser or system and the region (/16, /32) are others than those in which the session began, as when its
 * cookie was stolen. The session's owner, who goes on beside the thief, stays quiet.
 *
 * Quiet on a collector's device or a network that the account knows: some shops pass on one session for all devices of a person.
 * Quiet where agent or address are not known. Source of the weight: the default rules.
 */
export const sessionTakenOver: Rule = {
  code: 'session_taken_over',
  family: 'token',
  weights: { default: 0.5 },
  hint: 'the session goes on with another browser or system on another network',
  evaluate({ history }) {
    if (history === null || !history.session.leftItsOrigin) return null;
    if (history.context?.device === 'known' || history.context?.network === 'known') return null;
    return hit('another browser or system and another /16 or /32 than at the first event of the session');
  },
};
