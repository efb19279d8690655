import { hit, type Rule } from './rule.ts';

/**
 * Fires when the session's previous event came from another network (/24, /48). Quiet if either has no public address.
 * Choice: the weight; phones switch between Wi-Fi and mobile data all day, so this indicates shoppers rather than attackers.
 */
export const sessionIpChange: Rule = {
  code: 'session_ip_change',
  family: 'movement',
  weights: { default: 0.05 },
  hint: 'the session moved to another network',
  quietedBy: 'either address is unknown',
  evaluate: ({ history }) =>
    history !== null && history.session.networkChanged ? hit('the network differs from the previous event') : null,
};
