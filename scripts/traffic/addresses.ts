import {
  ABROAD_BLOCKS,
  COMPANY_CLOUD_BLOCKS,
  DESTINATIONS,
  FIXED_BLOCKS,
  HOSTING_BLOCKS,
  HOSTING_IPV6_PREFIXES,
  IPV6_PREFIXES,
  MOBILE_BLOCKS,
  RELAY_BLOCKS,
  VPN_BLOCKS,
} from './address-blocks.ts';
import type { Country } from './calendar.ts';
import { Random } from './random.ts';

/** Returns the country of an address, ISO 3166-1 alpha-2, or null when unknown. */
export type FindCountry = (ip: string, version: 4 | 6) => string | null;

export type Abroad = keyof typeof ABROAD_BLOCKS;

/** An internet connection of a home, an office or a school. */
export interface Line {
  readonly country: Country | Abroad;
  readonly address: number;
  /** The provider assigns another address of the same region every night. */
  readonly isDynamic: boolean;
  /** The first two groups of its IPv6 addresses; null without IPv6. */
  readonly ipv6Prefix: string | null;
  readonly seed: string;
}

interface Block {
  readonly first: number;
  readonly size: number;
}

/** Choice: in blocks that are mostly in other countries one in forty addresses matches. */
const DRAWS_MAX = 400;
const RELAY_EXITS = 40;
/** Choice: at full scale about 200 phones share a gateway's address per week, over all customers. */
const GATEWAYS_FULL_SCALE = 48;
const GATEWAYS_MIN = 4;
/** Share of homes with IPv6, by country. Source: published measurements of large sites, rounded. */
const IPV6_SHARE: Readonly<Record<Country, number>> = { DE: 0.7, IT: 0.2, CA: 0.4 };
/** Share of homes whose address changes every night. */
const DYNAMIC_SHARE: Readonly<Record<Country, number>> = { DE: 0.4, IT: 0.3, CA: 0.05 };

/** Draws addresses of real networks that the location database locates in the wanted country. */
export class AddressBook {
  readonly #findCountry: FindCountry;
  readonly #gateways: Readonly<Record<Country, readonly string[]>>;
  readonly #relays: Readonly<Record<Country, readonly string[]>>;

