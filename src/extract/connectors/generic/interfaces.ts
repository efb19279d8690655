import { SourceFailure, type FoundRecord, type JsonObject, type JsonValue } from '../../base/connector.ts';
import { contentFormsOf, markedContentIn } from '../../read/content-forms.ts';
import { isoDate } from '../../read/dates.ts';
import { plainText, textOfHtml } from '../../read/html.ts';
import { decimalOf } from '../../read/products.ts';
import { orNull, wordCount } from '../../read/page-text.ts';
import { absoluteUrl, normalisedUrl } from '../../read/urls.ts';
import { at, idOf, integerOf, itemsOf, listIn, objectOf, readEach, textMember } from '../kit/json.ts';
import { wordpressPage } from '../kit/wordpress-pages.ts';
import type { Scope } from './scope.ts';
import type { PageFields, ProductFields } from './site-records.ts';
import type { Entry, List, ListState } from './crawl.ts';

/** Source: REST API handbook, "Pagination". */
const WORDPRESS_PAGE_SIZE = 100;
/** Source: API:Allpages, limit for those who are not logged in. */
const MEDIAWIKI_PAGE_SIZE = 500;
/** Maximum `limit` of `products.json` that storefronts accept. */
const SHOPIFY_PAGE_SIZE = 250;

/** Lists pages, then posts, of WordPress. The cursor is `pages 1 100`, `posts 1 100` and so on, with the size of a page. */
export const wordpressPages: List = async (state, source) => {
  const [kind = '', number = '', given] = (state.cursor === '' ? 'pages 1' : state.cursor).split(' ');
  const urlOf = (size: number): string =>
    wordpressUrl(state.url, `wp/v2/${kind}`, {
      per_page: size,
      page: number,
      _fields: 'id,link,title,excerpt,content,date_gmt',
    });
  const asked = { size: Number(given ?? WORDPRESS_PAGE_SIZE), mayShrink: number === '1' };
  const { answer, url, size } = await wordpressPage(source, urlOf, asked);
  if (answer.status === 400) throw new SourceFailure('source_unavailable', `400 from ${url}`, false);
  const pages = integerOf(answer.headers['x-wp-totalpages']) ?? 1;
  const further = Number(number) < pages ? [`${kind} ${Number(number) + 1} ${size}`] : [];
  return {
    records: readEach(listIn(answer.body, kind), (item) => recordOfPage(item, state)),
    entries: [],
    things: [],
    cursors: state.cursor === '' ? [...further, `posts 1 ${size}`] : further,
    total: null,
  };
};

