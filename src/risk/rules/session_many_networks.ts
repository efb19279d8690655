import { hit, withThresholds } from './rule.ts';

/**
 * Fires when one session was seen on over 3 networks (/16, /32) in 1 h: a token that is passed around, or rotating proxies. Networks of
 * this size keep a moving phone quiet, because its carrier has few of them.
 * Source of number and weight: the default rules.
 */
export const sessionManyNetworks = withThresholds({
  code: 'session_many_networks',
  family: 'movement',
  weights: { default: 0.62 },
  thresholds: { networks: 3 },
  hint: 'one session is used from many networks',
  quietedBy: "networks of one carrier's range",
  evaluate({ history }, _policy, { networks }) {
    if (history === null || !(history.session.regions1h > networks)) return null;
    return hit(`${history.session.regions1h} networks in 1 h (over ${networks})`);
  },
});
