import { SLOW_MS } from '../../crowds.ts';
import type { HistoryFacts, SurgeHistory } from '../../history.ts';

/** Returns how far a number is above the usual one, in standard deviations of the latter. Source: the default rules. */
export function deviationsAbove(count: number, usual: number): number {
  return (count - usual) / Math.sqrt(usual + 1);
}

export function surgeScore({ networks10m, usual }: SurgeHistory): number {
  return deviationsAbove(networks10m, usual);
}

/**
 * Returns whether no entity is known to the customer: each is seen for the first time, or on a network and an agent that are both new to
 * it.
 */
export function isUnknownActor({ entities }: HistoryFacts): boolean {
  return entities.every((one) => one.isNew || (one.networkIsNew && one.agentIsNew));
}

/** Returns `failed logins on 9 networks in 10 min (6 or more; usually 0.4), 71 % of all`. */
export function describeSurge({ networks10m, usual, badShare10m }: SurgeHistory, what: string, from: number): string {
  const share = Math.round(badShare10m * 100);
  return `${what} on ${networks10m} networks in 10 min (${from} or more; usually ${usual.toFixed(1)}), ${share} % of all`;
}

const BY_HAND_SCALE = 0.4;

interface SurgeThresholds {
  readonly networks: number;
  readonly deviations: number;
}

/**
 * Returns the factor for the weights of rules about crowds of unknown accounts: 0.4 in a session that began over 20 s ago, because a person
 * reads a page or fills in a form, else 1. Waiting costs a program nothing, so this ends where most of the surge are such sessions and they
 * alone are one.
 */
export function scaleByPace({ session, crowd }: HistoryFacts, { networks, deviations }: SurgeThresholds): number {
  if (!(session.ageMs > SLOW_MS)) return 1;
  const surge = crowd?.surge ?? null;
  if (surge === null) return BY_HAND_SCALE;
  const { slowNetworks, usual } = surge;
  const isMost = 2 * slowNetworks > surge.networks;
  return isMost && slowNetworks >= networks && deviationsAbove(slowNetworks, usual) > deviations ? 1 : BY_HAND_SCALE;
}

export function describePace({ session }: HistoryFacts): string {
  return `its session began ${Math.round(session.ageMs / 1_000)} s before`;
}
