import { FEATURE_SET, featureSetOf } from './feature-row.ts';
import { FEATURE_NAMES } from './features.ts';

/** The feature row of a stored decision. */
export interface FeatureRow {
  /** The set under which it was written. */
  readonly set: number;
  /** By position in `FEATURE_NAMES`, also for a row of an older set. Columns that are 0, or that the set did not have, are absent. */
  readonly values: ReadonlyMap<number, number>;
}

/**
 * The columns that came with each set, newest first: what is left without them are the columns of the set before, in the same order. Rows
 * of all these sets can be read. A change that adds columns adds a line.
 */
const ADDED: readonly (readonly string[])[] = [
  ['rule:email_no_mx'],
  [
    'event:other',
    'event:pays',
    'customer:age_hours',
    'history:session_pages_10m',
    'history:session_left_origin',
    'history:session_rhythm_known',
    'history:session_rhythm_variation',
    'history:device_days',
    'history:device_networks_24h',
    'history:values_of_actor_24h',
    'history:ip_accounts_succeeded_24h',
    'history:ip_logins_failed_24h',
    'history:ip_signups_24h',
    'history:ip_cold_share_10m',
    'history:ip_cold_payments_1h',
    'history:entity_known_hours_min',
    'history:entity_declined_1h',
    'history:entity_places',
    'history:entity_agent_new',
    'history:entity_network_new',
    'history:entity_succeeded_here',
    'history:context_new',
    'history:context_known',
    'history:context_country_new',
    'history:surge_networks_10m',
    'history:surge_bad_share_10m',
    'history:crowd_networks',
    'history:surge_deviations',
  ],
  ['rule:agent_forged', 'rule:agent_verified'],
  [
    'order:amount',
    'order:usual_known',
    'order:times_usual',
    'order:items',
    'order:first',
    'account:created_known',
    'account:created_days',
    'account:email_verified',
    'account:email_unverified',
    'countries:card_ip',
    'countries:card_billing',
    'countries:card_shipping',
    'countries:phone_ip',
    'rule:payment_high_new_account',
  ],
  ['rule:device_app_stack', 'rule:token_broken', 'rule:token_without_grant'],
  ['rule:device_automation', 'rule:device_scripted_input'],
  ['rule:token_replayed', 'rule:token_unbound', 'rule:token_forged'],
];

/** The sets that can be read, newest first, with the positions in `FEATURE_NAMES` of their columns. */
export const FEATURE_SETS: ReadonlyMap<number, readonly number[]> = columnsBySet();

function columnsBySet(): ReadonlyMap<number, readonly number[]> {
  let columns = [...FEATURE_NAMES.keys()];
  const sets = new Map<number, readonly number[]>([[FEATURE_SET, columns]]);
  for (const added of ADDED) {
    columns = columns.filter((column) => !added.includes(FEATURE_NAMES[column] ?? ''));
    sets.set(featureSetOf(columns.map((column) => FEATURE_NAMES[column] ?? '')), columns);
  }
  return sets;
}

const SET_BYTES = 4;
const FLOAT = 255;

/** Reads what `writeFeatureRow` of this build or of an older one wrote; null for an unknown set, and for a row that is cut off. */
export function readFeatureRow(bytes: Buffer): FeatureRow | null {
  const columns = columnsOf(bytes);
  if (columns === null) return null;
  const values = new Map<number, number>();
  let at = SET_BYTES + Math.ceil(columns.length / 8);
  for (const [bit, column] of columns.entries()) {
    if (((bytes[SET_BYTES + (bit >> 3)] ?? 0) & (1 << (bit & 7))) === 0) continue;
    const small = bytes[at++];
    if (small === undefined || (small === FLOAT && at + 4 > bytes.length)) return null;
    values.set(column, small === FLOAT ? bytes.readFloatBE(at) : small);
    if (small === FLOAT) at += 4;
  }
  return { set: bytes.readUInt32BE(0), values };
}

/** Returns whether `readFeatureRow` knows the row's set. */
export function isReadableRow(bytes: Buffer): boolean {
  return columnsOf(bytes) !== null;
}

function columnsOf(bytes: Buffer): readonly number[] | null {
  return bytes.length < SET_BYTES ? null : (FEATURE_SETS.get(bytes.readUInt32BE(0)) ?? null);
}
