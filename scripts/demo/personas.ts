import { ATTACKERS } from './attackers.ts';
import { EVERYDAY } from './browsers.ts';
import { dayOf, makePerson, type Person } from './people.ts';
import { PLACES } from './places.ts';
import type { Persona } from './plan.ts';
import type { Random } from '../traffic/random.ts';
import { SHOPPERS } from './shoppers.ts';
import { awake, visitorsOn } from './shoppers/shopper.ts';
import { shoppingSteps, visit } from './visit.ts';

const anybody = (random: Random): Person => makePerson(random.pick(PLACES), random.pick(EVERYDAY), random);

/** A shop whose integration does not send the session token. Its visitors are honest, so they are always challenged and never blocked. */
const BROKEN: Persona = {
  id: 'no_session_token',
  title: 'Integration without session token',
  kind: 'integration',
  history: null,
  expectation: { kind: 'asked' },
  plan(day) {
    const random = dayOf('no_session_token', day);
    return visitorsOn(day, 'no_session_token', { first: 10, joining: 2, make: anybody }, random).map(({ person }) =>
      visit(person, awake(day, person, random), shoppingSteps(random), random, { token: 'none' }),
    );
  },
};

/** All personas, in the order of the printed table. */
export const PERSONAS: readonly Persona[] = [...SHOPPERS, ...ATTACKERS, BROKEN];
