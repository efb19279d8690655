import type { Browser } from './browsers.ts';
import { addressIn, type Place } from './places.ts';
import { seeded, type Random } from './random.ts';

/** A person with one device; both stay the same from day to day. */
export interface Person {
  readonly userId: string;
  readonly email: string;
  readonly place: Place;
  readonly ip: string;
  readonly device: Device;
}

export interface Device {
  readonly browser: Browser;
  /** 64 hex digits: the value that the collector computes on this device. */
  readonly fingerprint: string;
  /** Time zone that the browser reports, which may differ from the actual one. */
  readonly timeZone: string;
}

const FIRST_NAMES =
  'anna ben carla david emma felix greta hugo ines jonas karin luca maria nils olga paul rosa simon tara ugo vera yusuf zoe marek'.split(
    ' ',
  );
const LAST_NAMES =
  'almeida berg costa dubois evans fischer garcia hansen ivanov jensen kowalski lopez martin nguyen okafor petrov ricci schmidt tanaka vogel weber young zhang silva'.split(
    ' ',
  );

export function makeDevice(browser: Browser, place: Place, random: Random): Device {
  return { browser, fingerprint: random.hex(64), timeZone: place.timeZone };
}

export function makePerson(place: Place, browser: Browser, random: Random, ip?: string): Person {
  // The range is large enough to avoid collisions: a shared id would be one account in two locations.
  const userId = `u-${random.whole(100_000_000, 999_999_999)}`;
  return {
    userId,
    email: makeEmail(random.pick(place.mailDomains), random),
    place,
    ip: ip ?? addressIn(place.networks, random),
    device: makeDevice(browser, place, random),
  };
}

export function makeEmail(domain: string, random: Random): string {
  const first = random.pick(FIRST_NAMES);
  const last = random.pick(LAST_NAMES);
  const number = random.whole(10, 99_999);
  return `${random.pick([`${first}.${last}${number}`, `${first}${last}${number}`, `${first.charAt(0)}.${last}${number}`])}@${domain}`;
}

const CONSONANTS = 'bcdfghjkmpqrtvwxz'.split('');

/** Generates a local part that looks machine-made instead of containing a name. */
export function makeGeneratedEmail(domain: string, random: Random): string {
  const local = Array.from({ length: 7 }, () => random.pick(CONSONANTS) + String(random.whole(2, 9))).join('');
  return `${local}@${domain}`;
}

export interface CrowdSize {
  /** Number of people on the first day. */
  readonly first: number;
  /** Number of people who join on each later day, default 0. */
  readonly joining?: number;
}

/** A day of the plan, 0 for the first. */
interface NumberedDay {
  readonly number: number;
}

/**
 * Returns the members of a crowd on a day: those of the first day and all who joined since, in that order. Each member is the same on every
 * day.
 */
export function crowdOn(
  day: NumberedDay,
  id: string,
  { first, joining = 0 }: CrowdSize,
  make: (random: Random, i: number) => Person,
): readonly Person[] {
  return Array.from({ length: first + joining * day.number }, (_, i) => make(seeded(`${id}, person ${i}`), i));
}

/** Random numbers for one day of a persona. */
export function dayOf(id: string, day: NumberedDay): Random {
  return seeded(`${id}, day ${day.number}`);
}
