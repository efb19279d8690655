import type { JsonObject } from '../../src/extract/base/connector.ts';
import type { FakeReply } from '../support/fake-source.ts';
import { json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

/**
 * A WordPress site. Shapes: REST API handbook, reference pages "Posts", "Pages" and "Comments"; paging: "Pagination", with its
 * headers and the error `rest_post_invalid_page_number`; `_embedded`: "Linking and Embedding".
 */
export function wordpressWorld(
  records: number,
  options: {
    readonly prefix?: string;
    readonly isPlain?: boolean;
    readonly host?: string;
    readonly sizeMax?: number;
  } = {},
): World {
  const { prefix = '', isPlain = false, host = 'blog.example.com', sizeMax = 100 } = options;
  return ({ url: text }) => {
    const url = new URL(text);
    const route = isPlain
      ? url.pathname === `${prefix}/` && url.searchParams.get('rest_route')
      : url.pathname.startsWith(`${prefix}/wp-json/`) && url.pathname.slice(`${prefix}/wp-json`.length);
    const item = ITEMS.get(typeof route === 'string' ? route : '');
    return item === undefined
      ? null
      : page(
          url,
          many(records, (place) => item(place, host)),
          sizeMax,
        );
  };
}

const ITEMS: ReadonlyMap<string, (place: number, host: string) => JsonObject> = new Map([
  ['/wp/v2/posts', post],
  ['/wp/v2/pages', sitePage],
  ['/wp/v2/comments', comment],
]);

function page(url: URL, items: readonly JsonObject[], sizeMax: number): FakeReply {
  const size = numberIn(url, 'per_page', 10);
  const number = numberIn(url, 'page', 1);
  if (size > sizeMax) {
    const params = { per_page: `per_page must be between 1 (inclusive) and ${sizeMax} (inclusive)` };
    return json({ code: 'rest_invalid_param', data: { status: 400, params } }, {}, 400);
  }
  const pages = Math.ceil(items.length / size);
  // The last page of comments is followed by an empty one.
  if (number > 1 && number > pages && !/comments/.test(url.href))
    return json({ code: 'rest_post_invalid_page_number', data: { status: 400 } }, {}, 400);
  const headers = { 'x-wp-total': String(items.length), 'x-wp-totalpages': String(pages) };
  return json(items.slice((number - 1) * size, number * size), headers);
}

function article(place: number, type: string, host: string): JsonObject {
  return {
    id: 1000 + place,
    date: '2024-05-02T10:00:00',
    date_gmt: '2024-05-02T08:00:00',
    guid: { rendered: `https://${host}/?p=${1000 + place}` },
    modified: '2024-05-03T12:30:00',
    modified_gmt: '2024-05-03T10:30:00',
    slug: `entry-${place}`,
    status: 'publish',
    type,
    link: `https://${host}/entry-${place}/`,
    title: { rendered: `Entry &#8216;${place}&#8217; &amp; more` },
    content: { rendered: `<p>First ${place}.</p>\n<script>x()</script><p>Second.</p>`, protected: false },
    excerpt: { rendered: '<p>First&hellip;</p>\n', protected: false },
    author: 3,
    featured_media: 7,
  };
}

const EMBEDDED = {
  author: [{ id: 3, name: 'Ada Park', url: '', link: 'https://blog.example.com/author/ada/' }],
  'wp:featuredmedia': [{ id: 7, media_type: 'image', source_url: '/wp-content/uploads/door.jpg' }],
};
const TERMS = [
  [{ id: 1, name: 'News &amp; dates', slug: 'news', taxonomy: 'category' }],
  [{ id: 5, name: 'tea', slug: 'tea', taxonomy: 'post_tag' }],
];

function post(place: number, host: string): JsonObject {
  const terms = { categories: [1], tags: [5], _embedded: { ...EMBEDDED, 'wp:term': TERMS } };
  return { ...article(place, 'post', host), ...terms, sticky: false, format: 'standard' };
}

/** Pages have neither categories nor tags. */
function sitePage(place: number, host: string): JsonObject {
  return { ...article(place, 'page', host), _embedded: EMBEDDED, parent: place % 2 === 0 ? 0 : 1000, menu_order: 0 };
}

function comment(place: number, host: string): JsonObject {
  return {
    id: 1 + place,
    post: 1000,
    parent: place === 0 ? 0 : 1,
    author: 0,
    author_name: 'Noor',
    author_url: '',
    date: '2024-05-02T11:12:00',
    date_gmt: '2024-05-02T09:12:00',
    content: { rendered: '<p>Thank you!</p>\n' },
    link: `https://${host}/entry-0/#comment-${1 + place}`,
    status: 'approved',
    type: 'comment',
  };
}

const COMMON = {
  connector: 'wordpress',
  world: (records: number) => wordpressWorld(records),
  paging: 'cursor',
  sizeAsked: sizeIn('per_page'),
  hostIn: 'site',
  announcesTotal: true,
} as const;

export const wordpressCases: readonly SourceCase[] = [
  { ...COMMON, operation: 'site.posts', input: { site: 'blog.example.com', published_after: '2020-01-01' } },
  { ...COMMON, operation: 'site.pages', input: { site: 'https://blog.example.com/' } },
  { ...COMMON, operation: 'site.comments', input: { site: 'blog.example.com' } },
  { ...COMMON, operation: 'search.posts', input: { site: 'blog.example.com', query: 'tea & more' } },
  {
    ...COMMON,
    operation: 'company.posts',
    input: { company: 'example.com' },
    hostIn: 'company',
    world: (records) => wordpressWorld(records, { prefix: '/blog' }),
  },
];
