import { AT_WORK, FIRST_MORNING, isWorkday, localTime, MINUTE_MS, momentOn } from '../calendar.ts';
import { customersWith, type Customer } from '../customers.ts';
import type { World } from '../world.ts';
import { drawCustomer, drawPerson } from './person.ts';
import { logIn, pay } from './scripts.ts';
import { drawMoments, planVisit } from './visits.ts';

/** Groups of people who share an address or a device. */
export function settleGroups(world: World): void {
  settleOffices(world);
  settleCampuses(world);
  settleClasses(world);
  settleTablets(world);
  settleCallCentres(world);
}

/** Staff per office. Smaller scales have fewer offices, not smaller ones. */
const OFFICE_SIZES = [10, 25, 50, 90, 14, 140, 35, 240, 18, 60, 12, 30, 75, 20, 45, 16, 110, 28];

/**
 * From a certain day the staff of a company uses the customer at work: a shop with a discount, the login of a club, the app of the canteen.
 * On the first day most of them come within a few hours, because all received the mail at the same time.
 */
function settleOffices(world: World): void {
  const random = world.random('offices');
  const among = customersWith('full', 'login', 'app');
  for (const size of OFFICE_SIZES.slice(0, world.count(OFFICE_SIZES.length, 3))) {
    const customer = drawCustomer(random, among);
    const country = random.pick(customer.countries);
    const address = world.book.addressOf(world.book.officeLine(country, random), 0);
    const startDay = Math.ceil(customer.startsAfterMs / 86_400_000);
    const firstDay = Math.min(world.days - 1, random.between(startDay, Math.max(startDay, 3)));
    const mailMs = localTime(firstDay, country, random.between(8, 10) + random.unit());
    for (let staff = size; staff > 0; staff--) {
      const parts = { kind: `office_${size >= 50 ? 'large' : 'small'}`, isOrdinary: false, customer, country };
      const person = drawPerson(world, random, { ...parts, isGuest: false, isNew: false });
      for (let day = firstDay; day < world.days; day++) {
        const isFirstDay = day === firstDay;
        if (!isFirstDay && !isWorkday(day)) continue;
        if (!random.chance(isFirstDay ? 0.65 : 0.16)) continue;
        planVisit(world, person, {
          // Half of those who follow the mail do so on its arrival.
          atMs:
            isFirstDay && random.chance(0.5)
              ? mailMs + Math.floor(random.exponential(12 * MINUTE_MS))
              : momentOn(day, country, isFirstDay ? FIRST_MORNING : AT_WORK, random),
          where: 'home',
          device: person.computer,
          address,
          officeFirstDay: isFirstDay,
          plan: { mustLogIn: isFirstDay || random.chance(0.5), purpose: isFirstDay ? 'account' : 'browse' },
        });
      }
    }
  }
}

/** Halls of residence: hundreds of people behind a few addresses, all week. */
function settleCampuses(world: World): void {
  const random = world.random('campuses');
  const among = customersWith('full', 'login', 'app');
  for (let campus = world.count(4); campus > 0; campus--) {
    const country = random.pick(drawCustomer(random, among).countries);
    const local = among.filter(({ countries }) => countries.includes(country));
    const addresses = [0, 1].map(() => world.book.addressOf(world.book.officeLine(country, random), 0));
    for (let student = 150; student > 0; student--) {
      const customer = drawCustomer(random, local);
      const person = drawPerson(world, random, { kind: 'campus', isOrdinary: false, customer, country });
      for (const moment of drawMoments(world, person, random))
        planVisit(world, person, { ...moment, ...(moment.where === 'home' && { address: random.pick(addresses) }) });
    }
  }
}

/** A teacher has 24 to 31 pupils sign up within 15 minutes, on the school's tablets. */
function settleClasses(world: World): void {
  const random = world.random('classes');
  const among = customersWith('full', 'login', 'app');
  for (let n = world.count(12, 2); n > 0; n--) {
    const customer = drawCustomer(random, among);
    const country = random.pick(customer.countries);
    const address = world.book.addressOf(world.book.officeLine(country, random), 0);
    const startMs = localTime(
      dayOnWhichUsed(world, customer, random.below(world.days)),
      country,
      random.between(8, 13),
    );
    const model = world.devices.phone(country, random);
    for (let pupil = random.between(24, 31); pupil > 0; pupil--) {
      const parts = { kind: 'class_signs_up', isOrdinary: false, customer, country, isNew: true, isGuest: false };
      const own = random.chance(0.8) ? { ...world.devices.phone(country, random), agent: model.agent } : undefined;
      planVisit(world, drawPerson(world, random, parts), {
        atMs: startMs + random.below(15 * MINUTE_MS),
        where: 'home',
        address,
        officeFirstDay: true,
        ...(own !== undefined && { device: own }),
        plan: { signsUp: true, purpose: 'browse' },
      });
    }
  }
}

/** A tablet on a shop counter: visitors log in or sign up on it, one after the other. */
function settleTablets(world: World): void {
  const random = world.random('tablets');
  const among = customersWith('full', 'login');
  for (let n = world.count(6); n > 0; n--) {
    const customer = drawCustomer(random, among);
    const country = random.pick(customer.countries);
    const address = world.book.addressOf(world.book.officeLine(country, random), 0);
    const device = world.devices.phone(country, random);
    for (let day = 0; day < world.days; day++) {
      if (day % 7 === 6) continue;
      for (let visitor = random.between(12, 36); visitor > 0; visitor--) {
        const parts = { kind: 'shop_tablet', isOrdinary: false, customer, country, isGuest: false };
        const person = drawPerson(world, random, { ...parts, blocksCollector: false });
        planVisit(world, person, {
          atMs: momentOn(day, country, AT_WORK, random),
          where: 'home',
          address,
          device,
          play: (visit) => {
            visit.page('/club').think(6);
            if (person.isNew || visit.random.chance(0.25)) return visit.think(45).signup(person.account);
            logIn(visit, person);
            return visit.think(20).page('/account');
          },
        });
      }
    }
  }
}

/** Call-centre agents who order for callers: many names and cards, from one address and a few computers. */
function settleCallCentres(world: World): void {
  const random = world.random('call centres');
  for (let n = world.count(2); n > 0; n--) {
    const customer = drawCustomer(random, customersWith('full', 'payment'));
    const country = random.pick(customer.countries);
    const address = world.book.addressOf(world.book.officeLine(country, random), 0);
    const desks = Array.from({ length: 9 }, () => world.devices.desktop(country, random));
    for (let day = 0; day < world.days; day++) {
      if (!isWorkday(day)) continue;
      for (let call = random.between(70, 130); call > 0; call--) {
        const parts = { kind: 'call_centre', isOrdinary: false, customer, country, blocksCollector: false };
        const caller = drawPerson(world, random, { ...parts, isGuest: true, hidesReferrer: true });
        planVisit(world, caller, {
          atMs: momentOn(day, country, AT_WORK, random),
          where: 'home',
          address,
          device: random.pick(desks),
          play(visit) {
            if (customer.integration === 'full') visit.checkout(caller.account.email, '/checkout?desk=1').think(80);
            return pay(visit, caller, caller.account.email);
          },
        });
      }
    }
  }
}

function dayOnWhichUsed(world: World, customer: Customer, day: number): number {
  return Math.min(world.days - 1, Math.max(day, Math.ceil(customer.startsAfterMs / 86_400_000)));
}
