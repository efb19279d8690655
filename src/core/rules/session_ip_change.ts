import { hit, type Rule } from '../rule.ts';

/**
 * Fires when the session's event before came from another network (/24, /48). Quiet where either has no public address.
 * Choice: the weight; phones go from Wi-Fi to mobile data all day, so it speaks more of shoppers than of attackers.
 */
export const sessionIpChange: Rule = {
  code: 'session_ip_change',
  family: 'movement',
  weights: { default: 0.05 },
  hint: 'the session moved to another network',
  evaluate: ({ history }) =>
    history !== null && history.session.networkChanged ? hit('another network than at the event before') : null,
};
