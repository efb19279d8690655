/** 26 digits of Crockford's base 32 that encode 128 bits, so the first digit is at most 7. */
const ID_DIGITS = '[0-7][0-9A-HJKMNP-TV-Z]{25}';

export type WireIdPrefix = 'bt' | 'cus' | 'dlv' | 'ext' | 'prv' | 'req' | 'ses' | 'wat' | 'wh';

/** Returns the pattern of an id. Ids in other formats are not looked up, whatever their length. */
export function idPattern(prefix: WireIdPrefix): RegExp {
  return new RegExp(`^${prefix}_${ID_DIGITS}$`);
}
