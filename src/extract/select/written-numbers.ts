/** Choice: a number with its unit is shorter. */
const CHARACTERS_MAX = 1_000;

/** A space groups digits only before three of them, since it usually separates two numbers. */
const NUMBER =
  /(?:(?<![\p{L}\p{N}])[-−])?(?:\d{1,3}(?:[ \u{a0}\u{2009}\u{202f}'’]\d{3})+(?!\d)(?:[.,]\d+)?|\d[\d.,]*)/u;

/**
 * Returns the first number in a text, as people write it: `1,299.00`, `1.299,00`, `1 299`, `−3`. The last separator is the decimal one,
 * unless all separators are of one kind and group three digits: `1,299` and `1.299.000` are whole numbers, `1.299` is not.
 * Null for a text without a number.
 */
export function writtenNumber(text: string): number | null {
  const found = NUMBER.exec(text.slice(0, CHARACTERS_MAX))?.[0];
  if (found === undefined) return null;
  const digits = found
    .replaceAll(/[\s'’]/gu, '')
    .replace('−', '-')
    .replace(/[.,]+$/, '');
  const number = Number(withoutGroups(digits));
  return Number.isFinite(number) ? number : null;
}

function withoutGroups(digits: string): string {
  const point = digits.lastIndexOf('.');
  const comma = digits.lastIndexOf(',');
  if (point >= 0 && comma >= 0)
    return point > comma ? digits.replaceAll(',', '') : digits.replaceAll('.', '').replace(',', '.');
  if (comma >= 0) return /^-?\d{1,3}(?:,\d{3})+$/.test(digits) ? digits.replaceAll(',', '') : digits.replace(',', '.');
  return /^-?\d{1,3}(?:\.\d{3}){2,}$/.test(digits) ? digits.replaceAll('.', '') : digits;
}

/** An amount with its currency as a page shows it. */
export interface Money {
  readonly amount: number;
  /** ISO 4217; null if the text does not say which. */
  readonly currency: string | null;
}

/** Signs of currencies. Choice: `$` is the dollar of the United States, and `¥` the yen. */
const SIGNS: readonly (readonly [sign: string, currency: string])[] = [
  ['R$', 'BRL'],
  ['C$', 'CAD'],
  ['CA$', 'CAD'],
  ['A$', 'AUD'],
  ['AU$', 'AUD'],
  ['NZ$', 'NZD'],
  ['HK$', 'HKD'],
  ['MX$', 'MXN'],
  ['US$', 'USD'],
  ['€', 'EUR'],
  ['£', 'GBP'],
  ['¥', 'JPY'],
  ['₹', 'INR'],
  ['₽', 'RUB'],
  ['₩', 'KRW'],
  ['₺', 'TRY'],
  ['₴', 'UAH'],
  ['₫', 'VND'],
  ['₪', 'ILS'],
  ['zł', 'PLN'],
  ['Kč', 'CZK'],
  ['Ft', 'HUF'],
  ['lei', 'RON'],
  ['$', 'USD'],
];
/** `CA$` is found before `A$`, and that before `$`. */
const LONGEST_FIRST = SIGNS.toSorted(([a], [b]) => b.length - a.length);

const CODES = new Set(
  'AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW KZT MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR'.split(
    ' ',
  ),
);

/** Returns the first amount in a text, with the currency named beside it: `$1,299.00`, `12,50 €`, `CHF 1’200.–`. Null without a number. */
export function writtenMoney(text: string): Money | null {
  const cut = text.slice(0, CHARACTERS_MAX);
  const found = NUMBER.exec(cut);
  const amount = writtenNumber(cut);
  if (found === null || amount === null) return null;
  const before = cut.slice(0, found.index).trimEnd();
  const after = cut.slice(found.index + found[0].length).replace(/^[\s\p{Pd}.,]+/u, '');
  const currency = currencyBefore(before) ?? currencyAfter(after);
  const isNegative = amount > 0 && /[-−]\s*\S{1,3}$/u.test(before) && currency !== null;
  return { amount: isNegative ? -amount : amount, currency };
}

function currencyBefore(text: string): string | null {
  const code = /(?:^|[^A-Z])([A-Z]{3})$/.exec(text)?.[1];
  if (code !== undefined && CODES.has(code)) return code;
  return LONGEST_FIRST.find(([sign]) => text.endsWith(sign))?.[1] ?? null;
}

function currencyAfter(text: string): string | null {
  const code = /^([A-Z]{3})(?![A-Za-z])/.exec(text)?.[1];
  if (code !== undefined && CODES.has(code)) return code;
  return LONGEST_FIRST.find(([sign]) => text.startsWith(sign))?.[1] ?? null;
}
