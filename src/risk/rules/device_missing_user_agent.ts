import { hit, type Rule } from './rule.ts';

/**
 * Fires when a user agent is given and empty or blank: the customer passes the header on and the client sent none. Quiet when the field is
 * absent, since then the customer does not pass it on. Source of the weight: the default rules.
 */
export const deviceMissingUserAgent: Rule = {
  code: 'device_missing_user_agent',
  family: 'client',
  weights: { default: 0.3 },
  hint: 'the client sent no user agent',
  quietedBy: 'the field is absent',
  evaluate: ({ userAgent }) => (userAgent !== null && userAgent.trim() === '' ? hit('user agent is empty') : null),
};
