import { AT_HOME, DAY_MS, isWorkday, localTime, MINUTE_MS, momentOn } from '../calendar.ts';
import { ESTABLISHED, type Customer } from '../customers.ts';
import type { Person } from '../people.ts';
import type { Random } from '../random.ts';
import type { World } from '../world.ts';
import { drawPerson } from './person.ts';
import { logIn, pay } from './scripts.ts';
import { planVisit } from './visits.ts';

/** People of customers that have used the service since before the week, so that accounts are known for longer than it lasts. */
export function settleEstablished(world: World): void {
  settleHomes(world);
  settleOffices(world);
  settleBuyers(world);
}

/** Two visits on average between the customer's start and the end of the week. */
function settleHomes(world: World): void {
  const random = world.random('established homes');
  for (let n = world.count(900, 20); n > 0; n--) {
    const person = drawPerson(world, random, {
      kind: 'established_home',
      isOrdinary: true,
      customer: random.pick(ESTABLISHED),
      isNew: false,
    });
    const first = firstDay(person.customer);
    for (let visits = random.between(1, 4); visits > 0; visits--) {
      const day = random.between(first, world.days - 1);
      planVisit(world, person, { atMs: momentOn(day, person.country, AT_HOME, random), where: 'home' });
    }
  }
}

/** Staff, and the hour at which most of them come. */
const OFFICES = [
  [9, 8],
  [24, 6],
  [60, 11.75],
  [120, 9],
  [16, 22],
  [40, 14],
] as const;

/**
 * The staff knows the customer from home, where all live in the region of the office. From one day on they log in at work as well, most of
 * them within a quarter of an hour: the beginning of a shift, or the order for lunch.
 */
function settleOffices(world: World): void {
  const random = world.random('established offices');
  for (const [staff, hour] of OFFICES.slice(0, world.count(OFFICES.length, 2))) {
    const customer = random.pick(ESTABLISHED);
    const country = random.pick(customer.countries);
    const office = world.book.officeLine(country, random);
    const address = world.book.addressOf(office, 0);
    const from = Math.min(world.days - 1, random.below(4));
    for (let n = staff; n > 0; n--) {
      const line = world.book.lineNear(office, country, random);
      const parts = { kind: 'established_office', isOrdinary: false, customer, country, line };
      const person = drawPerson(world, random, { ...parts, isGuest: false, isNew: false });
      planFirstVisit(world, person, random);
      for (let day = from; day < world.days; day++) {
        if (day !== from && (!isWorkday(day) || !random.chance(0.5))) continue;
        planVisit(world, person, {
          atMs: localTime(day, country, hour) + Math.floor(random.exponential(8 * MINUTE_MS)),
          where: 'home',
          device: person.computer,
          address,
          officeFirstDay: day === from,
          plan: { mustLogIn: true, purpose: day === from ? 'account' : 'browse' },
        });
      }
    }
  }
}

/** Presents for the whole family: up to 18 orders in one visit, each paid separately with the same card. */
function settleBuyers(world: World): void {
  const random = world.random('established buyers');
  const shops = ESTABLISHED.filter(({ integration }) => integration === 'full');
  for (let n = world.count(60, 3); n > 0; n--) {
    const customer = random.pick(shops);
    const person = drawPerson(world, random, {
      kind: 'buyer_of_many_gifts',
      isOrdinary: false,
      customer,
      isGuest: false,
      isNew: false,
    });
    planFirstVisit(world, person, random);
    planVisit(world, person, {
      atMs: momentOn(random.below(world.days), person.country, AT_HOME, random),
      where: 'home',
      play(visit) {
        visit.remembered(person.account);
        for (let gift = visit.random.between(5, 18); gift > 0; gift--) {
          visit.page().think(40).page('/basket').checkout().think(35);
          pay(visit, person);
          visit.think(30);
        }
        return visit;
      },
    });
  }
}

/** Over a week before the first day of the week. */
function planFirstVisit(world: World, person: Person, random: Random): void {
  const day = firstDay(person.customer) + random.below(2);
  planVisit(world, person, {
    atMs: momentOn(day, person.country, AT_HOME, random),
    where: 'home',
    play(visit) {
      visit.page().think(20).page('/login').think(9);
      logIn(visit, person);
      return visit.think(15).page('/account');
    },
  });
}

function firstDay({ startsAfterMs }: Customer): number {
  return Math.ceil(startsAfterMs / DAY_MS);
}
