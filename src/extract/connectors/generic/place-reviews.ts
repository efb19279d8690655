import { hash } from 'node:crypto';
import type { Operation } from '../../base/connector.ts';
import { readReviews, type Review } from '../../read/reviews.ts';
import { readStructured } from '../../read/structured.ts';
import { normalisedUrl } from '../../read/urls.ts';
import * as schema from '../kit/schema.ts';
import { leftOutOf, restOf } from './truncated.ts';
import { singlePage } from './single-page.ts';

export const placeReviews: Operation = singlePage({
  name: 'place.reviews',
  description: 'The schema.org reviews on a page, in JSON-LD or microdata: of a place, a product or anything else.',
  record: schema.recordSchema({
    subject: schema.textField('What is reviewed.'),
    author: schema.textField('Who wrote it.'),
    rating: schema.numberField('The rating that the author gave.'),
    best_rating: schema.numberField('The best possible rating; 5 if the page does not state it.'),
    title: schema.textField('Title of the review.'),
    text: schema.textField('Plain text.'),
    published_at: schema.dateField('When it was written.'),
    url: schema.urlField('Address of the review; without one, that of the page.'),
  }),
  example: {
    subject: 'Harbour Café',
    author: 'Ada Quist',
    rating: 4,
    best_rating: 5,
    title: 'Good soup',
    text: 'Small, warm, and the soup is good.',
    published_at: '2026-01-02T00:00:00Z',
    url: 'https://www.example.com/places/harbour-cafe',
  },
  read(html, page) {
    const data = readStructured(html);
    const records = readReviews(data, html.baseUrl).map((review) => ({
      id: idOf(review, page.url),
      sourceUrl: page.url,
      fields: {
        subject: review.subject,
        author: review.author,
        rating: review.rating,
        best_rating: review.bestRating,
        title: review.title,
        text: review.text,
        published_at: review.publishedAt,
        url: review.url ?? page.url,
      },
    }));
    return { records, ...leftOutOf(restOf(html) ?? (data.isCut ? `reviews of ${page.url} after the first` : null)) };
  },
});

/** Reviews have no ids of their own, so their content identifies them. */
function idOf({ subject, author, title, text, publishedAt }: Review, url: string): string {
  return hash('sha256', JSON.stringify([normalisedUrl(url), subject, author, title, text, publishedAt]), 'hex').slice(
    0,
    32,
  );
}
