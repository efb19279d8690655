import { REGISTRY_HALF_LIFE_SECONDS, REGISTRY_HALF_LIFE_START_SECONDS } from '../limits.ts';

/**
 * A registry entry's risk at `nowSeconds`: as stored for 7 days after it was last seen, from then on halving every 14 days.
 * A `lastSeenSeconds` ahead of the clock counts as now. Source: open points, section 3.
 */
export function registryRiskAt(risk: number, lastSeenSeconds: number, nowSeconds: number): number {
  const beyond = nowSeconds - lastSeenSeconds - REGISTRY_HALF_LIFE_START_SECONDS;
  return beyond <= 0 ? risk : risk * 2 ** (-beyond / REGISTRY_HALF_LIFE_SECONDS);
}
