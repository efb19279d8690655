import type { HistoryFacts, SurgeHistory } from './history.ts';

/** How far a number lies above what is usual, in deviations of the latter. Source: the default rules. */
export function deviationsAbove(count: number, usual: number): number {
  return (count - usual) / Math.sqrt(usual + 1);
}

export function surgeScore({ networks10m, usual }: SurgeHistory): number {
  return deviationsAbove(networks10m, usual);
}

/** Nobody whom the customer knows: each entity is seen for the first time, or on a network and an agent that are both new to it. */
export function isUnknownActor({ entities }: HistoryFacts): boolean {
  return entities.every((one) => one.isNew || (one.networkIsNew && one.agentIsNew));
}

/** `failed logins on 9 networks in 10 min (6 or more; usually 0.4), 71 % of all`. */
export function describeSurge({ networks10m, usual, badShare10m }: SurgeHistory, what: string, from: number): string {
  const share = Math.round(badShare10m * 100);
  return `${what} on ${networks10m} networks in 10 min (${from} or more; usually ${usual.toFixed(1)}), ${share} % of all`;
}
