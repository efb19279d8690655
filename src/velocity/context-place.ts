import type { HistoryEvent } from '../risk/history.ts';
import { valueOf } from './counted-set.ts';
import type { EventKeys } from './event-keys.ts';
import { mix, SALT_PLACE } from './keys.ts';

/** Choice: half a degree, about 50 km. A city in a geolocation database is a single coordinate pair. */
const CELLS_PER_DEGREE = 2;

/** Returns the grid cell of the address's location; without a location the hash of its /16 or /32; 0 without either. */
export function placeValue({ place }: HistoryEvent, { region }: EventKeys): number {
  if (place === null) return region === 0 ? 0 : valueOf(mix(region, 0, SALT_PLACE));
  const north = Math.floor((place.latitude + 90) * CELLS_PER_DEGREE) | 0;
  const east = Math.floor((place.longitude + 180) * CELLS_PER_DEGREE) | 0;
  return valueOf(mix((north << 16) | (east & 0xffff), 1, SALT_PLACE));
}
