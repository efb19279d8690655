import { ANDROIDS, EVERYDAY, IPHONES, OTHER_DESKTOPS } from '../browsers.ts';
import { crowdOn, inTimeZone, makeDevice, makePerson } from '../people.ts';
import { addressIn, AMERICA, GERMANY } from '../places.ts';
import { momentAt, type EventType, type Persona, type Step } from '../plan.ts';
import type { Make } from '../../traffic/devices.ts';
import { Random } from '../../traffic/random.ts';
import { only, shoppingSteps, visit } from '../visit.ts';
import { awake, between, shopper, visitorsOn } from './shopper.ts';

/** People who change their location or network. */

const MUNICH = ['88.217.7', '176.2.48', '88.130.178'];
const HAMBURG = ['95.116.0', '93.192.33'];
const FRANKFURT = ['95.88.2', '95.90.1', '88.130.1'];
/** Phones of a German provider leave the network in Frankfurt, regardless of their location. */
const MOBILE_GATEWAY = '109.43.2';
const NEW_YORK = ['71.190.1', '68.173.17', '72.229.2'];
/** A data centre in Amsterdam, used by VPN providers. */
const VPN_EXITS = ['89.39.107'];
/** Exits of a private relay in Germany: networks of Akamai, Cloudflare and Fastly. */
const RELAY_EXITS = ['172.224.46', '172.224.135', '172.225.6', '104.28.25', '146.75.16'];

const german =
  (browsers: readonly Make[], networks = GERMANY.networks) =>
  (random: Random) =>
    makePerson({ ...GERMANY, networks }, random.pick(browsers), random);

const step = (type: EventType, path: string, from: string | null, afterSeconds: number, ip?: string): Step => ({
  type,
  path,
  from,
  afterSeconds,
  ...(ip !== undefined && { ip }),
});

/**
 * At the airport in Frankfurt in the morning, eight hours later in New York, where they stay: 775 km/h. On the last night they fly back.
 */
const FLYER = shopper('shopper_flyer', 'Traveller, by plane', (day, random) =>
  crowdOn(day, 'shopper_flyer', { first: 8 }, german([...IPHONES, ...OTHER_DESKTOPS], FRANKFURT)).flatMap(
    (person, i) => {
      const abroad = { ...person, place: AMERICA };
      const hotel = addressIn(NEW_YORK, new Random(`${person.userId}, hotel`));
      const device = inTimeZone(person.device, 'America/New_York');
      const home = (hour: number) => visit(person, momentAt(day, hour, i * 240), shoppingSteps(random), random);
      const away = (hour: number) =>
        visit(abroad, momentAt(day, hour, i * 240), shoppingSteps(random, { accountFirst: true }), random, {
          ip: hotel,
          device,
        });
      if (day.number === 0) return [home(8), home(18)];
      if (day.number === 1) return [home(8), away(16), away(22)];
      return [away(2), home(14)];
    },
  ),
);

/** Browses on Wi-Fi at home in Munich, and pays on the train through a gateway 300 km away. */
const COMMUTER = shopper('shopper_commuter', 'Commuter, Wi-Fi to mobile', (day, random) =>
  crowdOn(day, 'shopper_commuter', { first: 12 }, german([...IPHONES, ...ANDROIDS], MUNICH)).map((person) => {
    const steps = [
      step('search', '/search?q=rain+coat', 'https://www.google.com/', 0),
      step('login', '/login', '/search?q=rain+coat', random.between(20, 60)),
      step('search', '/search?q=umbrella', '/account', random.between(300, 900), addressIn([MOBILE_GATEWAY], random)),
      step('checkout', '/checkout', '/basket', random.between(60, 300)),
      step('payment', '/checkout/payment', '/checkout', random.between(40, 120)),
    ];
    return visit(person, between(day, person, 7, 9, random), steps, random);
  }),
);

/** Enables a VPN before paying; the rest of the session leaves through the Netherlands. */
const VPN = shopper('shopper_vpn', 'VPN, switched on in mid-session', (day, random) =>
  visitorsOn(day, 'shopper_vpn', { first: 12, joining: 2, make: german(EVERYDAY) }, random).map(({ person }) => {
    const steps = [
      step('search', '/search?q=bike+light', null, 0),
      step('login', '/login', '/', random.between(20, 60)),
      step('search', '/search?q=tea', '/account', random.between(30, 200), addressIn(VPN_EXITS, random)),
      step('checkout', '/checkout', '/basket', random.between(60, 300)),
      step('payment', '/checkout/payment', '/checkout', random.between(40, 120)),
    ];
    return visit(person, awake(day, person, random), steps, random);
  }),
);

/** Safari's private relay uses a different address in each session, and occasionally changes it within one. */
const RELAY = shopper('shopper_relay', 'Private relay', (day, random) => {
  const make = german(IPHONES);
  return visitorsOn(day, 'shopper_relay', { first: 12, joining: 2, make }, random).flatMap(({ person }) =>
    Array.from({ length: 2 }, () => {
      const later = addressIn(RELAY_EXITS, random);
      const steps = shoppingSteps(random).map((one, i): Step => (i === 2 ? { ...one, ip: later } : one));
      return visit(person, awake(day, person, random), steps, random, { ip: addressIn(RELAY_EXITS, random) });
    }),
  );
});

/** A couple with one account: a phone in Hamburg and one in Munich, often used within the same minutes. */
const TWO_CITIES = shopper('shopper_two_cities', 'One account, phones in two cities', (day, random) =>
  crowdOn(day, 'shopper_two_cities', { first: 8 }, german(IPHONES, HAMBURG)).flatMap((person) => {
    const own = new Random(`${person.userId}, second phone`);
    const device = makeDevice(own.pick(ANDROIDS), GERMANY, own);
    const start = awake(day, person, random);
    return [
      visit(person, start, shoppingSteps(random), random),
      visit(person, start + random.between(120, 900), shoppingSteps(random), random, {
        device,
        ip: addressIn(MUNICH, own),
      }),
    ];
  }),
);

/** A password manager is set up: computer, phone and tablet log in within minutes. */
const THREE_DEVICES = shopper('shopper_three_devices', 'Three devices within minutes', (day, random) =>
  crowdOn(day, 'shopper_three_devices', { first: 8 }, german(OTHER_DESKTOPS)).flatMap((person) => {
    const own = new Random(`${person.userId}, other devices`);
    const devices = [
      person.device,
      makeDevice(own.pick(IPHONES), GERMANY, own),
      makeDevice(own.pick(ANDROIDS), GERMANY, own),
    ];
    const start = awake(day, person, random);
    return devices.map((device, i) =>
      visit(person, start + i * random.between(40, 150), only('login', '/login', '/'), random, { device }),
    );
  }),
);

export const MOVING_SHOPPERS: readonly Persona[] = [FLYER, COMMUTER, VPN, RELAY, TWO_CITIES, THREE_DEVICES];
