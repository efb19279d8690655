import { hit, type Rule } from '../rule.ts';

/**
 * Fires when the session's event before came from another browser or another system: a session does not leave its browser, but
 * a stolen token does. Quiet where either is not known, and for updates, since versions do not count.
 * Source of the weight: the default rules; "desktop site" on a phone looks the same.
 */
export const sessionAgentChange: Rule = {
  code: 'session_agent_change',
  family: 'token',
  weights: { default: 0.35 },
  hint: 'the session changed its browser or system',
  evaluate: ({ history }) =>
    history !== null && history.session.agentChanged ? hit('another browser or system than at the event before') : null,
};
