import { COMMON_MODELS } from '../devices.ts';
import { customersWith } from '../customers.ts';
import type { World } from '../world.ts';
import { addressAt, drawCustomer, drawPerson } from './person.ts';
import { planEverydayVisits } from './visits.ts';

/** People at home and on the road who differ in network, device and habits. */
export function settleEverydayPeople(world: World): void {
  settleHomes(world);
  settleHouseholds(world);
  settleGatewayHomes(world);
  settleCommuters(world);
  settleForgetful(world);
  settleManyTabs(world);
  settleOddDevices(world);
  settleCommonPhones(world);
  settleCompanyVpns(world);
  settleRelays(world);
  settleVpns(world);
}

/** One person per line. */
function settleHomes(world: World): void {
  const random = world.random('homes');
  for (let n = world.count(14_000); n > 0; n--)
    planEverydayVisits(world, drawPerson(world, random, { kind: 'home', isOrdinary: true }), random);
}

/** Two to five people of one customer on one line; some households share a tablet. */
function settleHouseholds(world: World): void {
  const random = world.random('households');
  for (let n = world.count(1_250); n > 0; n--) {
    const customer = drawCustomer(random);
    const country = random.pick(customer.countries);
    const line = world.book.line(country, random);
    const tablet = random.chance(0.3) ? world.devices.phone(country, random) : null;
    for (let member = random.between(2, 5); member > 0; member--) {
      const person = drawPerson(world, random, { kind: 'household', isOrdinary: true, customer, country, line });
      planEverydayVisits(world, person, random, (visit) =>
        tablet !== null && visit.where === 'home' && random.chance(0.4) ? { ...visit, device: tablet } : visit,
      );
    }
  }
}

/** Fibre and radio connections whose homes share the provider's public addresses. */
function settleGatewayHomes(world: World): void {
  const random = world.random('gateway homes');
  for (let n = world.count(2_500); n > 0; n--) {
    const person = drawPerson(world, random, { kind: 'carrier_gateway', isOrdinary: true });
    planEverydayVisits(world, person, random, (visit) => ({
      ...visit,
      address: addressAt(world, person, 'road', person.phone, visit.atMs, random),
    }));
  }
}

/** People who leave the house during a visit: their address changes from the line to the phone's gateway. */
function settleCommuters(world: World): void {
  const random = world.random('commuters');
  for (let n = world.count(1_500); n > 0; n--) {
    const person = drawPerson(world, random, { kind: 'commuter', isOrdinary: true });
    planEverydayVisits(world, person, random, (visit) => ({
      ...visit,
      where: 'home',
      device: person.phone,
      plan: {
        ...visit.plan,
        midway: (begun) =>
          begun.think(120).moveTo(addressAt(world, person, 'road', person.phone, begun.nowMs, begun.random)),
      },
    }));
  }
}

/** People who rarely remember their password. */
function settleForgetful(world: World): void {
  const random = world.random('forgetful');
  const among = customersWith('full', 'login', 'app');
  for (let n = world.count(600); n > 0; n--) {
    const customer = drawCustomer(random, among);
    const person = drawPerson(world, random, {
      kind: 'forgets_password',
      isOrdinary: true,
      customer,
      isGuest: false,
      mistakes: 0.7,
    });
    planEverydayVisits(world, person, random, (visit) => ({ ...visit, plan: { ...visit.plan, mustLogIn: true } }));
  }
}

/** People who browse extensively, with many tabs at once. */
function settleManyTabs(world: World): void {
  const random = world.random('many tabs');
  const among = customersWith('full');
  for (let n = world.count(150); n > 0; n--) {
    const customer = drawCustomer(random, among);
    const person = drawPerson(world, random, { kind: 'many_tabs', isOrdinary: false, customer, isGuest: false });
    planEverydayVisits(world, person, random, (visit) => ({
      ...visit,
      play(begun) {
        begun.remembered(person.account);
        for (let pages = begun.random.between(60, 220); pages > 0; pages--) {
          begun.page();
          // Opens several results in tabs, then reads them.
          if (begun.random.chance(0.6)) begun.wait(begun.random.between(700, 2_500));
          else begun.think(22);
        }
        return begun;
      },
    }));
  }
}

