import { hit, type Rule } from './rule.ts';

/**
 * Fires when the user agent is that of a known crawler or bot, or has the form of one. Quiet for AI agents and HTTP libraries, which have
 * their own rules, unless the text also names another crawler; quiet for the HTTP stacks of mobile apps (okhttp, CFNetwork, Dart) and for
 * phones whose name only resembles a bot's. Source of the weight: the default rules.
 */
export const deviceBotUserAgent: Rule = {
  code: 'device_bot_user_agent',
  family: 'client',
  weights: { default: 0.62 },
  hint: 'the user agent is that of a crawler or bot',
  quietedBy: 'AI agents and libraries, HTTP stacks of mobile apps, phones with names like bots',
  evaluate: ({ agent }) => (agent !== null && agent.bot !== null ? hit(agent.bot) : null),
};
