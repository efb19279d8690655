import { crowdOn, dayOf, type CrowdSize, type Person } from '../people.ts';
import { momentLocal, type Day, type Persona, type PlannedSession } from '../plan.ts';
import type { Random } from '../random.ts';

/** Honest people of one kind. Each of them must get through; whoever is challenged is a false alarm. */
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
  /** Probability of coming again on a later day; .7 unless told. */
  readonly returns?: number;
}

export interface Visitor {
  readonly person: Person;
  /** Joined today, and the demo goes on since yesterday. */
  readonly isNewcomer: boolean;
}

/** Who comes that day: all who are new, and most of those who were there before. */
export function visitorsOn(day: Day, id: string, crowd: Crowd, random: Random): readonly Visitor[] {
  const { first, joining = 0, returns = 0.7, make } = crowd;
  const known = day.number === 0 ? first : first + joining * (day.number - 1);
  return crowdOn(day, id, crowd, make)
    .map((person, i): Visitor => ({ person, isNewcomer: i >= known }))
    .filter(({ isNewcomer }) => isNewcomer || day.number === 0 || random.chance(returns));
}

/** A moment between two hours where the person lives. */
export function between(day: Day, person: Person, from: number, to: number, random: Random): number {
  return momentLocal(day, person, random.whole(from * 3_600, to * 3_600));
}

/** A moment between 7 in the morning and 10 at night where the person lives. */
export function awake(day: Day, person: Person, random: Random): number {
  return between(day, person, 7, 22, random);
}