function settleOddDevices(world: World): void {
  const random = world.random('odd devices');
  const among = customersWith('full', 'login', 'payment');
  for (let n = world.count(500); n > 0; n--) {
    const customer = drawCustomer(random, among);
    const country = random.pick(customer.countries);
    const device = world.devices.odd(country, random);
    const parts = { kind: 'odd_device', isOrdinary: false, customer, country, computer: device, phone: device };
    planEverydayVisits(world, drawPerson(world, random, parts), random);
  }
}

/** Owners of three phone models with identical fingerprints; at least a few dozen at any scale. */
function settleCommonPhones(world: World): void {
  const random = world.random('common phones');
  const among = customersWith('full', 'login').filter(({ hasCollector }) => hasCollector);
  for (let n = world.count(200, 36); n > 0; n--) {
    const customer = among[n % 2] ?? drawCustomer(random, among);
    const country = random.pick(customer.countries);
    const phone = world.devices.commonPhone(n % COMMON_MODELS, country);
    const parts = { kind: 'common_phone', isOrdinary: false, customer, country, phone, computer: phone };
    const person = drawPerson(world, random, { ...parts, blocksCollector: false });
    planEverydayVisits(world, person, random);
  }
}

/** People who work from home: part of their visits leave through the company's exit, in another city or country. */
function settleCompanyVpns(world: World): void {
  const random = world.random('company vpns');
  for (let company = world.count(45, 2); company > 0; company--) {
    const isCloud = random.chance(0.5);
    const customer = drawCustomer(random, customersWith('full', 'login', 'payment'));
    const country = random.pick(customer.countries);
    const exits = isCloud
      ? Array.from({ length: 4 }, () => world.book.companyCloud(random))
      : [world.book.addressOf(world.book.officeLine(country, random), 0)];
    for (let staff = random.between(3, 20); staff > 0; staff--) {
      const parts = { kind: 'company_vpn', isOrdinary: false, customer, country };
      const person = drawPerson(world, random, parts);
      planEverydayVisits(world, person, random, (visit) =>
        random.chance(0.5) ? { ...visit, where: 'home', device: person.computer, address: random.pick(exits) } : visit,
      );
    }
  }
}

/** Apple's private relay: a different exit for each visit, and often within a visit. */
function settleRelays(world: World): void {
  const random = world.random('relays');
  for (let n = world.count(800); n > 0; n--) {
    const customer = drawCustomer(random, customersWith('full', 'login', 'payment'));
    const person = drawPerson(world, random, { kind: 'private_relay', isOrdinary: false, customer });
    planEverydayVisits(world, person, random, (visit) => ({
      ...visit,
      address: world.book.relay(person.country, random),
      plan: {
        ...visit.plan,
        midway: (begun) => {
          if (begun.random.chance(0.4)) begun.moveTo(world.book.relay(person.country, begun.random));
        },
      },
    }));
  }
}

/** VPN services that are switched on and off, with exits in any location. */
function settleVpns(world: World): void {
  const random = world.random('vpns');
  for (let n = world.count(350); n > 0; n--) {
    const person = drawPerson(world, random, { kind: 'vpn_service', isOrdinary: false });
    const exits = [world.book.vpn(random), world.book.vpn(random)];
    planEverydayVisits(world, person, random, (visit) => {
      const draw = random.unit();
      if (draw < 0.35) return visit;
      if (draw < 0.85) return { ...visit, address: random.pick(exits) };
      const midway = (begun: { moveTo(address: string): unknown }): void => void begun.moveTo(exits[0] ?? '');
      return { ...visit, plan: { ...visit.plan, midway } };
    });
  }
}
