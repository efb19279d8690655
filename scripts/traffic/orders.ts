import { DAY_MS, WEEK_START_MS, type Country } from './calendar.ts';
import type { OrderAttributes, SessionLabel } from './events.ts';
import type { Account } from './identities.ts';
import { Random } from './random.ts';

/** What a shop knows of an order besides the request itself: the attributes of checkouts and payments. */

/** The basket. It stays the same while its payment is tried again. */
export interface Order {
  readonly amount: number;
  readonly items: number;
  readonly shippingCountry: string;
}

export interface Buyer {
  readonly label: SessionLabel;
  /** Where the buyer lives, or has the goods sent. */
  readonly home: Country;
  /** Unix ms; null for a guest. */
  readonly createdMs: number | null;
}

/** Median amount of an order, by customer. */
const MEDIANS: Readonly<Record<string, number>> = {
  fashion: 62,
  garden: 48,
  outdoor: 95,
  books: 24,
  donations: 30,
  bills: 74,
  'market-app': 34,
  'meals-app': 27,
  stationery: 18,
  toys: 32,
};
const CURRENCIES: Readonly<Record<Country, string>> = { DE: 'EUR', IT: 'EUR', CA: 'CAD' };
const SPREAD = 0.75;
/** Share of orders that are several times as expensive: a sofa, a bicycle. Choice: many people come to a new shop for such a thing. */
const EXPENSIVE = 0.04;
const EXPENSIVE_FIRST = 0.09;
/** Share of orders that are sent abroad: presents, holidays. */
const SENT_ABROAD = 0.06;
const ABROAD: Readonly<Record<Country, readonly string[]>> = {
  DE: ['AT', 'CH', 'FR', 'PL', 'NL', 'US'],
  IT: ['FR', 'CH', 'DE', 'ES', 'GB', 'US'],
  CA: ['US', 'US', 'GB', 'FR', 'IN'],
};
/** Share of cards of banks that issue in one country for many, and of cards from where the holder lived before. */
const ONLINE_BANK = 0.04;
const LIVED_ELSEWHERE = 0.02;
const ONLINE_BANKS: Readonly<Record<Country, readonly string[]>> = {
  DE: ['LT', 'IE', 'NL', 'BE'],
  IT: ['LT', 'IE', 'DE', 'BE'],
  CA: ['US', 'GB'],
};
const LIVED: readonly string[] = ['TR', 'PL', 'RO', 'FR', 'IN', 'US', 'GB', 'BR'];
/** Stolen cards are sold by country; those of the shop's country cost more. */
const STOLEN_AT_HOME = 0.4;
const STOLEN: readonly string[] = ['US', 'US', 'US', 'GB', 'FR', 'ES', 'BR', 'MX', 'AU'];
/** Share of stolen cards that are sold with the address of the holder, which shops compare. */
const ADDRESS_KNOWN = 0.6;
/** Goods that are sold again are worth a multiple of the usual order. */
const RESALE_FACTOR = 5;

/** Draws the basket of a visit's order `n`. */
export function drawOrder({ label, home, createdMs }: Buyer, n: number, by: string, nowMs: number): Order {
  const random = new Random('order', label.customer.number, label.id, n, by);
  const isYoung = createdMs !== null && nowMs - createdMs < DAY_MS;
  const median = MEDIANS[label.customer.name] ?? 30;
  const items = 1 + Math.floor(random.exponential(1.2));
  const usual = random.logNormal(1, SPREAD);
  const factor = random.chance(isYoung ? EXPENSIVE_FIRST : EXPENSIVE) ? random.between(4, 12) : 1;
  const ships = random.chance(SENT_ABROAD) ? random.pick(ABROAD[home]) : home;
  const times = label.isAttack ? attackersAmount(label, random, usual) : usual * factor;
  return { amount: Math.max(1, Math.round(median * times * 100) / 100), items, shippingCountry: ships };
}

/** Card tests cost as little as the shop allows; what is sold again is expensive. */
function attackersAmount({ kind, customer }: SessionLabel, random: Random, usual: number): number {
  if (kind.startsWith('cards_'))
    return customer.integration === 'payment' ? random.between(1, 5) / 30 : random.logNormal(0.35, 0.4);
  return kind.endsWith('_bots') ? 2 + usual : random.logNormal(RESALE_FACTOR, 0.6);
}

/** Returns the attributes that the customer sends; `card` null at a checkout, where none is known yet. */
export function attributesOf({ label, home, createdMs }: Buyer, order: Order, card: string | null): OrderAttributes {
  const { integration } = label.customer;
  const paid = card === null ? null : cardOf(label, home, card);
  return {
    amount: order.amount,
    currency: CURRENCIES[home],
    ...(paid !== null && { card_country: paid.country }),
    ...(integration !== 'payment' && { item_count: order.items, shipping_country: order.shippingCountry }),
    ...(integration !== 'payment' && paid !== null && { billing_country: paid.billing }),
    ...(createdMs !== null && { account_created_at: Math.floor(createdMs / 1_000) }),
  };
}

/** A stolen session pays with the card that the shop has stored. */
function cardOf(
  { isAttack, kind }: SessionLabel,
  home: Country,
  card: string,
): { readonly country: string; readonly billing: string } {
  const random = new Random('card', card);
  if (isAttack && kind !== 'stolen_session') {
    const country = random.chance(STOLEN_AT_HOME) ? home : random.pick(STOLEN);
    return { country, billing: random.chance(ADDRESS_KNOWN) ? country : home };
  }
  if (random.chance(ONLINE_BANK)) return { country: random.pick(ONLINE_BANKS[home]), billing: home };
  if (!random.chance(LIVED_ELSEWHERE)) return { country: home, billing: home };
  const country = random.pick(LIVED);
  return { country, billing: random.chance(0.5) ? country : home };
}

/** Returns when an account that signed up before the week did so, Unix ms. */
export function createdBefore({ userId }: Account): number {
  const random = new Random('created', userId);
  return WEEK_START_MS - Math.floor((10 + random.logNormal(250, 1.2)) * DAY_MS);
}
