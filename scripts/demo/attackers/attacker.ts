import { EVERYDAY } from '../browsers.ts';
import { dayOf, makePerson, type Person } from '../people.ts';
import type { Place } from '../places.ts';
import type { Day, Expectation, Persona, PlannedSession, Step } from '../plan.ts';
import type { Random } from '../random.ts';

/** Whoever must not get through. Each is as careful as its title says, and no more careless than that. */

interface Description {
  readonly id: string;
  readonly title: string;
  /** What must be remembered to recognise it; null where each of its requests shows it. */
  readonly history?: string | null;
  /** Caught by sessions unless told. */
  readonly expectation?: Expectation;
  /** The days on which it strikes, from 0; every day unless told. */
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

/** Its events are to be stopped from the one on that `from` names. */
export function eventsFrom(from: string): Expectation {
  return { kind: 'caught', measure: 'events', from };
}

export const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

/** The steps, of which the first `count` come before a threshold. */
export function earlyUntil(count: number, steps: readonly Step[]): Step[] {
  return steps.map((step, i) => (i < count ? { ...step, early: true } : step));
}

/** A made-up person whose browser is only a text that a program sends. */
export function mask(place: Place, ip: string, random: Random): Person {
  return makePerson(place, random.pick(EVERYDAY), random, ip);
}
