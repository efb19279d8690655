import { ANDROIDS, CHROMIUM_DESKTOPS, EVERYDAY, IPAD_AS_MAC, IPHONES, OTHER_DESKTOPS } from '../browsers.ts';
import { crowdOn, makeDevice, makePerson } from '../people.ts';
import { AMERICA, GERMANY } from '../places.ts';
import { momentLocal, type Day, type Persona, type PlannedSession } from '../plan.ts';
import { Random } from '../../traffic/random.ts';
import { only, shoppingSteps, visit } from '../visit.ts';
import { awake, between, shopper, visitorsOn, type Crowd, type Visitor } from './shopper.ts';

/** People who share an address or a device. */

const HOUSEHOLD_IP = '93.192.14.31';
const TABLET_IP = '95.88.140.77';
const OFFICE_IP = '84.150.77.12';
const SALE_OFFICE_IP = '62.157.32.9';
const GATEWAY_IP = '172.56.135.30';
const UNIVERSITY_IP = '217.91.128.4';
const HOTEL_IP = '88.130.178.20';

const behind = (ip: string, browsers = EVERYDAY, place = GERMANY): Crowd['make'] => {
  return (random) => makePerson(place, random.pick(browsers), random, ip);
};

/** Four people, each with a phone and a computer or a tablet, and some visits per day. */
const HOUSEHOLD = shopper('shopper_household', 'Household, one address', (day, random) => {
  const people = crowdOn(day, 'shopper_household', { first: 4 }, behind(HOUSEHOLD_IP, IPHONES));
  return people.flatMap((person, i) => {
    const second = [CHROMIUM_DESKTOPS[0], OTHER_DESKTOPS[2], IPAD_AS_MAC, CHROMIUM_DESKTOPS[2]][i] ?? IPAD_AS_MAC;
    const devices = [person.device, makeDevice(second, GERMANY, new Random(`${person.userId}, at home`))];
    return Array.from({ length: random.between(1, 3) }, () =>
      visit(person, awake(day, person, random), shoppingSteps(random), random, { device: random.pick(devices) }),
    );
  });
});

/** A tablet on the kitchen table: one device, four accounts. */
const TABLET = shopper('shopper_tablet', 'Family, one tablet', (day, random) => {
  const device = makeDevice(IPAD_AS_MAC, GERMANY, new Random('kitchen table'));
  const people = crowdOn(day, 'shopper_tablet', { first: 4 }, behind(TABLET_IP));
  return people.map((person) => visit(person, awake(day, person, random), shoppingSteps(random), random, { device }));
});

/** Plans a login in the morning, most likely around nine. */
function morningLogin(day: Day, { person }: Visitor, random: Random): PlannedSession {
  const seconds = 8 * 3_600 + random.between(0, 3_600) + random.between(0, 3_600);
  return visit(person, momentLocal(day, person, seconds), only('login', '/login', '/'), random);
}

/** Forty people who log in between 8 and 10, and shop during lunch. */
const OFFICE = shopper('shopper_office', 'Office of 40, one address', (day, random) => {
  const crowd: Crowd = { first: 40, joining: 1, returns: 0.9, make: behind(OFFICE_IP, CHROMIUM_DESKTOPS) };
  return visitorsOn(day, 'shopper_office', crowd, random).flatMap((visitor) => {
    const { person } = visitor;
    const lunch = (): PlannedSession =>
      visit(person, between(day, person, 12, 13, random), shoppingSteps(random), random);
    return [morningLogin(day, visitor, random), ...(random.chance(0.5) ? [lunch()] : [])];
  });
});

/** An office that knows the time of the sale: on the last day nearly all of its staff log in within ten minutes. */
const SALE = shopper('shopper_sale', 'Office of 50, hour of the sale', (day, random) => {
  const crowd: Crowd = { first: 50, returns: 0.9, make: behind(SALE_OFFICE_IP, CHROMIUM_DESKTOPS) };
  return visitorsOn(day, 'shopper_sale', crowd, random).map((visitor) => {
    if (day.number < 2)
      return visit(visitor.person, between(day, visitor.person, 8, 17, random), only('login', '/login', '/'), random);
    const start = momentLocal(day, visitor.person, 10 * 3_600 + random.between(0, 600));
    return visit(visitor.person, start, shoppingSteps(random, { accountFirst: true, buys: 0.8 }), random);
  });
});

/** Choice: only a few of a day's unknown visitors behind one gateway create an account. */
const GATEWAY_SIGNUPS = 3;

/** Phones of hundreds of people use one address. Many are unknown to it, and some go straight to their account. */
const GATEWAY = shopper('shopper_mobile_gateway', 'Mobile gateway, hundreds of users', (day, random) => {
  const make = behind(GATEWAY_IP, [...IPHONES, ...ANDROIDS], AMERICA);
  const crowd: Crowd = { first: 90, joining: 65, returns: 0.25, make };
  return visitorsOn(day, 'shopper_mobile_gateway', crowd, random).map(({ person }, i) => {
    const account = i < GATEWAY_SIGNUPS ? 'signup' : 'login';
    const accountFirst = account === 'login' && random.chance(0.3);
    return visit(person, awake(day, person, random), shoppingSteps(random, { account, accountFirst }), random);
  });
});

/**
 * Guests of a Wi-Fi network whose accounts were never seen on it and who go straight to their account: the sessions of honest people with
 * the least history.
 */
const guests = (
  id: string,
  title: string,
  ip: string,
  crowd: Omit<Crowd, 'make'>,
  hours: readonly [number, number],
): Persona =>
  shopper(id, title, (day, random) =>
    visitorsOn(day, id, { ...crowd, make: behind(ip) }, random).map(({ person }) => {
      const steps = shoppingSteps(random, { accountFirst: true, entrance: random.pick(['/', null]), buys: 0.3 });
      return visit(person, between(day, person, ...hours, random), steps, random);
    }),
  );

export const SHARED_SHOPPERS: readonly Persona[] = [
  HOUSEHOLD,
  TABLET,
  OFFICE,
  SALE,
  GATEWAY,
  guests(
    'shopper_university',
    'University, guests log in',
    UNIVERSITY_IP,
    { first: 70, joining: 45, returns: 0.3 },
    [9, 18],
  ),
  guests('shopper_hotel', 'Hotel, guests log in', HOTEL_IP, { first: 36, joining: 24, returns: 0.5 }, [15, 21]),
];
