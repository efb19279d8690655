import type { ContextHistory, Familiarity, HistoryFacts } from './history.ts';
import { entityName } from './rule.ts';

/** Whether the account knows the collector's device; where there is none the user agent stands for it. */
export function deviceOf({ device, exactAgent }: ContextHistory): Familiarity {
  return device === 'unknown' ? exactAgent : device;
}

/** Which of device, network and place are new to the account. */
export function newPartsOf(context: ContextHistory): string[] {
  const parts: string[] = [];
  if (deviceOf(context) === 'new') parts.push('device');
  if (context.network === 'new') parts.push('network');
  if (context.place === 'new') parts.push('place');
  return parts;
}

/** `email: device, network and place are new to an account of 40 sessions, ratio 2.1 (over 1.5)`. */
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
 * What weights of rules that strangers can drive are multiplied by: whoever knows an account's name can make events in it. 0 on a device
 * and a network that the account knows, a half on one of them, 1 on neither and where nothing is known. A user agent, which many
 * have, stands for the device beside a known network only.
 */
export function ownerScale({ context }: Pick<HistoryFacts, 'context'>): number {
  if (context === null) return 1;
  const isAtHome = context.network === 'known';
  if (isAtHome && deviceOf(context) === 'known') return 0;
  return isAtHome || context.device === 'known' ? OWNER_PART : 1;
}

/** Choice: what logs in first is what an account knows; who guesses its password does not wait that long. */
const SETTLED_SECONDS = 86_400;

/** Choice: who comes once a day before guessing would be known as well, so the owner's allowance ends somewhere. */
export const OWNER_TIMES = 2;

/** The account is known for a day, and this is a device and a network that it knows. */
export function isSettledOwner(history: HistoryFacts): boolean {
  return (
    ownerScale(history) === 0 && history.entities.some(({ knownForSeconds: seconds }) => seconds >= SETTLED_SECONDS)
  );
}

/** Source: the default rules: halved. */
const OWNER_PART = 0.5;

export const QUIETED_BY_OWNER = 'half, on what the account knows';
