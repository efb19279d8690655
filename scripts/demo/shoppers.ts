import {
  ANDROIDS,
  CHROMIUM_DESKTOPS,
  EVERYDAY,
  HIDING_FIREFOX,
  IPAD_AS_MAC,
  IPHONES,
  OTHER_DESKTOPS,
  WEB_VIEWS,
  type Browser,
} from './browsers.ts';
import { makeEmail, makePerson, type Person } from './people.ts';
import { AMERICA, GERMANY, PLACES } from './places.ts';
import { momentAt, momentAwake, shoppingSteps, visit, type Day, type Persona, type VisitOptions } from './plan.ts';
import { seeded, type Random } from './random.ts';

/** Honest people. Each of them must get through; whoever is challenged here is a false alarm. */

type Crowd = (random: Random) => readonly Person[];

/** A shopper persona: the same people every day, each with one visit a day unless told. */
function shoppers(
  id: string,
  title: string,
  crowd: Crowd,
  options: (person: Person, random: Random) => VisitOptions & { entrance?: string | null } = () => ({}),
): Persona {
  return {
    id,
    title,
    kind: 'shopper',
    history: null,
    plan(day) {
      const people = crowd(seeded(id));
      const random = dayOf(id, day);
      return people.map((person) => {
        const { entrance, ...visitOptions } = options(person, random);
        const steps = entrance === undefined ? shoppingSteps(random) : shoppingSteps(random, entrance);
        return visit(person, momentAwake(day, person, random), steps, random, visitOptions);
      });
    },
  };
}

export function dayOf(id: string, day: Day): Random {
  return seeded(`${id}, day ${day.number}`);
}

const anywhere =
  (browsers: readonly Browser[], count: number): Crowd =>
  (random) =>
    Array.from({ length: count }, () => makePerson(random.pick(PLACES), random.pick(browsers), random));

/** People behind one address. Each has come back `visits` times that day. */
const together =
  (ip: string, people: number, visits: number, place = GERMANY, browsers = EVERYDAY): Crowd =>
  (random) => {
    const crowd = Array.from({ length: people }, () => makePerson(place, random.pick(browsers), random, ip));
    return Array.from({ length: visits }, (_, i) => crowd[i % people] ?? random.pick(crowd));
  };

/** People whose accounts thieves use later that day: an early visit at home. */
export function accountOwners(): readonly Person[] {
  const random = seeded('account owners');
  return Array.from({ length: 8 }, () => makePerson(GERMANY, random.pick(CHROMIUM_DESKTOPS), random));
}

const OWNERS: Persona = {
  id: 'shopper_account_owner',
  title: 'Account owners, before the theft',
  kind: 'shopper',
  history: null,
  plan(day) {
    const random = dayOf('shopper_account_owner', day);
    return accountOwners().map((person, i) => {
      const login = { type: 'login', path: '/login', from: '/', afterSeconds: 0 } as const;
      const look = { type: 'search', path: '/search?q=gift', from: '/account', afterSeconds: 45 } as const;
      return visit(person, momentAt(day, 7, i * 240 + random.whole(0, 200)), [login, look], random);
    });
  },
};

const APPS = ['ShopApp/5.2 (Android 15) okhttp/4.12.0', 'ShopApp/812 CFNetwork/1568.200.51 Darwin/24.1.0'];

export const SHOPPERS: readonly Persona[] = [
  shoppers('shopper_chromium', 'Chrome and Edge, desktop', anywhere(CHROMIUM_DESKTOPS, 24)),
  shoppers('shopper_desktop', 'Firefox and Safari, desktop', anywhere(OTHER_DESKTOPS, 16)),
  shoppers('shopper_iphone', 'iPhone', anywhere(IPHONES, 18)),
  shoppers('shopper_android', 'Android, Samsung Internet', anywhere(ANDROIDS, 18)),
  shoppers('shopper_web_view', 'In-app web view', anywhere(WEB_VIEWS, 10), (_, random) => ({
    entrance: random.pick(['https://l.instagram.com/', 'https://m.facebook.com/', null]),
  })),
  shoppers('shopper_household', 'Household, one address', together('93.192.14.31', 4, 8)),
  shoppers('shopper_office', 'Office, one address', together('84.150.77.12', 11, 16)),
  shoppers(
    'shopper_mobile_gateway',
    'Mobile gateway, many users',
    together('172.56.20.30', 20, 22, AMERICA, [...IPHONES, ...ANDROIDS]),
  ),
  shoppers('shopper_no_collector', 'Shop without the collector', anywhere(EVERYDAY, 12), () => ({ token: 'opaque' })),
  shoppers('shopper_app', "The shop's own app", anywhere(ANDROIDS, 6), (_, random) => ({
    token: 'opaque',
    userAgent: random.pick(APPS),
    headers: { accept: 'application/json' },
    entrance: null,
  })),
  shoppers(
    'shopper_private',
    'Hidden e-mail, iPad, hiding Firefox',
    (random) =>
      Array.from({ length: 10 }, (_, i) => {
        const person = makePerson(GERMANY, i % 2 === 0 ? IPAD_AS_MAC : HIDING_FIREFOX, random);
        const hidden = `${random.hex(10)}@${i % 2 === 0 ? 'privaterelay.appleid.com' : 'mozmail.com'}`;
        // Firefox that hides names Iceland's time zone everywhere.
        const timeZone = i % 2 === 0 ? person.device.timeZone : 'Atlantic/Reykjavik';
        return { ...person, email: hidden, device: { ...person.device, timeZone } };
      }),
    () => ({ entrance: null }),
  ),
  {
    id: 'shopper_mail_link',
    title: 'Straight to the till from a mail',
    kind: 'shopper',
    history: null,
    plan(day) {
      const id = 'shopper_mail_link';
      const random = dayOf(id, day);
      return anywhere(
        EVERYDAY,
        8,
      )(seeded(id)).map((person) => {
        const checkout = { type: 'checkout', path: '/checkout?basket=kept', from: null, afterSeconds: 0 } as const;
        const payment = { type: 'payment', path: '/checkout/payment', from: '/checkout', afterSeconds: 95 } as const;
        const email = makeEmail(random.pick(person.place.mailDomains), random);
        return visit(person, momentAwake(day, person, random), [checkout, payment], random, { email });
      });
    },
  },
  OWNERS,
];
