import type { Connector, FoundRecord, JsonObject, JsonValue, Source } from '../base/connector.ts';
import { isoDate } from '../read/dates.ts';
import { address } from './kit/api-address.ts';
import { chained, type ChainTurn, type PageResult } from './kit/chain.ts';
import { at, givenText, integerOf, itemsOf, objectIn, readEach, textMember, urlOf } from './kit/json.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';

const BASE = 'https://itunes.apple.com';
/** The feed has 50 reviews a page, and no page after the tenth. */
const PAGE_SIZE_MAX = 50;
const PAGES_MAX = 10;

interface Args extends JsonObject {
  readonly app: string;
  readonly country: string;
  readonly sort: string;
  /** Whether the page before had no reviews. */
  readonly isAfterEmpty: boolean;
}

const REVIEW = schema.recordSchema({
  id: schema.idField('Number of the review.'),
  url: schema.urlField('The reviews of the app in its store; a review has no page.'),
  app_id: schema.textField('Number of the app.'),
  country: schema.textField('Country of the store, ISO 3166-1.'),
  author: schema.authorField(),
  rating: schema.countField('Stars, from 1 to 5.'),
  title: schema.textField('Title of the review.'),
  text: schema.textField('Plain text.'),
  version: schema.textField('Version of the app that is reviewed.'),
  updated_at: schema.dateField('When it was written or last changed.'),
  votes: schema.countField('Number of people who said whether it helps.'),
  helpful_votes: schema.countField('Number of those whom it helps.'),
});

/**
 * Reads a page. Pages between others are empty at times, so that one empty page does not end the list.
 */
async function readPage({ args, at: page }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const number = Number(page ?? 1);
  const list = address(source.base(BASE), [args.country, 'rss', 'customerreviews']);
  const { body } = await source.json(`${list}/page=${number}/id=${args.app}/sortby=${args.sort}/json`);
  const entry = at(objectIn(at(body, 'feed'), 'feed'), 'entry');
  // A single review is not in a list, and there is no member without any.
  const entries = Array.isArray(entry) ? itemsOf(entry) : entry === undefined ? [] : [entry];
  // The first entry of some feeds is the app.
  const reviews = entries.filter((item) => at(item, 'im:name') === undefined);
  const isOver = number >= PAGES_MAX || (reviews.length === 0 && (args.isAfterEmpty || number === 1));
  return {
    kind: 'page',
    records: readEach(reviews, (item) => readReview(item, args)),
    next: isOver ? null : number + 1,
    total: null,
    args: { ...args, isAfterEmpty: reviews.length === 0 },
  };
}

function readReview(item: JsonObject, { app, country }: Args): FoundRecord | null {
  return recordOf(labelOf(item['id']), `https://apps.apple.com/${country}/app/id${app}?see-all=reviews`, {
    app_id: app,
    country,
    author: schema.author(labelOf(at(item, 'author', 'name')), urlOf(labelOf(at(item, 'author', 'uri')) ?? undefined)),
    rating: integerOf(labelOf(item['im:rating']) ?? undefined),
    title: labelOf(item['title']),
    text: labelOf(item['content']),
    version: labelOf(item['im:version']),
    updated_at: isoDate(labelOf(item['updated']) ?? undefined),
    votes: integerOf(labelOf(item['im:voteCount']) ?? undefined),
    helpful_votes: integerOf(labelOf(item['im:voteSum']) ?? undefined),
  });
}

/** Every value of the feed is a text in an object. */
function labelOf(value: JsonValue | undefined): string | null {
  return textMember(at(value, 'label'));
}

export const appstore: Connector = {
  id: 'appstore',
  title: 'App Store reviews',
  description: "Reviews of apps in Apple's App Store, by country, from the feed that Apple publishes.",
  docsUrl: 'https://rss.marketingtools.apple.com/',
  hosts: [new URL(BASE).hostname],
  terms: {
    termsUrl: 'https://www.apple.com/legal/internet-services/itunes/',
    attribution: null,
    ratePolicy: 'No key. The feed has at most 500 reviews for each app and country.',
  },
  operations: [
    chained<Args>({
      name: 'app.reviews',
      description: 'The reviews of an app in one country, at most 500.',
      paging: 'By page number, 50 a page, at most 10 pages; no total is announced.',
      tier: 'basic',
      pageSizeMax: PAGE_SIZE_MAX,
      sizing: 'free',
      input: schema.inputSchema(
        {
          app: schema.numberInput('Number of the app: the digits after `id` in its address.'),
          country: schema.nameInput('Country of the store, ISO 3166-1, for example `de`.', '^[A-Za-z]{2}$', 2),
          sort: schema.choiceInput('Order of the reviews.', ['newest', 'helpful'], 'newest'),
        },
        ['app', 'country'],
      ),
      record: REVIEW,
      example: {
        input: { app: 284910350, country: 'us' },
        record: {
          id: '11230000001',
          url: 'https://apps.apple.com/us/app/id284910350?see-all=reviews',
          app_id: '284910350',
          country: 'us',
          author: { name: 'Mira', url: 'https://itunes.apple.com/us/reviews/id100' },
          rating: 4,
          title: 'Good tea',
          text: 'It boils.',
          version: '2.0',
          updated_at: '2024-05-02T08:00:00Z',
          votes: 3,
          helpful_votes: 2,
        },
      },
      begin: (input) => ({
        kind: 'args',
        args: {
          app: givenText(input, 'app'),
          country: givenText(input, 'country').toLowerCase(),
          sort: input['sort'] === 'helpful' ? 'mosthelpful' : 'mostrecent',
          isAfterEmpty: false,
        },
      }),
      read: readPage,
    }),
  ],
};