  constructor(findCountry: FindCountry, seed: number, scale: number) {
    this.#findCountry = findCountry;
    const random = new Random(seed, 'addresses');
    const gateways = Math.max(GATEWAYS_MIN, Math.round(GATEWAYS_FULL_SCALE * scale));
    this.#gateways = forEachCountry((country) =>
      Array.from({ length: gateways }, () => textOf(this.#draw(MOBILE[country], country, random))),
    );
    this.#relays = forEachCountry((country) =>
      Array.from({ length: RELAY_EXITS }, () => textOf(this.#draw(RELAY, country, random))),
    );
  }

  line(country: Country, random: Random): Line {
    return {
      country,
      address: this.#draw(FIXED[country], country, random),
      isDynamic: random.chance(DYNAMIC_SHARE[country]),
      ipv6Prefix: random.chance(IPV6_SHARE[country]) ? random.pick(IPV6_PREFIXES[country]) : null,
      seed: random.hex(8),
    };
  }

  /** A home in the region of another line: among the 16,384 addresses that its provider assigns there. */
  lineNear(other: Line, country: Country, random: Random): Line {
    return { ...this.line(country, random), address: nearby(other.address, 18, random) };
  }

  /** A company's line: its address is static, and it has no IPv6. */
  officeLine(country: Country, random: Random): Line {
    return { ...this.line(country, random), isDynamic: false, ipv6Prefix: null };
  }

  lineAbroad(random: Random, country: Abroad = random.pick(DESTINATIONS)): Line {
    const address = this.#draw(ABROAD[country], country, random);
    return { country, address, isDynamic: true, ipv6Prefix: null, seed: random.hex(8) };
  }

  /** Returns the line's address on that day. */
  addressOf({ address, isDynamic, seed }: Line, day: number): string {
    if (!isDynamic || day === 0) return textOf(address);
    // Providers assign any free address of the region: another host among the same 16,384.
    return textOf(nearby(address, 18, new Random(seed, day)));
  }

  /** Returns the IPv6 address of one device on that day, or the IPv4 address when the line has no IPv6. */
  ipv6Of(line: Line, day: number, device: string): string {
    if (line.ipv6Prefix === null) return this.addressOf(line, day);
    const network = new Random(line.seed, line.isDynamic ? day : 'ipv6');
    const host = new Random(device, day);
    // Providers assign a /56 to a home; its devices are in the first /64 of it.
    const home = `${drawGroup(network)}:${(network.below(256) << 8).toString(16)}`;
    return `${line.ipv6Prefix}:${home}:${drawGroup(host)}:${drawGroup(host)}:${drawGroup(host)}:${drawGroup(host)}`;
  }

  /** Returns the gateway addresses shared by the phones of a country. */
  gateways(country: Country): readonly string[] {
    return this.#gateways[country];
  }

  relay(country: Country, random: Random): string {
    return random.pick(this.#relays[country]);
  }

  /** Returns the address of a random home. */
  home(country: Country | Abroad, random: Random): string {
    return textOf(
      isAbroad(country) ? this.#draw(ABROAD[country], country, random) : this.#draw(FIXED[country], country, random),
    );
  }

  hosting(random: Random): string {
    return textOf(this.#draw(HOSTING, null, random));
  }

  /** `site` selects a /48 of a hosting company; each call returns an address in another /64 of it. */
  hostingIpv6(site: string, random: Random): string {
    const at = new Random('hosting', site);
    const prefix = at.pick(HOSTING_IPV6_PREFIXES);
    return `${prefix}:${at.below(65_536).toString(16)}:${random.below(65_536).toString(16)}::${random.between(1, 65_535).toString(16)}`;
  }

  vpn(random: Random): string {
    return textOf(this.#draw(VPN, null, random));
  }

  companyCloud(random: Random): string {
    return textOf(this.#draw(COMPANY_CLOUD, null, random));
  }

  #draw(blocks: readonly Block[], country: string | null, random: Random): number {
    let address = 0;
    for (let n = 0; n < DRAWS_MAX; n++) {
      const block = random.weighted(blocks.map((block) => [block, Math.sqrt(block.size)] as const));
      address = block.first + random.below(block.size);
      // Homes never have the first or last address of a network.
      if ((address & 0xff) === 0 || (address & 0xff) === 0xff) continue;
      if (country === null || this.#findCountry(textOf(address), 4) === country) return address;
    }
    // The database knows none of the drawn addresses in this country; returns an address located elsewhere.
    return address;
  }
}

/** Returns another address of the network with this prefix length. */
export function neighbour(address: string, bits: number, random: Random): string {
  return textOf(nearby(numberOf(address), bits, random));
}

function nearby(address: number, bits: number, random: Random): number {
  const size = 2 ** (32 - bits);
  const first = Math.floor(address / size) * size;
  const drawn = first + random.below(size);
  const host = drawn & 0xff;
  return host === 0 || host === 0xff ? drawn ^ 0x10 : drawn;
}

function forEachCountry<T>(make: (country: Country) => T): Record<Country, T> {
  return { DE: make('DE'), IT: make('IT'), CA: make('CA') };
}

/** Returns 16 bits of an IPv6 address. */
function drawGroup(random: Random): string {
  return random.below(65_536).toString(16);
}

function isAbroad(country: Country | Abroad): country is Abroad {
  return country in ABROAD_BLOCKS;
}

function textOf(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

function numberOf(text: string): number {
  return text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

function blocksOf(text: string): readonly Block[] {
  return text.split(' ').map((block) => {
    const [first = '', bits = ''] = block.split('/');
    return { first: numberOf(first), size: 2 ** (32 - Number(bits)) };
  });
}

const FIXED = forEachCountry((country) => blocksOf(FIXED_BLOCKS[country]));
const MOBILE = forEachCountry((country) => blocksOf(MOBILE_BLOCKS[country]));
const ABROAD = Object.fromEntries(
  Object.entries(ABROAD_BLOCKS).map(([country, text]) => [country, blocksOf(text)]),
) as Record<Abroad, readonly Block[]>;
const HOSTING = blocksOf(HOSTING_BLOCKS);
const VPN = blocksOf(VPN_BLOCKS);
const COMPANY_CLOUD = blocksOf(COMPANY_CLOUD_BLOCKS);
const RELAY = blocksOf(RELAY_BLOCKS);
