import type { ContextHistory, Familiarity, HistoryFacts } from '../../history.ts';
import { entityName } from '../rule.ts';

/** Returns whether the account knows the collector's device; without one, whether it knows the user agent. */
export function deviceOf({ device, exactAgent }: ContextHistory): Familiarity {
  return device === 'unknown' ? exactAgent : device;
}

/** Returns which of device, network and location are new to the account. */
export function newPartsOf(context: ContextHistory): string[] {
  const parts: string[] = [];
  if (deviceOf(context) === 'new') parts.push('device');
  if (context.network === 'new') parts.push('network');
  if (context.place === 'new') parts.push('place');
  return parts;
}

/** Returns `email: device, network and place are new to an account of 40 sessions, ratio 2.1 (over 1.5)`. */
export function describeContext(context: ContextHistory, ratioMin: number): string {
  const parts = newPartsOf(context);
  const last = parts.pop() ?? '';
  const what = parts.length === 0 ? last : `${parts.join(', ')} and ${last}`;
  const { sessions, ratio } = context;
  const where = context.country === 'new' ? ', in a country new to it' : '';
  const times = sessions === 1 ? 'session' : 'sessions';
  return `${entityName(context)}: ${what} are new to an account of ${sessions} ${times}${where}, ratio ${ratio.toFixed(1)} (over ${ratioMin})`;
}

/**
 * Returns the factor for the weights of rules whose counts other people can raise, because anybody who knows an account's name can create
 * events for it: 0 if the account knows both the device and the network, 0.5 if it knows one of them, 1 if it knows neither or nothing is
 * known. Without a collector's device the user agent is used, but only together with a known network, because many people share one.
 */
export function ownerScale({ context }: Pick<HistoryFacts, 'context'>): number {
  if (context === null) return 1;
  const isAtHome = context.network === 'known';
  if (isAtHome && deviceOf(context) === 'known') return 0;
  return isAtHome || context.device === 'known' ? OWNER_PART : 1;
}

/** Choice: the context of an account's first login is familiar at once; an attacker who guesses its password does not wait a day. */
const SETTLED_SECONDS = 86_400;

/** Choice: limits the owner's allowance, because an attacker who logged in once on the day before would be familiar as well. */
export const OWNER_TIMES = 2;

/** Returns whether the account has been known for a day and knows this device and network. */
export function isSettledOwner(history: HistoryFacts): boolean {
  return (
    ownerScale(history) === 0 && history.entities.some(({ knownForSeconds: seconds }) => seconds >= SETTLED_SECONDS)
  );
}

/** Source: the default rules: halved. */
const OWNER_PART = 0.5;

export const QUIETED_BY_OWNER = 'half weight, because the account knows the device or network';
