import { CHROMIUM_DESKTOPS, EVERYDAY } from '../browsers.ts';
import { makePerson, type Person } from '../people.ts';
import { GERMANY, PLACES } from '../places.ts';
import { momentAt, type Day, type Persona, type Step } from '../plan.ts';
import { Random } from '../../traffic/random.ts';
import { only, visit } from '../visit.ts';
import { awake, shopper, visitorsOn } from './shopper.ts';

/** People who pay after few or unusual steps. */

const anywhere = (random: Random): Person => makePerson(random.pick(PLACES), random.pick(EVERYDAY), random);

const MAIL_LINK = shopper('shopper_mail_link', 'Straight to checkout from an e-mail', (day, random) =>
  visitorsOn(day, 'shopper_mail_link', { first: 10, joining: 5, make: anywhere }, random).map(({ person }) => {
    const checkout: Step = { type: 'checkout', path: '/checkout?basket=kept', from: null, afterSeconds: 0 };
    const payment: Step = {
      type: 'payment',
      path: '/checkout/payment',
      from: '/checkout',
      afterSeconds: random.between(40, 200),
    };
    return visit(person, awake(day, person, random), [checkout, payment], random);
  }),
);

/** The shop requests decisions only for payments, so each session is one payment. */
const PAYMENT_ONLY = shopper('shopper_payment_only', 'Shop that only calls for payments', (day, random) =>
  visitorsOn(day, 'shopper_payment_only', { first: 40, joining: 25, returns: 0.3, make: anywhere }, random).map(
    ({ person }) =>
      visit(person, awake(day, person, random), only('payment', '/checkout/payment'), random, { token: 'opaque' }),
  ),
);

/** Four presents, each paid separately, within the hour. */
const GIFTS = shopper('shopper_gifts', 'Gift buyer, four payments an hour', (day, random) =>
  visitorsOn(day, 'shopper_gifts', { first: 6, joining: 2, returns: 0.5, make: anywhere }, random).map(({ person }) => {
    const present = (i: number): Step[] => [
      {
        type: 'search',
        path: `/search?q=present&page=${i + 1}`,
        from: '/',
        afterSeconds: i === 0 ? 0 : random.between(120, 400),
      },
      { type: 'checkout', path: '/checkout', from: '/basket', afterSeconds: random.between(60, 200) },
      { type: 'payment', path: '/checkout/payment', from: '/checkout', afterSeconds: random.between(30, 120) },
    ];
    return visit(person, awake(day, person, random), Array.from({ length: 4 }, (_, i) => present(i)).flat(), random);
  }),
);

/** People whose accounts thieves will use, eight per day. */
function accountOwners(): readonly Person[] {
  return Array.from({ length: 24 }, (_, i) => {
    const random = new Random(`account owner ${i}`);
    return makePerson(GERMANY, random.pick(CHROMIUM_DESKTOPS), random);
  });
}

/** Owners whose accounts are used by thieves on that day. */
export function victimsOn({ number }: Day): readonly Person[] {
  return accountOwners().slice(number * 8, number * 8 + 8);
}

const OWNERS = shopper('shopper_account_owner', 'Account owners, at home', (day, random) =>
  accountOwners().map((person, i) => {
    const login: Step = { type: 'login', path: '/login', from: '/', afterSeconds: 0 };
    const look: Step = {
      type: 'search',
      path: '/search?q=gift',
      from: '/account',
      afterSeconds: random.between(20, 60),
    };
    return visit(person, momentAt(day, 7, i * 120 + random.between(0, 60)), [login, look], random);
  }),
);

export const PAYING_SHOPPERS: readonly Persona[] = [MAIL_LINK, PAYMENT_ONLY, GIFTS, OWNERS];
