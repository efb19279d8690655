import type { Place, PlaceHistory } from '../risk/history.ts';
import { distanceKm } from '../risk/travel.ts';
import {
  VELOCITY_FAMILIAR_KM,
  VELOCITY_FAMILIAR_SECONDS,
  VELOCITY_KEEP_SECONDS,
  VELOCITY_PLACE_KM,
} from '../kernel/velocity-limits.ts';
import { countryOfCode } from './country.ts';
import type { Table } from './table.ts';

/**
 * A location takes three words:
 *
 *   0 latitude 15 bits << 16 | longitude 16 bits, in steps of 0.0055°
 *   1 first seen, hours 11 bits << 21 | country 10 bits << 11 | accuracy, km 11 bits
 *   2 session 15 bits << 17 | last seen, minutes 17 bits; 0: empty, or being written
 *
 * A writer first sets word 2 to 0, and writes it last; a reader compares word 2 before and after. A writer that dies leaves an empty slot.
 * Minutes wrap around after 91 days, hours after 85; kept locations were seen in the last 30 days.
 */
export const PLACE_WORDS = 3;

const MINUTE_MASK = 2 ** 17 - 1;
const HOUR_MASK = 2 ** 11 - 1;
const ACCURACY_MASK = 2 ** 11 - 1;
const SESSION_SHIFT = 17;
const KEEP_MINUTES = VELOCITY_KEEP_SECONDS / 60;
const FAMILIAR_HOURS = VELOCITY_FAMILIAR_SECONDS / 3_600;
/** A degree of latitude is 111 km: locations further apart in latitude cannot be near. */
const DEGREES_APART = (VELOCITY_FAMILIAR_KM / 111) * 1.05;
const STEP_LATITUDE = 180 / 32_767;
const STEP_LONGITUDE = 360 / 65_535;

/** The present location, and what was found about it and about others. */
export class Whereabouts {
  here: Place = { latitude: 0, longitude: 0, accuracyKm: 0 };
  position = 0;
  country = 0;
  session = 0;
  minute = 0;
  hour = 0;
  /** The location is among those compared so far. */
  isKnown = false;
  isFamiliar = false;
  readonly others: PlaceHistory[] = [];

  /** `country` is a code, `session` any hash. */
  begin(here: Place, country: number, session: number, nowSeconds: number): void {
    this.here = here;
    this.position = positionOf(here);
    this.country = country;
    this.session = sessionOf(session);
    this.minute = Math.floor(nowSeconds / 60) & MINUTE_MASK;
    this.hour = Math.floor(nowSeconds / 3_600) & HOUR_MASK;
    this.isKnown = false;
    this.isFamiliar = false;
    this.others.length = 0;
  }

  /** Compares the locations from word `at` on, and refreshes the present one. */
  look(table: Table, at: number, places: number): void {
    for (let n = 0; n < places; n++) this.#lookAt(table.words, at + n * PLACE_WORDS);
  }

