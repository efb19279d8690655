import type { Device, Person } from './people.ts';

/** What a day consists of, before anything is sent. */
export interface Day {
  /** 0 for the first. */
  readonly number: number;
  /** Midnight UTC, Unix seconds. */
  readonly startSeconds: number;
}

export type EventType = 'search' | 'login' | 'signup' | 'checkout' | 'payment';

/** The body of POST /v1/decide, as far as the demo fills it. */
export interface DecideBody {
  readonly event_type: EventType;
  readonly ip: string;
  readonly user_agent: string;
  readonly url?: string;
  readonly referrer?: string;
  readonly session_token?: string;
  readonly entity_keys?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PlannedEvent {
  readonly atSeconds: number;
  readonly body: DecideBody;
  /** Comes before the threshold of the rule that is to stop its persona; such events are reported apart, never left out. */
  readonly early?: boolean;
}

/** Events of one session, oldest first. */
export interface PlannedSession {
  readonly events: readonly PlannedEvent[];
}

/** What the rules are to make of a persona. The demo's tests hold it, and the report prints it. */
export type Expectation =
  /** No event of it is challenged. */
  | { readonly kind: 'let_through' }
  /** Its sessions are stopped: each has an event with a challenge or more. */
  | { readonly kind: 'caught'; readonly measure: 'sessions' }
  /** Its events are stopped, from the one that `from` names on. */
  | { readonly kind: 'caught'; readonly measure: 'events'; readonly from: string }
  /** Rules that see one customer alone cannot tell it from shoppers. */
  | { readonly kind: 'not_caught'; readonly why: string }
  /** Every event is asked for more, and none is blocked. */
  | { readonly kind: 'asked' };

/** One kind of sender. A new one needs an entry in the tables of shoppers.ts or attackers.ts and nothing else. */
export interface Persona {
  readonly id: string;
  readonly title: string;
  readonly kind: 'shopper' | 'attacker' | 'integration';
  /** What must be remembered to recognise it; null where each of its requests shows it. */
  readonly history: string | null;
  readonly expectation: Expectation;
  /** The sessions of one day. The same day gives the same sessions; people keep their devices from day to day. */
  plan(day: Day): readonly PlannedSession[];
}

/** One step of a visit: which page, from where, how long after the step before. */
export interface Step {
  readonly type: EventType;
  readonly path: string;
  /** A path of the shop, an address elsewhere, or null for none. */
  readonly from: string | null;
  readonly afterSeconds: number;
  /** The address from this step on; unless told, that of the step before. */
  readonly ip?: string;
  /** Whose account it is about, where that is not the visitor's own. */
  readonly who?: Person;
  /** Which browser sends it, where that is not the one that the token was made in. */
  readonly device?: Device;
  readonly early?: boolean;
}

const DAY_SECONDS = 86_400;
/** Choice: no visit is longer, so that all of a day's events lie in the day. */
const VISIT_SECONDS_MAX = 3_600;

/** A moment by the hours of the day, in UTC. */
export function momentAt(day: Day, hour: number, seconds = 0): number {
  return day.startSeconds + Math.round(hour * 3_600) + seconds;
}

/** `seconds` of the day where the person lives, as the moment of that UTC day at which their clock shows it. */
export function momentLocal(day: Day, { place }: Person, seconds: number): number {
  const utc = (seconds - place.utcHours * 3_600 + DAY_SECONDS) % DAY_SECONDS;
  return day.startSeconds + Math.min(utc, DAY_SECONDS - VISIT_SECONDS_MAX);
}
