import type { JsonObject } from '../../src/extract/base/connector.ts';
import { json, many, type SourceCase, type World } from './source-case.ts';

const PATH = /^\/us\/rss\/customerreviews\/page=(\d+)\/id=284910350\/sortby=(?:mostrecent|mosthelpful)\/json$/;

/**
 * Apple's feed of customer reviews, in JSON: the Atom feed with each text in a `label`, and each attribute in `attributes`. `emptyPage`: a
 * page that is empty although others follow, as happens at times.
 */
export function appstoreWorld(records: number, { emptyPage = 0, hasApp = false } = {}): World {
  return ({ url: text }) => {
    const number = Number(PATH.exec(new URL(text).pathname)?.[1] ?? 0);
    if (number === 0 || number > 10) return null;
    const all = many(records, review).slice((number - 1) * 50, number * 50);
    const shown = number === emptyPage ? [] : [...(hasApp && number === 1 ? [APP] : []), ...all];
    const entry = shown.length === 1 ? { entry: shown[0] ?? null } : shown.length === 0 ? {} : { entry: shown };
    const feed = {
      author: { name: { label: 'iTunes Store' }, uri: { label: 'http://www.apple.com/itunes/' } },
      ...entry,
      updated: { label: '2024-05-02T08:00:00-07:00' },
      title: { label: 'iTunes Store: Customer Reviews' },
      link: [{ attributes: { rel: 'self', href: text } }],
      id: { label: text },
    };
    return json({ feed }, { 'content-type': 'text/javascript; charset=utf-8' });
  };
}

const APP = { 'im:name': { label: 'Kettle' }, id: { label: 'https://apps.apple.com/us/app/kettle/id284910350' } };

function review(place: number): JsonObject {
  return {
    author: {
      uri: { label: 'https://itunes.apple.com/us/reviews/id100' },
      name: { label: 'Mira' },
      label: '',
    },
    updated: { label: '2024-05-02T01:00:00-07:00' },
    'im:rating': { label: '4' },
    'im:version': { label: '2.0' },
    id: { label: String(11_230_000_001 + place) },
    title: { label: 'Good tea' },
    content: { label: 'It boils.', attributes: { type: 'text' } },
    link: {
      attributes: { rel: 'related', href: 'https://itunes.apple.com/us/review?id=284910350&type=Purple%20Software' },
    },
    'im:voteSum': { label: '2' },
    'im:contentType': { attributes: { term: 'Application', label: 'Application' } },
    'im:voteCount': { label: '3' },
  };
}

export const appstoreCases: readonly SourceCase[] = [
  {
    connector: 'appstore',
    operation: 'app.reviews',
    input: { app: 284_910_350, country: 'US', sort: 'helpful' },
    world: (records) => appstoreWorld(records),
    // At most ten pages, each with its own path.
    paging: 'walk',
    sizeAsked: null,
    hostIn: null,
    recordsMax: 500,
    announcesTotal: false,
  },
];
