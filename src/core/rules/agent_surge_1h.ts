import { isReturnedTo } from '../crowds.ts';
import { hit, withThresholds } from '../rule.ts';

/** Source: the default rules: on the first day no share is usual. */
const DAY_SECONDS = 86_400;

/**
 * Fires on a login of an account never seen and on a sign-up, when strangers with the same agent and language, to the last character, came
 * from 10 or more networks in 1 h, and that agent has over 8 times its usual share among them: one tool behind many addresses.
 *
 * What is usual is the agent's share among people who are known, so no attack makes itself usual, and a new version of a browser becomes
 * so as people get it. Quiet in a customer's first day, while known people have fewer than some 50 logins a day, and at an address where
 * over a tenth of logins are theirs.
 * Source of numbers and weight: the default rules.
 */
export const agentSurge1h = withThresholds({
  code: 'agent_surge_1h',
  family: 'population',
  weights: { default: 0.4 },
  thresholds: { networks: 10, timesUsual: 8, strangerShare: 0.9 },
  hint: 'many strangers on many networks have the very same browser',
  evaluate({ eventType, history }, _policy, { networks, timesUsual, strangerShare }) {
    const crowd = history?.crowd ?? null;
    const agent = crowd?.agent ?? null;
    if (crowd === null || agent === null || isReturnedTo(crowd, strangerShare)) return null;
    if ((eventType !== 'login' && eventType !== 'signup') || crowd.customerAgeSeconds < DAY_SECONDS) return null;
    if (!(agent.networks1h >= networks) || !(agent.share > timesUsual * agent.usualShare)) return null;
    return hit(
      `strangers with this very agent on ${agent.networks1h} networks in 1 h (${networks} or more), ${percent(agent.share)} of them; usually ${percent(agent.usualShare)}`,
    );
  },
});

function percent(share: number): string {
  const value = share * 100;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} %`;
}
