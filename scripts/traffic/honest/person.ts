import { CUSTOMERS, type Customer } from '../customers.ts';
import type { Device } from '../devices.ts';
import { drawAccount, drawCard } from '../identities.ts';
import type { Person } from '../people.ts';
import type { Random } from '../random.ts';
import { dayOf, type World } from '../world.ts';

/** Share of logins whose first try fails. Source: published figures of sites lie between 4 and 9 %. */
const MISTAKES = 0.06;

/** Properties to set; the others are drawn. */
export type PersonParts = Partial<Person> & { readonly kind: string; readonly isOrdinary: boolean };

export function drawPerson(world: World, random: Random, parts: PersonParts): Person {
  const customer = parts.customer ?? drawCustomer(random);
  const country = parts.country ?? random.pick(customer.countries);
  const carrier = world.book.gateways(country);
  const isApp = customer.integration === 'app';
  // An app is named after its customer, letters only.
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

/** Location of a device, which determines its address. */
export type Whereabouts = 'home' | 'road';

/** Returns the address of the person's device at that time. Browsers prefer IPv6 when the home has it. */
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