/** Sites without rewritten URLs pass the interface route as a parameter. */
function wordpressUrl(base: string, path: string, query: Readonly<Record<string, string | number>>): string {
  const url = new URL(base);
  const route = url.searchParams.get('rest_route');
  if (route === null) url.pathname = `${url.pathname.replace(/\/*$/, '/')}${path}`;
  else url.searchParams.set('rest_route', `${route.replace(/\/*$/, '/')}${path}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return url.href;
}

function recordOfPage(item: JsonObject, { language, url: base, scope }: ListState): FoundRecord | null {
  const url = absoluteUrl(textMember(item['link']), base);
  if (url === null) return null;
  return pageRecord({
    url,
    title: plain(at(item['title'], 'rendered')),
    description: plain(at(item['excerpt'], 'rendered')),
    text: lines(at(item['content'], 'rendered')),
    markup: textMember(at(item['content'], 'rendered')),
    scope,
    language,
    published_at: isoDate(item['date_gmt']),
  });
}

interface Given extends Pick<PageFields, 'url' | 'title' | 'description' | 'text' | 'language' | 'published_at'> {
  /** What `text` was read from. */
  readonly markup: string | null;
  readonly scope: Scope;
}

function pageRecord({ markup, scope, url, title, description, text, language, published_at }: Given): FoundRecord {
  const forms = contentFormsOf(scope.content);
  const marked = markedContentIn(markup, url, forms);
  const word_count = text === null ? null : wordCount(text);
  const fields: PageFields = {
    url,
    title,
    description,
    text: forms.includes('text') ? text : null,
    language,
    status: 200,
    published_at,
    word_count,
    markdown: marked.markdown,
    html: marked.html,
  };
  return { id: normalisedUrl(url), sourceUrl: url, fields, ...(marked.isCut && { isTruncated: true }) };
}

function plain(value: JsonValue | undefined): string | null {
  return plainText(textMember(value));
}

function lines(value: JsonValue | undefined): string | null {
  return textOfHtml(textMember(value));
}

/** Lists the URLs of all pages of a wiki. The cursor is MediaWiki's own. */
export const mediawikiPages: List = async (state, source) => {
  const url = new URL(state.url);
  const query = {
    action: 'query',
    format: 'json',
    formatversion: 2,
    generator: 'allpages',
    gaplimit: MEDIAWIKI_PAGE_SIZE,
    gapfilterredir: 'nonredirects',
    prop: 'info',
    inprop: 'url',
    ...(state.cursor === '' ? {} : { gapcontinue: state.cursor }),
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  const { body } = await source.json(url.href);
  if (objectOf(at(body, 'error')) !== null)
    throw new SourceFailure('access_denied', `${state.url} responds with an error`, false);
  const cursor = textMember(at(body, 'continue', 'gapcontinue'));
  return {
    records: [],
    entries: itemsOf(at(body, 'query', 'pages')).flatMap((item) =>
      entryOf(at(item, 'fullurl'), at(item, 'touched'), state),
    ),
    things: [],
    cursors: cursor === null || cursor === state.cursor ? [] : [cursor],
    total: null,
  };
};

function entryOf(link: JsonValue | undefined, date: JsonValue | undefined, state: ListState): Entry[] {
  const url = absoluteUrl(textMember(link), state.url);
  return url === null ? [] : [{ url, lastModified: isoDate(date), foundIn: 'interface' }];
}

/** Lists the URLs of a forum's topics. The cursor is the page number. */
export const discourseTopics: List = async (state, source) => {
  const page = Number(state.cursor);
  const { body } = await source.json(new URL(`latest.json?page=${page}`, state.url).href);
  const topics = listIn(at(body, 'topic_list', 'topics'), 'topic_list.topics');
  const isLast = topics.length === 0 || textMember(at(body, 'topic_list', 'more_topics_url')) === null;
  return {
    records: [],
    entries: topics.flatMap((topic) => {
      const [id, slug] = [idOf(at(topic, 'id')), textMember(at(topic, 'slug')) ?? 'topic'];
      const link = id === null ? null : `t/${encodeURIComponent(slug)}/${id}`;
      return entryOf(link, at(topic, 'last_posted_at'), state);
    }),
    things: [],
    cursors: isLast ? [] : [String(page + 1)],
    total: null,
  };
};

/** Lists topics of a forum with their first posts. The cursor is the page number, or `topic` and the topic's number. */
export const discoursePages: List = async (state, source, want) => {
  if (/^topic \d+$/.test(state.cursor)) return discourseTopic(state, source);
  const { entries, cursors } = await discourseTopics(state, source, want);
  const topics = entries.map(({ url }) => `topic ${url.slice(url.lastIndexOf('/') + 1)}`);
  return { records: [], entries: [], things: topics, cursors, total: null };
};

const discourseTopic = async (state: ListState, source: Parameters<List>[1]): ReturnType<List> => {
  const id = state.cursor.slice('topic '.length);
  const { body } = await source.json(new URL(`t/${id}.json`, state.url).href, { allowStatuses: [403, 404, 410] });
  const posts = itemsOf(at(body, 'post_stream', 'posts'));
  const texts = posts.flatMap((post) => lines(at(post, 'cooked')) ?? []);
  const link = `t/${encodeURIComponent(textMember(at(body, 'slug')) ?? 'topic')}/${id}`;
  const url = absoluteUrl(link, state.url);
  const record =
    url === null || posts.length === 0
      ? []
      : [
          pageRecord({
            url,
            title: plain(at(body, 'title')),
            description: texts[0]?.slice(0, 300) ?? null,
            text: orNull(texts.join('\n')),
            markup: posts.map((post) => textMember(at(post, 'cooked')) ?? '').join('\n<hr>\n'),
            scope: state.scope,
            language: state.language,
            published_at: isoDate(at(body, 'created_at')),
          }),
        ];
  return { records: record, entries: [], things: [], cursors: [], total: null };
};

/** Lists the products of a store. The cursor is the page number. */
export const shopifyProducts: List = async (state, source) => {
  const page = state.cursor === '' ? 1 : Number(state.cursor);
  const { body } = await source.json(new URL(`products.json?limit=${SHOPIFY_PAGE_SIZE}&page=${page}`, state.url).href);
  const items = listIn(at(body, 'products'), 'products');
  return {
    records: readEach(items, (item) => shopifyProduct(item, state)),
    entries: [],
    things: [],
    cursors: items.length < SHOPIFY_PAGE_SIZE ? [] : [String(page + 1)],
    total: null,
  };
};

function shopifyProduct(item: JsonObject, { url: base, currency }: ListState): FoundRecord | null {
  const handle = textMember(item['handle']);
  const url = handle === null ? null : absoluteUrl(`products/${encodeURIComponent(handle)}`, base);
  if (url === null) return null;
  const variants = itemsOf(item['variants']);
  const prices = variants
    .flatMap((variant) => decimalOf(idOf(at(variant, 'price'))) ?? [])
    .toSorted((a, b) => Number(a) - Number(b));
  const available = variants.flatMap((variant) => at(variant, 'available') ?? []);
  const fields: ProductFields = {
    url,
    name: plain(item['title']),
    description: lines(item['body_html']),
    sku: textMember(at(variants[0], 'sku')),
    gtin: textMember(at(variants[0], 'barcode')),
    brand: textMember(item['vendor']),
    price: prices.at(0) ?? null,
    price_max: prices.at(-1) ?? null,
    currency,
    availability: available.length === 0 ? null : available.includes(true) ? 'in_stock' : 'out_of_stock',
    image_url: absoluteUrl(textMember(at(itemsOf(item['images'])[0], 'src')), base),
    rating: null,
    review_count: null,
  };
  return { id: normalisedUrl(url), sourceUrl: url, fields };
}
