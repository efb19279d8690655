import { deviceOf, type Device, type Make } from '../traffic/devices.ts';
import { drawEmail } from '../traffic/identities.ts';
import { Random } from '../traffic/random.ts';
import { addressIn, type Place } from './places.ts';

/** A person with one device; both stay the same from day to day. */
export interface Person {
  readonly userId: string;
  readonly email: string;
  readonly place: Place;
  readonly ip: string;
  readonly device: Device;
}

/** Draws one of the make's versions and screens, with a fingerprint of its own. */
export function makeDevice(make: Make, { language, timeZone }: Place, random: Random): Device {
  const version = random.weighted(make.versions);
  return deviceOf(make, version, random.hex(16), language, timeZone, random.pick(make.screens));
}

/** Returns the device with a time zone that may differ from the actual one. */
export function inTimeZone(device: Device, timeZone: string): Device {
  return { ...device, signals: { ...device.signals, tz: timeZone } };
}

export function makePerson(place: Place, make: Make, random: Random, ip?: string): Person {
  return {
    userId: `u-${random.hex(10)}`,
    email: makeEmail(place, random),
    place,
    ip: ip ?? addressIn(place.networks, random),
    device: makeDevice(make, place, random),
  };
}

/** The range of numbers is large enough to avoid collisions: a shared e-mail would be one account in two locations. */
function makeEmail({ names }: Place, random: Random): string {
  return drawEmail(names, random, (drawn) => String(drawn.between(10, 99_999)));
}

/** Returns the e-mail with another domain. */
export function emailAt(domain: string, email: string): string {
  return `${email.split('@')[0]}@${domain}`;
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
  return Array.from({ length: first + joining * day.number }, (_, i) => make(new Random(`${id}, person ${i}`), i));
}

/** Random numbers for one day of a persona. A separate stream for each text, so that a new persona does not affect the others. */
export function dayOf(id: string, day: NumberedDay): Random {
  return new Random(`${id}, day ${day.number}`);
}
