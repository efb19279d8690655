import { isReturnedTo } from '../crowds.ts';
import { hit, withThresholds } from './rule.ts';

/** Source: the default rules: on the first day no share is usual. */
const DAY_SECONDS = 86_400;

/**
 * Fires on a login of a new account and on a sign-up, when unknown accounts with exactly the same agent and language came from 10 or more
 * networks in 1 h, and the agent's share among unknown accounts is over 8 times its usual share: one tool behind many addresses.
 *
 * The usual share is the agent's share among known accounts, so an attack cannot make itself usual, and a new version of a browser becomes
 * usual as people update. Quiet in a customer's first day, while known accounts have fewer than about 50 logins a day, and at an address
 * where over a tenth of the accounts return.
 * Source of numbers and weight: the default rules.
 */
export const agentSurge1h = withThresholds({
  code: 'agent_surge_1h',
  family: 'population',
  weights: { default: 0.4 },
  thresholds: { networks: 10, timesUsual: 8, strangerShare: 0.9 },
  hint: 'many unknown accounts on many networks have exactly the same browser',
  quietedBy:
    "the customer's first day; under about 50 logins of known people a day; the agent is a usual one; an address where over a tenth of the accounts return",
  evaluate({ eventType, history }, _policy, { networks, timesUsual, strangerShare }) {
    const crowd = history?.crowd ?? null;
    const agent = crowd?.agent ?? null;
    if (crowd === null || agent === null || isReturnedTo(crowd, strangerShare)) return null;
    if ((eventType !== 'login' && eventType !== 'signup') || crowd.customerAgeSeconds < DAY_SECONDS) return null;
    if (!(agent.networks1h >= networks) || !(agent.share > timesUsual * agent.usualShare)) return null;
    return hit(
      `unknown identities with exactly this agent on ${agent.networks1h} networks in 1 h (${networks} or more), ${percent(agent.share)} of them; usually ${percent(agent.usualShare)}`,
    );
  },
});

function percent(share: number): string {
  const value = share * 100;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} %`;
}
