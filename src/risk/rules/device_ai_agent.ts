import { hit, type Rule } from './rule.ts';

/**
 * Fires when the user agent names a known AI crawler or assistant (GPTBot, ClaudeBot, PerplexityBot, …). It weighs less than other bots,
 * since assistants increasingly shop for people. Source of the weight: the default rules.
 */
export const deviceAiAgent: Rule = {
  code: 'device_ai_agent',
  family: 'client',
  weights: { default: 0.25 },
  hint: 'the user agent is that of an AI crawler or assistant',
  quietedBy: '',
  evaluate: ({ agent }) => (agent !== null && agent.aiAgent !== null ? hit(agent.aiAgent) : null),
};
