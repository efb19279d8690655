import { ATTACKERS } from './attackers.ts';
import { EVERYDAY } from './browsers.ts';
import { makePerson } from './people.ts';
import { PLACES } from './places.ts';
import { momentAwake, shoppingSteps, visit, type Persona } from './plan.ts';
import { seeded } from './random.ts';
import { dayOf, SHOPPERS } from './shoppers.ts';

/** A shop that forgot to send the token. Its people are honest, so they are never blocked, and always asked. */
const BROKEN: Persona = {
  id: 'no_session_token',
  title: 'Integration without session token',
  kind: 'integration',
  history: null,
  plan(day) {
    const people = seeded('no_session_token');
    const random = dayOf('no_session_token', day);
    return Array.from({ length: 10 }, () => {
      const person = makePerson(people.pick(PLACES), people.pick(EVERYDAY), people);
      return visit(person, momentAwake(day, person, random), shoppingSteps(random), random, { token: 'none' });
    });
  },
};

/** Everyone who plays, in the order of the table that is printed. */
export const PERSONAS: readonly Persona[] = [...SHOPPERS, ...ATTACKERS, BROKEN];
