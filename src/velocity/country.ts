/** Encodes a country in 10 bits: 1 to 676 for `AA` to `ZZ`; 0 for null and for anything but two upper-case letters. */
export function codeOfCountry(country: string | null): number {
  if (country === null || country.length !== 2) return 0;
  const first = country.charCodeAt(0) - 65;
  const second = country.charCodeAt(1) - 65;
  return first >= 0 && first < 26 && second >= 0 && second < 26 ? first * 26 + second + 1 : 0;
}

const COUNTRIES: readonly string[] = Array.from({ length: 676 }, (_, n) =>
  String.fromCharCode(65 + Math.floor(n / 26), 65 + (n % 26)),
);

export function countryOfCode(code: number): string | null {
  return COUNTRIES[code - 1] ?? null;
}

/**
 * A country and the time it was last seen, in one word: code << 22 | Unix seconds & 0x3fffff. The seconds wrap around after 48 days. Kept
 * values are under 30 days old, unless no event with a country came for longer; `ageOfCountry` cannot detect that case.
 */
const SECONDS_MASK = 2 ** 22 - 1;

export function countryWord(code: number, nowSeconds: number): number {
  return ((code << 22) | (nowSeconds & SECONDS_MASK)) >>> 0;
}

export function codeOfWord(word: number): number {
  return word >>> 22;
}

/** Returns seconds; 0 for times in the future, up to one day ahead. */
export function ageOfCountry(word: number, nowSeconds: number): number {
  const age = (nowSeconds - word) & SECONDS_MASK;
  return age > SECONDS_MASK - 86_400 ? 0 : age;
}
