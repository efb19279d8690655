import {
  ANDROIDS,
  CHROMIUM_DESKTOPS,
  EVERYDAY,
  HIDING_FIREFOX,
  IPAD_AS_MAC,
  IPHONES,
  OTHER_DESKTOPS,
  WEB_VIEWS,
} from '../browsers.ts';
import type { Make } from '../../traffic/devices.ts';
import { inTimeZone, makePerson, type CrowdSize, type Person } from '../people.ts';
import { GERMANY, PLACES } from '../places.ts';
import type { Persona } from '../plan.ts';
import type { Random } from '../../traffic/random.ts';
import { shoppingSteps, visit, type Shopping, type VisitOptions } from '../visit.ts';
import { awake, shopper, visitorsOn } from './shopper.ts';

/** People at home who differ in their browsers. */

interface Habits {
  readonly make: (random: Random) => Person;
  readonly visit?: VisitOptions;
  readonly shopping?: (random: Random) => Shopping;
}

function everyday(id: string, title: string, size: CrowdSize, { make, visit: options, shopping }: Habits): Persona {
  return shopper(id, title, (day, random) =>
    visitorsOn(day, id, { ...size, make }, random).map(({ person, isNewcomer }) => {
      const habits = { account: isNewcomer ? 'signup' : 'login', ...shopping?.(random) } as const;
      return visit(person, awake(day, person, random), shoppingSteps(random, habits), random, options);
    }),
  );
}

const anywhere =
  (browsers: readonly Make[]): Habits['make'] =>
  (random) =>
    makePerson(random.pick(PLACES), random.pick(browsers), random);

/** A person with an address of an e-mail forwarding service. */
const hidden = (make: Make, domain: string, timeZone?: string): Habits['make'] => {
  return (random) => {
    const person = makePerson(GERMANY, make, random);
    const device = timeZone === undefined ? person.device : inTimeZone(person.device, timeZone);
    return { ...person, device, email: `${random.hex(10)}@${domain}` };
  };
};

export const EVERYDAY_SHOPPERS: readonly Persona[] = [
  everyday(
    'shopper_chromium',
    'Chrome and Edge, desktop',
    { first: 30, joining: 5 },
    { make: anywhere(CHROMIUM_DESKTOPS) },
  ),
  everyday(
    'shopper_desktop',
    'Firefox and Safari, desktop',
    { first: 20, joining: 3 },
    { make: anywhere(OTHER_DESKTOPS) },
  ),
  everyday('shopper_iphone', 'iPhone', { first: 22, joining: 4 }, { make: anywhere(IPHONES) }),
  everyday('shopper_android', 'Android, Samsung Internet', { first: 22, joining: 4 }, { make: anywhere(ANDROIDS) }),
  everyday(
    'shopper_web_view',
    'In-app web view',
    { first: 14, joining: 3 },
    {
      make: anywhere(WEB_VIEWS),
      shopping: (random) => ({ entrance: random.pick(['https://l.instagram.com/', 'https://m.facebook.com/', null]) }),
    },
  ),
  everyday(
    'shopper_no_collector',
    'Shop without the collector',
    { first: 16, joining: 3 },
    { make: anywhere(EVERYDAY), visit: { token: 'opaque' } },
  ),
  everyday(
    'shopper_app',
    "The shop's own app, iOS",
    { first: 6, joining: 1 },
    {
      make: anywhere(IPHONES),
      visit: {
        token: 'opaque',
        userAgent: 'ShopApp/812 CFNetwork/1568.200.51 Darwin/24.1.0',
        headers: { accept: 'application/json' },
      },
      shopping: () => ({ entrance: null }),
    },
  ),
  everyday(
    'shopper_okhttp',
    "The shop's own app, okhttp",
    { first: 8, joining: 1 },
    {
      make: anywhere(ANDROIDS),
      visit: { token: 'opaque', userAgent: 'okhttp/4.12.0', headers: { accept: 'application/json' } },
      shopping: () => ({ entrance: null }),
    },
  ),
  everyday(
    'shopper_ipad',
    'iPad that calls itself a Mac',
    { first: 8, joining: 1 },
    { make: hidden(IPAD_AS_MAC, 'privaterelay.appleid.com'), shopping: () => ({ entrance: null }) },
  ),
  everyday(
    'shopper_hiding',
    'Firefox that hides, hidden e-mail',
    { first: 8, joining: 1 },
    // Such a Firefox always reports Iceland's time zone.
    { make: hidden(HIDING_FIREFOX, 'mozmail.com', 'Atlantic/Reykjavik'), shopping: () => ({ entrance: null }) },
  ),
];
