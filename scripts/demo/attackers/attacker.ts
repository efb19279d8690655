import { EVERYDAY } from '../browsers.ts';
import { dayOf, makePerson, type Person } from '../people.ts';
import type { Place } from '../places.ts';
import type { Day, Expectation, Persona, PlannedSession, Step } from '../plan.ts';
import type { Random } from '../../traffic/random.ts';

/** An attacker that must be stopped. Each hides its traces exactly as far as its title says. */

interface Description {
  readonly id: string;
  readonly title: string;
  /** What must be remembered to recognise it; null when each single request reveals it. */
  readonly history?: string | null;
  /** Default: caught, measured by sessions. */
  readonly expectation?: Expectation;
  /** Days of the attack, from 0; default: every day. */
  readonly days?: readonly number[];
  readonly plan: (day: Day, random: Random) => readonly PlannedSession[];
}

export function attacker({ id, title, history = null, expectation, days, plan }: Description): Persona {
  return {
    id,
    title,
    kind: 'attacker',
    history,
    expectation: expectation ?? { kind: 'caught', measure: 'sessions' },
    plan: (day) => (days?.includes(day.number) === false ? [] : plan(day, dayOf(id, day))),
  };
}

/** Expects that its events are stopped, starting with the one named by `from`. */
export function eventsFrom(from: string): Expectation {
  return { kind: 'caught', measure: 'events', from };
}

export const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

/** Marks the first `count` steps as coming before the threshold. */
export function earlyUntil(count: number, steps: readonly Step[]): Step[] {
  return steps.map((step, i) => (i < count ? { ...step, early: true } : step));
}

/** A generated person whose browser is only a user agent string sent by a program. */
export function mask(place: Place, ip: string, random: Random): Person {
  return makePerson(place, random.pick(EVERYDAY), random, ip);
}
