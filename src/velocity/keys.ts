/**
 * Keys of further records are made from the hashes of those that they belong to, which depend on the secret: nobody who does
 * not know it can aim with them either.
 */

/** One 32-bit half of a derived key; `salt` tells what it is for. */
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
