import { DAY_MS, HOUR_MS, localTime } from '../calendar.ts';
import { customersWith } from '../customers.ts';
import { dayOf, type World } from '../world.ts';
import type { Person } from '../people.ts';
import { drawCustomer, drawPerson } from './person.ts';
import { drawMoments, planEverydayVisits, planVisit } from './visits.ts';

/** People in two locations: by plane, by train, after moving, or several people who share an account. */
export function settleTravellers(world: World): void {
  settleFlights(world);
  settleTrains(world);
  settleMovers(world);
  settleSharedAccounts(world);
}

/** A flight during the week: at home before it, afterwards in a hotel abroad or on roaming. */
function settleFlights(world: World): void {
  const random = world.random('flights');
  for (let n = world.count(450); n > 0; n--) {
    const person = drawPerson(world, random, { kind: 'flight', isOrdinary: false });
    const hotel = world.book.lineAbroad(random);
    const away = random.below(Math.max(1, world.days - 1)) + random.unit();
    const leavesMs = localTime(0, person.country, 0) + away * DAY_MS;
    const landsMs = leavesMs + random.between(3, 14) * HOUR_MS;
    const returnsMs = landsMs + random.between(1, 6) * DAY_MS;
    const visits = 2 + random.below(5);
    for (const { atMs, where } of drawMoments(world, person, random, visits)) visit(atMs, where);
    // Visits on the way to the airport and after switching the phone on again.
    visit(leavesMs - random.between(1, 6) * HOUR_MS, 'road');
    const arrivalMs = landsMs + random.below(HOUR_MS);
    visit(arrivalMs, 'road', true);
    if (random.chance(0.6)) visit(arrivalMs + Math.floor(random.logNormal(HOUR_MS, 0.7)), 'road', false);
    function visit(atMs: number, where: 'home' | 'road', roams = random.chance(0.4)): void {
      if (atMs > leavesMs && atMs < landsMs) return;
      const isAway = atMs >= landsMs && atMs < returnsMs;
      // Roaming traffic leaves through the carrier at home; Wi-Fi abroad does not.
      const isRoaming = isAway && roams;
      planVisit(world, person, {
        atMs,
        where: isAway || where === 'road' ? 'road' : 'home',
        ...(isAway && !isRoaming && { address: world.book.addressOf(hotel, dayOf(atMs)) }),
        ...(isAway && { device: person.phone }),
      });
    }
  }
}

/** Two cities of one country, by train or car: business trips, family, a weekend. */
function settleTrains(world: World): void {
  const random = world.random('trains');
  for (let n = world.count(450); n > 0; n--) {
    const person = drawPerson(world, random, { kind: 'two_cities', isOrdinary: false });
    const elsewhere = world.book.line(person.country, random);
    const fromDay = random.below(world.days);
    const days = random.between(1, 3);
    planEverydayVisits(world, person, random, (visit) => {
      const day = dayOf(visit.atMs);
      const isAway = visit.where === 'home' && day >= fromDay && day < fromDay + days;
      return isAway ? { ...visit, address: world.book.addressOf(elsewhere, day) } : visit;
    });
  }
}

/** Moving to another city, from one day to the next. */
function settleMovers(world: World): void {
  const random = world.random('movers');
  for (let n = world.count(120); n > 0; n--) {
    const person = drawPerson(world, random, { kind: 'mover', isOrdinary: false });
    const newLine = world.book.line(person.country, random);
    const movesMs = localTime(random.below(world.days), person.country, 14);
    planEverydayVisits(world, person, random, (visit) =>
      visit.where === 'home' && visit.atMs > movesMs
        ? { ...visit, address: world.book.addressOf(newLine, dayOf(visit.atMs)) }
        : visit,
    );
  }
}

/** Two or three family members in different cities who share one account. */
function settleSharedAccounts(world: World): void {
  const random = world.random('shared accounts');
  for (let n = world.count(130); n > 0; n--) {
    const customer = drawCustomer(random, customersWith('full', 'login', 'app'));
    const country = random.pick(customer.countries);
    const first = drawMember();
    for (let more = random.between(1, 2); more > 0; more--) drawMember(first);
    function drawMember(owner?: Person): Person {
      const person = drawPerson(world, random, {
        kind: 'shared_account',
        isOrdinary: false,
        customer,
        country,
        isGuest: false,
        isNew: false,
        ...(owner !== undefined && { account: owner.account, card: owner.card }),
      });
      planEverydayVisits(world, person, random);
      return person;
    }
  }
}
