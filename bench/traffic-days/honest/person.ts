import type { Line } from '../addresses.ts';
import type { Country } from '../calendar.ts';
import { CUSTOMERS, type Customer } from '../customers.ts';
import type { Device } from '../devices.ts';
import { drawAccount, drawCard, type Account } from '../identities.ts';
import type { Random } from '../random.ts';
import { dayOf, type World } from '../world.ts';

/** Somebody who uses one customer's site or app. */
export interface Person {
  readonly id: number;
  /** Why they come the way they come. */
  readonly kind: string;
  readonly isOrdinary: boolean;
  readonly customer: Customer;
  readonly country: Country;
  readonly line: Line;
  /** Those of the carrier's gateways that the phone was seen to use; sticky for hours. */
  readonly gateways: readonly string[];
  readonly account: Account;
  /** Buys without an account. */
  readonly isGuest: boolean;
  /** Has no account yet: signs up on the first visit. */
  readonly isNew: boolean;
  readonly card: string;
  readonly computer: Device;
  readonly phone: Device;
  readonly hidesReferrer: boolean;
  /** Blocks scripts, the collector's among them. */
  readonly blocksCollector: boolean;
  /** Share of the logins that begin with a wrong password. */
  readonly mistakes: number;
}

/** Share of logins whose first try fails. Source: published figures of sites lie between 4 and 9 %. */
const MISTAKES = 0.06;

/** What is set, where it is not drawn. */
export type PersonParts = Partial<Person> & { readonly kind: string; readonly isOrdinary: boolean };

export function drawPerson(world: World, random: Random, parts: PersonParts): Person {
  const customer = parts.customer ?? drawCustomer(random);
  const country = parts.country ?? random.pick(customer.countries);
  const carrier = world.book.gateways(country);
  const isApp = customer.integration === 'app';
  // Apps are named as their customer, in letters.
  const app = isApp ? world.devices.app(customer.name.replace(/-.*/, ''), country, random) : null;
  const person: Person = {
    id: world.newActor(),
    customer,
    country,
    line: parts.line ?? world.book.line(country, random),
    gateways: [random.pick(carrier), random.pick(carrier)],
    account: drawAccount(country, random),
    isGuest: customer.integration === 'full' && random.chance(0.3),
    isNew: random.chance(0.06),
    card: drawCard(random),
    computer: app ?? world.devices.desktop(country, random),
    phone: app ?? world.devices.phone(country, random),
    hidesReferrer: random.chance(0.08),
    blocksCollector: random.chance(0.03),
    mistakes: MISTAKES,
    ...parts,
  };
  world.people.push(person);
  return person;
}

export function drawCustomer(random: Random, among: readonly Customer[] = CUSTOMERS): Customer {
  return random.weighted(among.map((customer) => [customer, customer.share] as const));
}

/** Where a device is, and so which address it has. */
export type Whereabouts = 'home' | 'road';

/** The address of the person's device at that time. With IPv6 at home, browsers prefer it. */
export function addressAt(
  world: World,
  person: Person,
  where: Whereabouts,
  device: Device,
  atMs: number,
  random: Random,
): string {
  const day = dayOf(atMs);
  if (where === 'road')
    return person.gateways[Math.floor(atMs / 21_600_000) % person.gateways.length] ?? random.pick(person.gateways);
  return random.chance(0.8) ? world.book.ipv6Of(person.line, day, device.name) : world.book.addressOf(person.line, day);
}
