/**
 * Keys of further records are derived from the hashes of their subjects, which depend on the secret. Without it nobody can choose keys that
 * collide.
 */

/** Returns one 32-bit half of a derived key; `salt` separates the purposes. */
export function mix(a: number, b: number, salt: number): number {
  let h = Math.imul(a ^ Math.imul(salt, 0x9e3779b1), 0x85ebca6b) ^ b;
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  h ^= h >>> 12;
  h = Math.imul(h, 0x297a2d39);
  return h ^ (h >>> 15);
}

/** Salts. */
export const SALT_COLD = 1;
export const SALT_DEVICE = 2;
export const SALT_REGIONS = 3;
export const SALT_DEVICES = 4;
export const SALT_NETWORKS = 5;
export const SALT_SKETCH = 6;
export const SALT_HOST = 7;
export const SALT_SITE = 9;
export const SALT_REGION = 10;
export const SALT_ENTITY_OUTCOMES = 11;
export const SALT_ADDRESS_OUTCOMES = 12;
export const SALT_SESSION_OUTCOMES = 13;
export const SALT_POPULATION = 14;
/** The next number is for payments. */
export const SALT_FAILING_NETWORKS = 16;
/** What is usual for a customer; plus twice the hour, plus one for payments. */
export const SALT_USUAL = 20;
/** What orders usually cost. */
export const SALT_AMOUNTS = 330;
/** A customer's agents and locations: 67 salts in steps of 256. */
export const SALT_CONTEXTS = 512;
export const SALT_PLACE = 300;
/** Above the 48 of `SALT_USUAL`. */
export const SALT_CUSTOMER = 80;
export const SALT_DAYS = 81;
export const SALT_STRANGER_NETWORKS = 82;
export const SALT_SIGNUP_NETWORKS = 83;
export const SALT_AGENT_NETWORKS = 85;
export const SALT_AGENT_SHARES = 86;
export const SALT_MAIL_DOMAIN = 87;
export const SALT_MAILBOX = 88;
export const SALT_STRANGERS = 89;
export const SALT_COLD_NETWORK = 90;
export const SALT_LOGINS = 91;
export const SALT_PAGES = 92;
export const SALT_VALUES = 93;
/** Cells that distinguish a second touch from a first one. */
export const SALT_TOUCHES = 96;
export const SALT_DEVICE_DAY = 304;
export const SALT_DEVICE_MONTH = 305;
export const SALT_SIGNUPS_OF_NETWORK = 307;
export const SALT_CODES = 308;
export const SALT_CODE_NETWORKS = 309;
export const SALT_PAYMENTS_OF_DAY = 310;
export const SALT_FIRST_VALUE = 311;
/** The next number is for the other half. */
export const SALT_NONCE = 312;
export const SALT_PEOPLE = 314;
export const SALT_RETURNING = 315;
export const SALT_NETWORK_PEOPLE = 316;
export const SALT_SLOW_NETWORKS = 317;
export const SALT_SLOW_SIGNUP_NETWORKS = 318;
export const SALT_SLOW_CODE_NETWORKS = 319;
/** Counters of the customer's own. */
export const SALT_OWN_COUNTERS = 320;
