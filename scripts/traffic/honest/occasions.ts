import { AT_HOME, localTime, MINUTE_MS, momentOn } from '../calendar.ts';
import { customersWith } from '../customers.ts';
import { drawCard } from '../identities.ts';
import type { World } from '../world.ts';
import { drawPerson } from './person.ts';
import { logIn, pay } from './scripts.ts';
import { planEverydayVisits, planVisit } from './visits.ts';

/** Occasions that attract many people at once, or make one person buy often. */
export function settleOccasions(world: World): void {
  settleTicketSale(world);
  settleCampaign(world);
  settleGiftBuyers(world);
}

/** Returns the time of the sale by the local clock; when fewer days are simulated, it is on the last one. */
export function ticketSale(world: World): { readonly customer: ReturnType<typeof shopOf>; readonly startMs: number } {
  const customer = shopOf('outdoor');
  return { customer, startMs: localTime(Math.min(2, world.days - 1), 'CA', 10) };
}

/** Tickets go on sale at 10:00: people reload the page repeatedly and pay as fast as possible. */
function settleTicketSale(world: World): void {
  const random = world.random('ticket sale');
  const { customer, startMs } = ticketSale(world);
  for (let n = world.count(900, 40); n > 0; n--) {
    const person = drawPerson(world, random, { kind: 'ticket_sale', isOrdinary: false, customer, isGuest: false });
    planVisit(world, person, {
      atMs: startMs - 3 * MINUTE_MS + Math.floor(random.exponential(5 * MINUTE_MS)),
      where: random.chance(0.4) ? 'road' : 'home',
      play(visit) {
        if (visit.random.chance(0.5)) visit.remembered(person.account);
        else logIn(visit, person);
        for (let reload = visit.random.between(3, 40); reload > 0; reload--)
          visit.page('/tickets').wait(visit.random.between(1_500, 9_000));
        if (visit.random.chance(0.4)) return visit;
        visit.checkout().think(12);
        return pay(visit, person);
      },
    });
  }
}

/** A mail with a link that leads directly to the checkout, with the basket filled. */
function settleCampaign(world: World): void {
  const random = world.random('campaign');
  for (const name of ['fashion', 'garden']) {
    const customer = shopOf(name);
    const country = customer.countries[0] ?? 'DE';
    const startMs = localTime(Math.min(3, world.days - 1), country, 18);
    for (let n = world.count(500, 20); n > 0; n--) {
      const person = drawPerson(world, random, { kind: 'mail_campaign', isOrdinary: true, customer, country });
      planVisit(world, person, {
        atMs: startMs + Math.floor(random.exponential(70 * MINUTE_MS)),
        where: random.chance(0.5) ? 'road' : 'home',
        play(visit) {
          if (!person.isGuest && visit.random.chance(0.6)) visit.remembered(person.account);
          visit.checkout(person.account.email, '/checkout?utm_source=mail').think(45);
          if (visit.random.chance(0.3)) return visit.page('/').think(30).page();
          return pay(visit, person, person.account.email);
        },
      });
    }
  }
}

/** Presents for the family: several orders in one visit, each paid separately. */
function settleGiftBuyers(world: World): void {
  const random = world.random('gift buyers');
  const among = customersWith('full', 'app');
  for (let n = world.count(160, 8); n > 0; n--) {
    const person = drawPerson(world, random, {
      kind: 'gift_buyer',
      isOrdinary: false,
      customer: random.pick(among),
      isGuest: false,
    });
    planEverydayVisits(world, person, random);
    const day = random.below(world.days);
    planVisit(world, person, {
      atMs: momentOn(day, person.country, AT_HOME, random),
      where: 'home',
      play(visit) {
        visit.remembered(person.account);
        const cards = visit.random.chance(0.3) ? [person.card, drawCard(visit.random)] : [person.card];
        for (let gift = visit.random.between(3, 9); gift > 0; gift--) {
          visit.page().think(60).page('/basket').checkout().think(50);
          pay(visit, { ...person, card: visit.random.pick(cards) });
          visit.think(60);
        }
        return visit;
      },
    });
  }
}

function shopOf(name: string): (typeof SHOPS)[number] {
  const shop = SHOPS.find((customer) => customer.name === name);
  if (shop === undefined) throw new Error(`there is no customer named ${name}`);
  return shop;
}

const SHOPS = customersWith('full');
