import { DAY_MS, type Country } from './calendar.ts';

/**
 * `full`: pages, searches and all steps. `login`: only logins, sign-ups and resets. `payment`: only payments. `app`: the calls of a phone
 * app, without pages.
 */
export type Integration = 'full' | 'login' | 'payment' | 'app';

/** A customer of the service: a shop, a forum, a provider. */
export interface Customer {
  readonly number: number;
  readonly name: string;
  readonly integration: Integration;
  readonly host: string;
  readonly countries: readonly Country[];
  /** Whether its pages run the collector. */
  readonly hasCollector: boolean;
  readonly passesHeaders: boolean;
  /** Event types it sends. */
  readonly events: ReadonlySet<string>;
  /** Whether payments include a token of the card. */
  readonly passesCards: boolean;
  /** Share of all people. */
  readonly share: number;
  /** Time at which it starts to use the service, ms after the start of the week. */
  readonly startsAfterMs: number;
}

const ACCOUNT_EVENTS = ['login', 'signup', 'password_reset', 'profile_change'];
const SHOP_EVENTS = [...ACCOUNT_EVENTS, 'search', 'checkout', 'payment', 'gift_card_check'];
const EVENTS: Readonly<Record<Integration, ReadonlySet<string>>> = {
  full: new Set([...SHOP_EVENTS, 'page_view']),
  login: new Set(ACCOUNT_EVENTS),
  payment: new Set(['payment']),
  app: new Set(SHOP_EVENTS),
};

/** Choice: hours after a customer's start in which its visitors count as first-hours visitors, because the service has no history yet. */
export const FIRST_HOURS = 12;

export const CUSTOMERS: readonly Customer[] = [
  customer(1, 'fashion', 'full', ['DE'], 0.17, { hasCollector: true, passesHeaders: true }),
  customer(2, 'garden', 'full', ['IT'], 0.11, { hasCollector: true }),
  customer(3, 'outdoor', 'full', ['CA'], 0.11, { hasCollector: true, passesHeaders: true }),
  customer(4, 'books', 'full', ['DE', 'IT'], 0.1, { startsAfterMs: 2 * DAY_MS }),
  customer(5, 'forum', 'login', ['DE'], 0.1, {}),
  customer(6, 'club', 'login', ['CA'], 0.08, { hasCollector: true }),
  customer(7, 'donations', 'payment', ['DE', 'IT'], 0.07, {}),
  customer(8, 'bills', 'payment', ['CA'], 0.05, { passesHeaders: true }),
  customer(9, 'market-app', 'app', ['DE', 'IT'], 0.13, { passesHeaders: true }),
  customer(10, 'meals-app', 'app', ['CA'], 0.08, { startsAfterMs: 3 * DAY_MS }),
];

/** Customers that have used the service since nine days before the week. Only groups and attacks that name them use them. */
export const ESTABLISHED: readonly Customer[] = [
  customer(11, 'stationery', 'full', ['DE'], 0, { hasCollector: true, startsAfterMs: -9 * DAY_MS }),
  customer(12, 'toys', 'full', ['IT'], 0, { startsAfterMs: -9 * DAY_MS }),
  customer(13, 'canteen', 'login', ['DE', 'IT'], 0, { startsAfterMs: -9 * DAY_MS }),
];

function customer(
  number: number,
  name: string,
  integration: Integration,
  countries: readonly Country[],
  share: number,
  more: Partial<Customer>,
): Customer {
  return {
    number,
    name,
    integration,
    host: `${name}.example`,
    countries,
    hasCollector: false,
    passesHeaders: false,
    events: EVENTS[integration],
    passesCards: integration !== 'login',
    share,
    startsAfterMs: 0,
    ...more,
  };
}

export function customersWith(...integrations: readonly Integration[]): readonly Customer[] {
  return CUSTOMERS.filter(({ integration }) => integrations.includes(integration));
}
