import type { JsonObject, JsonValue } from '../base/connector.ts';
import { plainText } from './html.ts';
import { isNodeList, isNode } from './jsonld.ts';
import { addressOfValue, textOfValue, thingsOfType, type StructuredData } from './structured.ts';
import { absoluteUrl } from './urls.ts';

/** A product as described by a shop's page. */
export interface Product {
  readonly name: string | null;
  readonly url: string | null;
  readonly description: string | null;
  readonly sku: string | null;
  readonly gtin: string | null;
  readonly brand: string | null;
  /** Price of the cheapest offer, as a decimal number in a string, because binary fractions cannot represent money exactly. */
  readonly price: string | null;
  readonly priceMax: string | null;
  /** ISO 4217. */
  readonly currency: string | null;
  /** schema.org's term in snake case, for example `in_stock`. */
  readonly availability: string | null;
  readonly imageUrl: string | null;
  readonly rating: number | null;
  readonly reviewCount: number | null;
}

/** Returns the schema.org products of a page, without those that have no name. `base` resolves links. */
export function readProducts(data: StructuredData, base: string): readonly Product[] {
  return thingsOfType(data, isProduct)
    .map((thing) => toProduct(thing, base))
    .filter((product) => product.name !== null);
}

function isProduct(type: string): boolean {
  return /^(?:Product|ProductGroup|IndividualProduct|ProductModel)$/.test(type);
}

function toProduct(thing: JsonObject, base: string): Product {
  const variants = objectsIn(thing['hasVariant']);
  const [first = {}] = variants;
  const offers = [thing, ...variants].flatMap((one) => objectsIn(one['offers'])).flatMap(withInner);
  const rating = objectsIn(thing['aggregateRating'])[0] ?? {};
  const prices = offers.flatMap(pricesOf).toSorted((a, b) => Number(a) - Number(b));
  return {
    name: plain(thing['name']),
    url: absoluteUrl(addressOfValue(thing['url']) ?? addressOfValue(offers[0]?.['url']), base),
    description: plain(thing['description']),
    sku: plain(thing['sku'] ?? first['sku'] ?? thing['productGroupID']),
    gtin: gtinOf(thing) ?? gtinOf(first),
    brand: plain(thing['brand'] ?? thing['manufacturer']),
    price: prices.at(0) ?? null,
    priceMax: prices.at(-1) ?? null,
    currency: firstOf(offers.map(currencyOf)),
    availability: availabilityOf(offers),
    imageUrl: absoluteUrl(addressOfValue(thing['image'] ?? first['image']), base),
    rating: statedNumber(rating['ratingValue']),
    reviewCount: countOf(rating['reviewCount'] ?? rating['ratingCount']),
  };
}

/** Choice: maximum number of offers of one product. */
const OFFERS_MAX = 500;

export function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  const list = isNodeList(value) ? value : [value];
  return list.filter(isNode).slice(0, OFFERS_MAX);
}

/** Returns an offer and its nested offers. */
function withInner(offer: JsonObject): JsonObject[] {
  return [offer, ...objectsIn(offer['offers']), ...objectsIn(offer['priceSpecification'])];
}

function plain(value: JsonValue | undefined): string | null {
  return plainText(textOfValue(value));
}

function firstOf(values: readonly (string | null)[]): string | null {
  return values.find((value) => value !== null) ?? null;
}

function gtinOf(thing: JsonObject): string | null {
  const names = ['gtin', 'gtin13', 'gtin14', 'gtin12', 'gtin8', 'isbn'];
  const digits = names.map((name) => textOfValue(thing[name])?.replaceAll(/[\s-]/g, '') ?? '');
  return digits.find((text) => /^(?:\d{8}|\d{12,14}|\d{9}[\dXx])$/.test(text)) ?? null;
}

function pricesOf(offer: JsonObject): readonly string[] {
  const values = [offer['price'], offer['lowPrice'], offer['highPrice']].map((value) => decimalOf(textOfValue(value)));
  return values.filter((value) => value !== null);
}

function currencyOf(offer: JsonObject): string | null {
  const text = textOfValue(offer['priceCurrency'])?.toUpperCase() ?? '';
  return /^[A-Z]{3}$/.test(text) ? text : null;
}

/** An available offer takes precedence over unavailable ones. */
function availabilityOf(offers: readonly JsonObject[]): string | null {
  const words = offers.map((offer) =>
    snake(textOfValue(offer['availability']) ?? addressOfValue(offer['availability'])),
  );
  return words.includes('in_stock') ? 'in_stock' : firstOf(words);
}

/** Treats `InStock`, `https://schema.org/InStock` and `in stock` as equal. */
function snake(text: string | null): string | null {
  const word = (text?.split(/[/#:]/).at(-1) ?? '').trim();
  if (!/^[A-Za-z][A-Za-z _-]{0,40}$/.test(word)) return null;
  return word
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll(/[ _-]+/g, '_')
    .toLowerCase();
}

/** Choice: a longer text is no price. Measured: without the limit, 100,000 commas before a digit took 39 s. */
const PRICE_CHARACTERS_MAX = 1_000;

/**
 * Converts `1,299.00`, `1.299,00`, `1 299` and `€ 1299` to a decimal number such as `1299.00`. The last separator is the decimal separator,
 * unless it stands before three digits and is the only kind of separator.
 */
export function decimalOf(text: string | null): string | null {
  if (text === null || text.length > PRICE_CHARACTERS_MAX) return null;
  const digits = text.replaceAll(/[^\d.,]/g, '').replace(/[.,]+$/, '');
  if (!/^\d/.test(digits) || digits.length > 20) return null;
  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','));
  if (last === -1) return digits;
  const [mark = '', fraction] = [digits[last], digits.slice(last + 1)];
  const isGrouping = digits.split(mark).length > 2 || (fraction.length === 3 && mark === ',');
  const whole = digits.slice(0, last).replaceAll(/[.,]/g, '');
  return isGrouping ? whole + fraction : `${whole}.${fraction}`;
}

export function statedNumber(value: JsonValue | undefined): number | null {
  const number = Number.parseFloat(textOfValue(value)?.replace(',', '.') ?? '');
  return Number.isFinite(number) ? number : null;
}

function countOf(value: JsonValue | undefined): number | null {
  const text = textOfValue(value)?.replaceAll(/[\s.,]/g, '') ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
