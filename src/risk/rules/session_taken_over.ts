import { hit, type Rule } from './rule.ts';

/**
 * Fires when both the browser or system and the region (/16, /32) differ from those in which the session began: its cookie may have been
 * stolen. Quiet for the session's owner, who continues beside the thief.
 *
 * Quiet on a collector's device or a network that the account knows: some shops pass on one session for all devices of a person. Quiet if
 * agent or address are unknown. Source of the weight: the default rules.
 */
export const sessionTakenOver: Rule = {
  code: 'session_taken_over',
  family: 'token',
  weights: { default: 0.5 },
  hint: 'the session continues with another browser or system on another network',
  quietedBy: 'a device or network known to the account; either is unknown',
  evaluate({ history }) {
    if (history === null || !history.session.leftItsOrigin) return null;
    if (history.context?.device === 'known' || history.context?.network === 'known') return null;
    return hit('browser or system, and the network (/16 or /32), differ from the first event of the session');
  },
};
