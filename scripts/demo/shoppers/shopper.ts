import { crowdOn, dayOf, type CrowdSize, type Person } from '../people.ts';
import { momentLocal, type Day, type Persona, type PlannedSession } from '../plan.ts';
import type { Random } from '../../traffic/random.ts';

/** Creates a persona of honest people. None of them may be challenged; a challenge is a false positive. */
export function shopper(
  id: string,
  title: string,
  plan: (day: Day, random: Random) => readonly PlannedSession[],
): Persona {
  const expectation = { kind: 'let_through' } as const;
  return { id, title, kind: 'shopper', history: null, expectation, plan: (day) => plan(day, dayOf(id, day)) };
}

export interface Crowd extends CrowdSize {
  readonly make: (random: Random, i: number) => Person;
  /** Probability of returning on a later day, default 0.7. */
  readonly returns?: number;
}

export interface Visitor {
  readonly person: Person;
  /** Whether the person joined on this day, other than the first day of the demo. */
  readonly isNewcomer: boolean;
}

/** Returns the visitors of a day: everyone who joined on it, and most of those who joined before. */
export function visitorsOn(day: Day, id: string, crowd: Crowd, random: Random): readonly Visitor[] {
  const { first, joining = 0, returns = 0.7, make } = crowd;
  const known = day.number === 0 ? first : first + joining * (day.number - 1);
  return crowdOn(day, id, crowd, make)
    .map((person, i): Visitor => ({ person, isNewcomer: i >= known }))
    .filter(({ isNewcomer }) => isNewcomer || day.number === 0 || random.chance(returns));
}

/** Draws a time between two hours of the person's local day. */
export function between(day: Day, person: Person, from: number, to: number, random: Random): number {
  return momentLocal(day, person, random.between(from * 3_600, to * 3_600));
}

/** Draws a time between 7:00 and 22:00 of the person's local day. */
export function awake(day: Day, person: Person, random: Random): number {
  return between(day, person, 7, 22, random);
}
