import { FEATURE_SET } from '../../src/risk/feature-row.ts';
import { FEATURE_NAMES } from '../../src/risk/features.ts';
import { Random } from '../../scripts/traffic/random.ts';

/** A feature row whose class is known, for measuring the trainer. */
export interface GeneratedRow {
  readonly isFraud: boolean;
  /** Position in `FEATURE_NAMES`, ascending, and value. */
  readonly values: readonly (readonly [number, number])[];
}

/** `flag`: 1. `count`: from 1, median 2. `number`: any above 0. `hours`: nearly always 48, as of customers that are not new. */
type Form = 'flag' | 'count' | 'number' | 'hours';

/** How often a column is not 0 in honest and in fraudulent rows, 0 to 1; the share `MIXED` of a fraud's columns is as in honest rows. */
type Profile = readonly [name: string, honest: number, fraud: number, form: Form];

/** Measured: the shares of a week of `bench:detect`; a row has 34 values that are not 0. */
const PROFILES: readonly Profile[] = [
  ...['ip:given', 'ip:valid', 'ip:public', 'geo:known', 'geo:country_known', 'geo:position_known', 'geo:asn_known'].map(
    (name): Profile => [name, 1, 1, 'flag'],
  ),
  ...['agent:given', 'history:known'].map((name): Profile => [name, 1, 1, 'flag']),
  ...['agent:length', 'history:session_decisions_1m', 'history:ip_decisions_1m'].map((name): Profile => [
    name,
    1,
    1,
    'count',
  ]),
  ['customer:age_hours', 1, 1, 'hours'],
  ...['time:hour_sin', 'time:hour_cos'].map((name): Profile => [name, 1, 1, 'number']),
  ['agent:browser_known', 0.9, 0.87, 'flag'],
  ['agent:browser_age_days', 0.9, 0.87, 'number'],
  ['history:session_age_seconds', 0.75, 0.6, 'number'],
  ['entities:count', 0.58, 0.7, 'count'],
  ['history:entity_decisions_1m', 0.58, 0.7, 'count'],
  ['history:entity_networks_1h', 0.58, 0.7, 'count'],
  ['event:other', 0.56, 0.4, 'flag'],
  ['token:collector', 0.57, 0.45, 'flag'],
  ['token:age_hours', 0.57, 0.45, 'number'],
  ['history:device_days', 0.57, 0.4, 'count'],
  ['history:device_networks_24h', 0.57, 0.45, 'count'],
  ['history:ip_cold_share_1h', 0.47, 0.7, 'number'],
  ['history:entity_known_hours', 0.43, 0.3, 'number'],
  ['agent:mobile', 0.43, 0.3, 'flag'],
  ['history:ip_cold_share_10m', 0.4, 0.65, 'number'],
  ['history:entity_known_hours_min', 0.37, 0.25, 'number'],
  ['history:session_rhythm_known', 0.34, 0.4, 'flag'],
  ['history:session_rhythm_variation', 0.33, 0.3, 'number'],
  ['history:entity_devices_24h', 0.29, 0.3, 'count'],
  ['history:device_entities_24h', 0.29, 0.3, 'count'],
  ['history:entity_network_new', 0.25, 0.6, 'flag'],
  ['history:entity_agent_new', 0.23, 0.55, 'flag'],
  ['history:session_pages_10m', 0.26, 0.3, 'count'],
  ['history:context_known', 0.24, 0.1, 'count'],
  ['history:ip_cold_logins_10m', 0.17, 0.5, 'count'],
  ['history:surge_deviations', 0.17, 0.3, 'number'],
  ['event:search', 0.15, 0.1, 'flag'],
  ['event:login', 0.13, 0.35, 'flag'],
  ['history:entity_places', 0.16, 0.1, 'count'],
  ['order:amount', 0.13, 0.15, 'number'],
  ['order:times_usual', 0.13, 0.15, 'number'],
  ['history:context_new', 0.11, 0.4, 'count'],
  ['history:surge_networks_10m', 0.11, 0.3, 'count'],
  ['history:surge_bad_share_10m', 0.11, 0.3, 'number'],
  ['ip:v6', 0.1, 0.1, 'flag'],
  ['history:values_of_actor_24h', 0.08, 0.2, 'count'],
  ['history:context_ratio', 0.07, 0.15, 'number'],
  ['history:ip_logins_failed_24h', 0.04, 0.3, 'count'],
  ['geo:hosting', 0.03, 0.3, 'flag'],
  ['rule:device_timezone_mismatch', 0.05, 0.2, 'flag'],
  ['rule:login_failures_surge_10m', 0.03, 0.2, 'flag'],
  ['rule:ip_hosting', 0.03, 0.3, 'flag'],
  ...FEATURE_NAMES.filter((name) => name.startsWith('rule:velocity_')).map((name): Profile => [
    name,
    0.005,
    0.06,
    'flag',
  ]),
];

const COLUMNS = PROFILES.map(([name, honest, fraud, form]) => ({
  at: FEATURE_NAMES.indexOf(name),
  honest,
  fraud,
  form,
}))
  .filter(({ at }) => at !== -1)
  .sort((a, b) => a.at - b.at);

/** Rows of a session, which are of one class. */
export const SESSION_ROWS = 4;
/** Choice: rows that are kept are rich in fraud. */
const FRAUD_SHARE = 0.1;

/** Choice: so that classes overlap as on real traffic, and a forest has use for all its trees. */
const MIXED = 0.5;

/** Returns as many rows as wanted, the same for the same seed. Values that fraud moves are larger in it, by half. */
export function* generatedRows(count: number, seed: number): Generator<GeneratedRow, void> {
  const random = new Random(`rows ${seed}`);
  let isFraud = false;
  for (let row = 0; row < count; row++) {
    if (row % SESSION_ROWS === 0) isFraud = random.chance(FRAUD_SHARE);
    const values: [number, number][] = [];
    for (const { at, honest, fraud, form } of COLUMNS) {
      const isLike = isFraud && !random.chance(MIXED);
      if (!random.chance(isLike ? fraud : honest)) continue;
      const larger = isLike && fraud > honest ? 1.5 : 1;
      values.push([at, valueOf(form, random, 2 * larger)]);
    }
    yield { isFraud, values };
  }
}

function valueOf(form: Form, random: Random, median: number): number {
  if (form === 'flag') return 1;
  if (form === 'hours' && random.chance(0.97)) return 48;
  const value = random.logNormal(median, 1);
  return form === 'count' ? Math.max(1, Math.round(value)) : Math.fround(value);
}

/** Returns the row's bytes as a decision keeps them; see `feature-row.ts`. */
export function toFeatureRow({ values }: GeneratedRow): Buffer {
  const bitsAt = 4;
  const row = Buffer.alloc(bitsAt + Math.ceil(FEATURE_NAMES.length / 8) + 5 * values.length);
  let end = row.writeUInt32BE(FEATURE_SET) + Math.ceil(FEATURE_NAMES.length / 8);
  for (const [column, value] of values) {
    const at = bitsAt + (column >> 3);
    row[at] = (row[at] ?? 0) | (1 << (column & 7));
    if (Number.isInteger(value) && value < 255) end = row.writeUInt8(value, end);
    else end = row.writeFloatBE(value, row.writeUInt8(255, end));
  }
  return row.subarray(0, end);
}
