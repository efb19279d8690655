import type { Country } from './calendar.ts';
import type { Random } from './random.ts';

/** An account at one customer, which may or may not exist there. */
export interface Account {
  readonly userId: string;
  readonly email: string;
}

const FIRST_NAMES: Readonly<Record<Country, readonly string[]>> = {
  DE: 'anna lukas marie felix julia jonas laura paul lena tim sarah jan lisa max katrin stefan ute uwe heike bernd petra klaus sabine dirk emre ayse'.split(
    ' ',
  ),
  IT: 'giulia marco sofia luca chiara matteo francesca alessandro martina lorenzo elena davide sara simone paola giuseppe rosa antonio carla vincenzo'.split(
    ' ',
  ),
  CA: 'emma liam olivia noah chloe ethan zoe jacob mia logan sophie lucas jade gabriel claire samuel megan ryan priya wei raj aisha'.split(
    ' ',
  ),
};
const LAST_NAMES: Readonly<Record<Country, readonly string[]>> = {
  DE: 'mueller schmidt schneider fischer weber meyer wagner becker schulz hoffmann koch bauer richter klein wolf schroeder neumann schwarz zimmermann braun krueger hartmann lange krause lehmann kaya yilmaz'.split(
    ' ',
  ),
  IT: 'rossi russo ferrari esposito bianchi romano colombo ricci marino greco bruno gallo conti deluca costa giordano mancini rizzo lombardi moretti barbieri fontana santoro'.split(
    ' ',
  ),
  CA: 'smith brown tremblay martin roy wilson macdonald gagnon johnson taylor campbell cote bouchard gauthier lee wong singh patel chen anderson leblanc morin fraser'.split(
    ' ',
  ),
};
const MAIL_DOMAINS: Readonly<Record<Country, readonly (readonly [string, number])[]>> = {
  DE: [
    ['gmail.com', 34],
    ['gmx.de', 22],
    ['web.de', 20],
    ['t-online.de', 10],
    ['outlook.de', 5],
    ['icloud.com', 5],
    ['posteo.de', 2],
    ['freenet.de', 2],
  ],
  IT: [
    ['gmail.com', 55],
    ['libero.it', 18],
    ['hotmail.it', 9],
    ['virgilio.it', 6],
    ['alice.it', 4],
    ['icloud.com', 5],
    ['tiscali.it', 3],
  ],
  CA: [
    ['gmail.com', 58],
    ['hotmail.com', 14],
    ['outlook.com', 6],
    ['icloud.com', 8],
    ['rogers.com', 4],
    ['shaw.ca', 3],
    ['sympatico.ca', 3],
    ['videotron.ca', 2],
  ],
};

/**
 * Draws an address as people choose it: made of names, with a year or a number when the plain form was taken. `drawNumber` replaces that
 * number.
 */
export function drawEmail(country: Country, random: Random, drawNumber = yearOrNumber): string {
  const first = random.pick(FIRST_NAMES[country]);
  const last = random.pick(LAST_NAMES[country]);
  const number = drawNumber(random);
  const local = random.weighted([
    [`${first}.${last}${number}`, 40],
    [`${first}${last}${number}`, 20],
    [`${first.charAt(0)}.${last}${number}`, 14],
    [`${last}.${first}${number}`, 8],
    [`${first}_${random.pick(LAST_NAMES[country])}${number}`, 8],
    [`${last}${number}${first.charAt(0)}`, 5],
  ]);
  // Apple's hidden addresses are honest, but look random.
  if (random.chance(0.015)) return `${random.hex(10)}_${random.hex(4)}@privaterelay.appleid.com`;
  return `${local}@${random.weighted(MAIL_DOMAINS[country])}`;
}

function yearOrNumber(random: Random): string {
  return random.chance(0.4) ? String(random.between(50, 109) % 100).padStart(2, '0') : String(random.between(1, 9_999));
}

export function drawAccount(country: Country, random: Random): Account {
  return { userId: `u${random.hex(10)}`, email: drawEmail(country, random) };
}

/** Draws a token that a payment provider assigns to a card. */
export function drawCard(random: Random): string {
  return `card_${random.hex(20)}`;
}

/** Returns the address with one letter missing, a typical typing error. */
export function mistyped(email: string, random: Random): string {
  const at = 1 + random.below(Math.max(1, email.indexOf('@') - 1));
  return email.slice(0, at) + email.slice(at + 1);
}

/** Known disposable-mail services. */
export const DISPOSABLE = [
  'mailinator.com',
  'guerrillamail.com',
  '10minutemail.com',
  'yopmail.com',
  'temp-mail.org',
] as const;

/** Draws a disposable-mail domain registered last week, which no list contains. Each operator has a few such domains. */
export function unlistedDomain(operator: string, random: Random): string {
  const syllables = ['mel', 'tor', 'vin', 'dak', 'sol', 'ren', 'pix', 'lum', 'gar', 'net', 'box', 'fen'];
  return `${random.pick(syllables)}${random.pick(syllables)}${operator.length % 10}${random.pick(syllables)}.${random.pick(['click', 'site', 'online', 'store'])}`;
}
