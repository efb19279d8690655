import { hit, type Rule } from './rule.ts';

/**
 * Fires when the user agent is that of a known crawler, bot or attack tool, or calls itself a bot, crawler or spider. Quiet for AI agents
 * and HTTP libraries, which have their own rules, unless the text also names another crawler; for the HTTP stacks of apps and games
 * (okhttp, CFNetwork, UnityPlayer, …); for texts that only have the form of a program (`device_app_stack`); and for phones whose name
 * resembles a bot's. Source of the weight: the default rules.
 */
export const deviceBotUserAgent: Rule = {
  code: 'device_bot_user_agent',
  family: 'client',
  weights: { default: 0.62 },
  hint: 'the user agent is that of a crawler or bot',
  quietedBy: 'AI agents and libraries, HTTP stacks of apps and games, unknown programs, phones with names like bots',
  evaluate: ({ agent }) => (agent !== null && agent.bot !== null ? hit(agent.bot) : null),
};
