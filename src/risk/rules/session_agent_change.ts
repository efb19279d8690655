import { hit, type Rule } from './rule.ts';

/**
 * Fires when the session's previous event came from another browser or another system: a session does not change its browser, but a stolen
 * token does. Level `network`: the network (/24, /48) changed as well. Quiet if either agent is unknown, and for updates, since versions do
 * not count. Source of the default weight: the default rules; "desktop site" on a phone looks the same. Choice: the weight of `network`;
 * nobody changes browser and network between two events of one session, but a token thief does.
 */
export const sessionAgentChange: Rule = {
  code: 'session_agent_change',
  family: 'token',
  weights: { default: 0.35, network: 0.5 },
  hint: 'the session changed its browser or system',
  quietedBy: 'either is unknown; updates',
  evaluate({ history }) {
    if (history === null || !history.session.agentChanged) return null;
    return history.session.networkChanged
      ? hit('browser or system, and the network, differ from the previous event', 'network')
      : hit('browser or system differs from the previous event');
  },
};
