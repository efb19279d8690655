import type { Country } from '../traffic/calendar.ts';
import type { Random } from '../traffic/random.ts';

/**
 * A location: networks that residential and mobile providers assign to their customers, and the language and time zone of browsers there.
 */
export interface Place {
  readonly country: string;
  /** Address prefixes: the first three octets of an IPv4 address, or an IPv6 prefix that ends in `::`. */
  readonly networks: readonly string[];
  readonly timeZone: string;
  /** Accept-Language header of browsers there. */
  readonly language: string;
  /** UTC offset of standard time, hours. */
  readonly utcHours: number;
  /** Country whose names and mail providers people have. */
  readonly names: Country;
}

const place = (
  country: string,
  timeZone: string,
  utcHours: number,
  language: string,
  networks: readonly string[],
  names: Country = 'CA',
): Place => ({ country, timeZone, utcHours, language, networks, names });

export const GERMANY = place(
  'DE',
  'Europe/Berlin',
  1,
  'de-DE,de;q=0.9,en;q=0.8',
  ['91.10.20', '84.150.77', '95.88.140', '93.192.14', '2003:c0:af13:2a00::'],
  'DE',
);
const BRITAIN = place('GB', 'Europe/London', 0, 'en-GB,en;q=0.9', [
  '86.128.40',
  '82.6.100',
  '90.192.33',
  '2a00:23c5:1200:aa00::',
]);
export const AMERICA = place('US', 'America/Los_Angeles', -8, 'en-US,en;q=0.9', [
  '73.162.44',
  '24.6.120',
  '76.102.4',
  '2601:640:8a02::',
]);
const FRANCE = place('FR', 'Europe/Paris', 1, 'fr-FR,fr;q=0.9', ['90.3.120', '86.192.5', '82.64.30']);
export const AUSTRALIA = place('AU', 'Australia/Sydney', 10, 'en-AU,en;q=0.9', [
  '58.160.20',
  '121.44.20',
  '101.184.20',
]);
export const VIETNAM = place('VN', 'Asia/Ho_Chi_Minh', 7, 'vi-VN,vi;q=0.9', ['14.160.30']);
export const NIGERIA = place('NG', 'Africa/Lagos', 1, 'en-NG,en;q=0.9', ['105.112.20', '197.210.30']);

export const PLACES: readonly Place[] = [
  GERMANY,
  BRITAIN,
  AMERICA,
  FRANCE,
  AUSTRALIA,
  place('NL', 'Europe/Amsterdam', 1, 'nl-NL,nl;q=0.9', ['84.24.60', '77.160.40', '83.80.100']),
  place('ES', 'Europe/Madrid', 1, 'es-ES,es;q=0.9', ['83.32.90', '88.0.44', '79.144.20']),
  place('IT', 'Europe/Rome', 1, 'it-IT,it;q=0.9', ['79.0.33', '87.0.20', '93.32.40'], 'IT'),
  place('PL', 'Europe/Warsaw', 1, 'pl-PL,pl;q=0.9', ['83.0.20', '89.64.40']),
  place('JP', 'Asia/Tokyo', 9, 'ja-JP,ja;q=0.9', ['126.80.20', '60.64.30', '180.0.20']),
  place('BR', 'America/Sao_Paulo', -3, 'pt-BR,pt;q=0.9', ['177.32.40', '187.20.30']),
  place('IN', 'Asia/Calcutta', 5.5, 'en-IN,hi;q=0.9', ['49.36.40', '122.160.40']),
  place('CA', 'America/Toronto', -5, 'en-CA,fr-CA;q=0.9', ['99.224.30', '70.48.20']),
  place('SE', 'Europe/Stockholm', 1, 'sv-SE,sv;q=0.9', ['78.64.30', '90.224.20']),
  VIETNAM,
  NIGERIA,
];

/** Networks of German providers, each in a different /16 and located in the provider's town, as proxy sellers offer them. */
export const GERMAN_PROXIES: readonly string[] = [
  '91.10.130',
  '84.150.145',
  '95.88.1',
  '93.192.33',
  '79.200.160',
  '87.150.129',
  '46.5.1',
  '217.91.131',
  '88.130.64',
  '95.90.37',
  '109.43.48',
  '176.2.48',
  '88.217.20',
  '95.116.2',
  '62.157.88',
  '80.187.208',
];

/** Networks of data centres; no shopper uses them. */
export const HOSTING_NETWORKS: readonly string[] = [
  '116.203.10',
  '159.65.20',
  '51.38.40',
  '3.120.30',
  '45.33.20',
  '134.209.50',
];

/** Returns an address in one of the networks. */
export function addressIn(networks: readonly string[], random: Random): string {
  const network = random.pick(networks);
  const last = random.between(10, 240);
  return network.endsWith('::') ? `${network}${last.toString(16)}` : `${network}.${last}`;
}
