import { REGISTRY_HALF_LIFE_SECONDS, REGISTRY_HALF_LIFE_START_SECONDS } from '../../kernel/limits.ts';

/**
 * Returns a registry entry's risk at `nowSeconds`: the stored value for 7 days after it was last seen, from then on halving every 14 days.
 * A `lastSeenSeconds` ahead of the clock counts as now. Source: contract, 8.3.
 */
export function registryRiskAt(risk: number, lastSeenSeconds: number, nowSeconds: number): number {
  const beyond = nowSeconds - lastSeenSeconds - REGISTRY_HALF_LIFE_START_SECONDS;
  return beyond <= 0 ? risk : risk * 2 ** (-beyond / REGISTRY_HALF_LIFE_SECONDS);
}
