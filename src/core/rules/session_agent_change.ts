import { hit, type Rule } from '../rule.ts';

/**
 * Fires when the session's event before came from another browser or another system: a session does not leave its browser, but
 * a stolen token does. `network`: the network (/24, /48) changed with it. Quiet where either agent is not known, and for updates,
 * since versions do not count. Source of the first weight: the default rules; "desktop site" on a phone looks the same.
 * Choice: the second weight; nobody changes browser and network between two events of one session, but who stole its token does.
 */
export const sessionAgentChange: Rule = {
  code: 'session_agent_change',
  family: 'token',
  weights: { default: 0.35, network: 0.5 },
  hint: 'the session changed its browser or system',
  evaluate({ history }) {
    if (history === null || !history.session.agentChanged) return null;
    return history.session.networkChanged
      ? hit('another browser or system, on another network, than at the event before', 'network')
      : hit('another browser or system than at the event before');
  },
};
