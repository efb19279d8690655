/**
 * Time zones by their names in dates, in English unless noted.
 * Choice: an ambiguous name has its most common meaning on the web: `EST` to `PDT` and `AST` as in America (RFC 822, section 5.1), `BST` as
 * in Britain, `IST` as in India.
 */

/** Minutes east of UTC, for names with the same offset all year. */
const FIXED: Readonly<Record<string, number>> = {
  z: 0,
  ut: 0,
  utc: 0,
  gmt: 0,
  // America
  nst: -210,
  ndt: -150,
  ast: -240,
  adt: -180,
  est: -300,
  edt: -240,
  cst: -360,
  cdt: -300,
  mst: -420,
  mdt: -360,
  pst: -480,
  pdt: -420,
  akst: -540,
  akdt: -480,
  hst: -600,
  brt: -180,
  brst: -120,
  art: -180,
  uyt: -180,
  clt: -240,
  clst: -180,
  bot: -240,
  vet: -240,
  cot: -300,
  pet: -300,
  sst: -660,
  // Europe, Africa; MEZ and MESZ are German.
  wet: 0,
  west: 60,
  bst: 60,
  cet: 60,
  cest: 120,
  met: 60,
  mest: 120,
  mez: 60,
  mesz: 120,
  eet: 120,
  eest: 180,
  msk: 180,
  msd: 240,
  trt: 180,
  samt: 240,
  yekt: 300,
  wat: 60,
  cat: 120,
  sast: 120,
  eat: 180,
  // Asia, Australia
  gst: 240,
  irst: 210,
  idt: 180,
  aft: 270,
  uzt: 300,
  npt: 345,
  omst: 360,
  mmt: 390,
  novt: 420,
  krat: 420,
  pkt: 300,
  ist: 330,
  ict: 420,
  wib: 420,
  hkt: 480,
  sgt: 480,
  myt: 480,
  pht: 480,
  wita: 480,
  irkt: 480,
  wit: 540,
  yakt: 540,
  vlat: 600,
  magt: 660,
  pett: 720,
  chst: 600,
  fjt: 720,
  awst: 480,
  jst: 540,
  kst: 540,
  acst: 570,
  acdt: 630,
  aest: 600,
  aedt: 660,
  nzst: 720,
  nzdt: 780,
};

/** Names of a region's local time, whichever of its two offsets applies on that day. */
const PLACES: Readonly<Record<string, string>> = {
  nt: 'America/St_Johns',
  at: 'America/Halifax',
  et: 'America/New_York',
  ct: 'America/Chicago',
  mt: 'America/Denver',
  pt: 'America/Los_Angeles',
  akt: 'America/Anchorage',
};

const OFFSET = /([+-])(\d{2}):?(\d{2})?$/;

/**
 * Returns how many minutes a zone is ahead of UTC when its clock shows `wallMs`, which is its local time as if it were UTC. `zone` is a
 * name or an offset (`+02:00`, `GMT+0200`). Null for an unknown name.
 */
export function zoneMinutes(zone: string, wallMs: number): number | null {
  const offset = OFFSET.exec(zone);
  if (offset !== null) return (Number(offset[2]) * 60 + Number(offset[3] ?? 0)) * (offset[1] === '-' ? -1 : 1);
  const name = zone.toLowerCase();
  const place = PLACES[name];
  return place === undefined ? (FIXED[name] ?? null) : placeMinutes(place, wallMs);
}

/** Cached, because creating one costs about 0.1 ms. */
const clocks = new Map<string, Intl.DateTimeFormat>();
/** Choice: more than the zones that are in use. Names differ in capitals too, so that a file can have any number of them. */
const CLOCKS_MAX = 1_000;

/** Like `zoneMinutes`, for a name of the zone database, such as `Europe/Berlin`. Null if there is no such zone. */
export function namedZoneMinutes(place: string, wallMs: number): number | null {
  try {
    return placeMinutes(place, wallMs);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/**
 * The first guess is off by the zone's own offset, so the result is computed again from there. That is exact except for the hour of a
 * change. Throws a RangeError for an unknown place.
 */
function placeMinutes(place: string, wallMs: number): number {
  let clock = clocks.get(place);
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat('en-US', { timeZone: place, timeZoneName: 'longOffset' });
    if (clocks.size >= CLOCKS_MAX) clocks.clear();
    clocks.set(place, clock);
  }
  const guess = minutesAt(clock, wallMs);
  return minutesAt(clock, wallMs - guess * 60_000);
}

function minutesAt(clock: Intl.DateTimeFormat, ms: number): number {
  const offset = OFFSET.exec(clock.format(ms));
  if (offset === null) return 0;
  return (Number(offset[2]) * 60 + Number(offset[3] ?? 0)) * (offset[1] === '-' ? -1 : 1);
}
