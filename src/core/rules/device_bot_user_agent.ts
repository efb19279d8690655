import { hit, type Rule } from '../rule.ts';

/**
 * Fires when the user agent is that of a known crawler or bot, or has the form of one. Quiet for AI agents and HTTP libraries,
 * which have rules of their own, unless the text names another crawler besides; quiet for the stacks of mobile apps (okhttp,
 * CFNetwork, Dart) and for phones that are only called like a bot. Source of the weight: the default rules.
 */
export const deviceBotUserAgent: Rule = {
  code: 'device_bot_user_agent',
  family: 'client',
  weights: { default: 0.62 },
  hint: 'the user agent is that of a crawler or bot',
  evaluate: ({ agent }) => (agent !== null && agent.bot !== null ? hit(agent.bot) : null),
};