  /** Stores the present location in one of the slots from `at` on: an empty one, else the one not seen for longest. */
  put(table: Table, at: number, places: number): void {
    const { words } = table;
    let to = at;
    let oldest = -1;
    for (let n = 0; n < places; n++) {
      const place = at + n * PLACE_WORDS;
      const seen = words[place + 2] ?? 0;
      const age = seen === 0 ? Infinity : this.#minutesSince(seen);
      if (age <= oldest) continue;
      to = place;
      oldest = age;
    }
    const seen = words[to + 2] ?? 0;
    if (Atomics.compareExchange(words, to + 2, seen, 0) !== seen) return table.lose();
    const accuracy = Math.min(ACCURACY_MASK, Math.max(0, Math.round(this.here.accuracyKm) || 0));
    Atomics.store(words, to, this.position);
    Atomics.store(words, to + 1, ((this.hour << 21) | (this.country << 11) | accuracy) >>> 0);
    Atomics.store(words, to + 2, this.#seenWord());
  }

  /** Empties the slots from `at` on whose location has this position. */
  static forget({ words }: Table, at: number, places: number, position: number): void {
    for (let place = at; place < at + places * PLACE_WORDS; place += PLACE_WORDS) {
      const seen = words[place + 2] ?? 0;
      if (seen !== 0 && words[place] === position >>> 0) Atomics.compareExchange(words, place + 2, seen, 0);
    }
  }

  /** Returns whether the slot is empty or has expired. */
  isFree({ words }: Table, at: number): boolean {
    const seen = words[at + 2] ?? 0;
    return seen === 0 || this.#minutesSince(seen) > KEEP_MINUTES;
  }

  #lookAt(words: Uint32Array, at: number): void {
    const seen = words[at + 2] ?? 0;
    if (seen === 0) return;
    const position = words[at] ?? 0;
    const rest = words[at + 1] ?? 0;
    const minutes = this.#minutesSince(seen);
    if (minutes > KEEP_MINUTES || Atomics.load(words, at + 2) !== seen) return;
    const km = position === this.position ? 0 : this.#kmTo(position);
    if (km <= VELOCITY_FAMILIAR_KM && this.#isOld(rest)) this.isFamiliar = true;
    if (km > VELOCITY_PLACE_KM) this.#addOther(position, rest, seen, minutes);
    else {
      this.isKnown = true;
      const next = this.#seenWord();
      // An event that is learned late sets no time back. If another worker refreshes it meanwhile, that value is just as correct.
      if (seen !== next && !this.#isAhead(seen)) Atomics.compareExchange(words, at + 2, seen, next);
    }
  }

  /** Inserts by age, newest first. */
  #addOther(position: number, rest: number, seen: number, minutes: number): void {
    const place: PlaceHistory = {
      latitude: latitudeOf(position),
      longitude: longitudeOf(position),
      accuracyKm: rest & ACCURACY_MASK,
      country: countryOfCode((rest >>> 11) & 0x3ff),
      ageSeconds: minutes * 60,
      isFamiliar: this.#isOld(rest),
      sameSession: seen >>> SESSION_SHIFT === this.session,
    };
    const { others } = this;
    let to = others.length;
    while (to > 0 && (others[to - 1]?.ageSeconds ?? 0) > place.ageSeconds) to--;
    others.splice(to, 0, place);
  }

  /** Returns Infinity for locations too far away to matter. */
  #kmTo(position: number): number {
    const latitude = latitudeOf(position);
    if (Math.abs(latitude - this.here.latitude) > DEGREES_APART) return Infinity;
    return distanceKm(this.here, { latitude, longitude: longitudeOf(position) });
  }

  /** Returns whether it was first seen over 24 h ago. An hour in the future counts as now. */
  #isOld(rest: number): boolean {
    const hours = (this.hour - (rest >>> 21)) & HOUR_MASK;
    return hours > FAMILIAR_HOURS && hours < HOUR_MASK - 1;
  }

  #minutesSince(seen: number): number {
    const minutes = (this.minute - seen) & MINUTE_MASK;
    return minutes > MINUTE_MASK - 1_440 ? 0 : minutes;
  }

  /** Returns whether it was seen up to a day after the present event. */
  #isAhead(seen: number): boolean {
    const minutes = (seen - this.minute) & MINUTE_MASK;
    return minutes !== 0 && minutes < 1_440;
  }

  #seenWord(): number {
    return ((this.session << SESSION_SHIFT) | this.minute) >>> 0;
  }
}

function sessionOf(hash: number): number {
  return hash & 0x7fff || 1;
}

/** Coordinates that are NaN become 0. */
export function positionOf({ latitude, longitude }: Place): number {
  const y = Math.min(32_767, Math.max(0, Math.round((latitude + 90) / STEP_LATITUDE) || 0));
  const x = Math.min(65_535, Math.max(0, Math.round((longitude + 180) / STEP_LONGITUDE) || 0));
  return (y << 16) | x;
}

export function latitudeOf(position: number): number {
  return (position >>> 16) * STEP_LATITUDE - 90;
}

export function longitudeOf(position: number): number {
  return (position & 0xffff) * STEP_LONGITUDE - 180;
}
