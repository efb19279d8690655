import type { Device } from '../traffic/devices.ts';
import type { Person } from './people.ts';

/** A day of the plan; nothing is sent yet. */
export interface Day {
  /** 0 for the first day. */
  readonly number: number;
  /** Midnight UTC, Unix seconds. */
  readonly startSeconds: number;
}

export type EventType = 'search' | 'login' | 'signup' | 'checkout' | 'payment';

/** Body of POST /v1/decide, limited to the fields that the demo uses. */
export interface DecideBody {
  readonly event_type: EventType;
  readonly ip: string;
  readonly user_agent: string;
  readonly url?: string;
  readonly referrer?: string;
  readonly session_token?: string;
  readonly entity_keys?: Readonly<Record<string, string>>;
  readonly attributes?: Readonly<Record<string, number | string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PlannedEvent {
  readonly atSeconds: number;
  readonly body: DecideBody;
  /**
   * Whether the event comes before the threshold of the rule that must stop its persona. Such events are reported separately and never
   * omitted.
   */
  readonly early?: boolean;
}

/** Events of one session, oldest first. */
export interface PlannedSession {
  readonly events: readonly PlannedEvent[];
}

/** Expected decisions for a persona. The demo's tests check it, and the report prints it. */
export type Expectation =
  /** No event is challenged. */
  | { readonly kind: 'let_through' }
  /** Its sessions are stopped: each has at least one event with a challenge or worse. */
  | { readonly kind: 'caught'; readonly measure: 'sessions' }
  /** Its events are stopped, starting with the one named by `from`. */
  | { readonly kind: 'caught'; readonly measure: 'events'; readonly from: string }
  /** Rules that see only one customer cannot distinguish it from shoppers. */
  | { readonly kind: 'not_caught'; readonly why: string }
  /** Every event is challenged, and none is blocked. */
  | { readonly kind: 'asked' };

/** One kind of sender. A new one needs only an entry in the tables of shoppers.ts or attackers.ts. */
export interface Persona {
  readonly id: string;
  readonly title: string;
  readonly kind: 'shopper' | 'attacker' | 'integration';
  /** What must be remembered to recognise it; null when each single request reveals it. */
  readonly history: string | null;
  readonly expectation: Expectation;
  /** Returns the sessions of one day. The same day always gives the same sessions; people keep their devices from day to day. */
  plan(day: Day): readonly PlannedSession[];
}

/** One step of a visit: the page, the referring page, and the delay after the previous step. */
export interface Step {
  readonly type: EventType;
  readonly path: string;
  /** A path of the shop, an external address, or null for no referrer. */
  readonly from: string | null;
  readonly afterSeconds: number;
  /** Address from this step on; default: the address of the previous step. */
  readonly ip?: string;
  /** Account used in this step, when it is not the visitor's own. */
  readonly who?: Person;
  /** Browser that sends the step, when it is not the one that created the token. */
  readonly device?: Device;
  readonly early?: boolean;
}

const DAY_SECONDS = 86_400;
/** Choice: no visit is longer, so that all events of a day are within the day. */
const VISIT_SECONDS_MAX = 3_600;

/** Returns the time at an hour of the day, UTC. */
export function momentAt(day: Day, hour: number, seconds = 0): number {
  return day.startSeconds + Math.round(hour * 3_600) + seconds;
}

/** Converts seconds of the person's local day into the time of the given UTC day at which the local clock shows them. */
export function momentLocal(day: Day, { place }: Person, seconds: number): number {
  const utc = (seconds - place.utcHours * 3_600 + DAY_SECONDS) % DAY_SECONDS;
  return day.startSeconds + Math.min(utc, DAY_SECONDS - VISIT_SECONDS_MAX);
}
