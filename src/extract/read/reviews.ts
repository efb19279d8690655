import type { JsonObject } from '../base/connector.ts';
import { isoDate } from './dates.ts';
import { plainText } from './html.ts';
import { statedNumber, objectsIn } from './products.ts';
import { addressOfValue, textOfValue, thingsOfType, itemTypesOf, type StructuredData } from './structured.ts';
import { absoluteUrl } from './urls.ts';

/** A review on a page. */
export interface Review {
  /** Name of the reviewed item. */
  readonly subject: string | null;
  readonly author: string | null;
  readonly rating: number | null;
  /** The best possible rating. schema.org assumes 5 if it is not stated. */
  readonly bestRating: number | null;
  readonly title: string | null;
  readonly text: string | null;
  /** ISO 8601. */
  readonly publishedAt: string | null;
  readonly url: string | null;
}

/** Returns the schema.org reviews of a page, without those that have neither text nor rating. `base` resolves links. */
export function readReviews(data: StructuredData, base: string): readonly Review[] {
  const subjects = subjectsOf(data);
  return thingsOfType(data, isReview)
    .map((thing) => toReview(thing, subjects, base))
    .filter(({ text, rating }) => text !== null || rating !== null);
}

function isReview(type: string): boolean {
  return type.endsWith('Review') && type !== 'AggregateReview';
}

function isSubject(type: string): boolean {
  return !/(?:Review|Rating|Person|Page|WebSite)$/.test(type);
}

/** If a review does not name its subject, the enclosing item is the subject. */
function subjectsOf(data: StructuredData): ReadonlyMap<string, string> {
  const subjects = new Map<string, string>();
  for (const thing of thingsOfType(data, isSubject))
    for (const review of [...objectsIn(thing['review']), ...objectsIn(thing['reviews'])]) {
      const name = textOfValue(thing['name']);
      if (name !== null) subjects.set(fingerprint(review), name);
    }
  return subjects;
}

function fingerprint(review: JsonObject): string {
  const parts = [review['author'], review['reviewBody'] ?? review['description'], review['datePublished']];
  return JSON.stringify(parts.map(textOfValue));
}

function toReview(thing: JsonObject, subjects: ReadonlyMap<string, string>, base: string): Review {
  const rating =
    objectsIn(thing['reviewRating']).find((one) => itemTypesOf(one).length === 0 || 'ratingValue' in one) ?? {};
  const value = statedNumber(rating['ratingValue']);
  return {
    subject: plain(thing['itemReviewed']) ?? subjects.get(fingerprint(thing)) ?? null,
    author: plain(thing['author']),
    rating: value,
    bestRating: statedNumber(rating['bestRating']) ?? (value === null ? null : 5),
    title: plain(thing['name'] ?? thing['headline']),
    text: plain(thing['reviewBody'] ?? thing['description']),
    publishedAt: isoDate(textOfValue(thing['datePublished'] ?? thing['dateCreated'])),
    url: absoluteUrl(addressOfValue(thing['url']), base),
  };
}

function plain(value: JsonObject[string] | undefined): string | null {
  return plainText(textOfValue(value));
}
