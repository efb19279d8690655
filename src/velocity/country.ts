/** Countries as 10 bits: 1 to 676 for `AA` to `ZZ`; 0 for none, and for what is no code of two upper-case letters. */
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
 * A country and when it was seen last in one word: code << 22 | Unix seconds & 0x3fffff. Seconds go round in 48 days, and what is
 * kept is under 30 days old unless nothing with a country was seen for as long, which `ageOfCountry` cannot tell.
 */
const SECONDS_MASK = 2 ** 22 - 1;

export function countryWord(code: number, nowSeconds: number): number {
  return ((code << 22) | (nowSeconds & SECONDS_MASK)) >>> 0;
}

export function codeOfWord(word: number): number {
  return word >>> 22;
}

/** Seconds; 0 for times to come, up to one day. */
export function ageOfCountry(word: number, nowSeconds: number): number {
  const age = (nowSeconds - word) & SECONDS_MASK;
  return age > SECONDS_MASK - 86_400 ? 0 : age;
}
