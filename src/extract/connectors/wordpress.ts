import type { Connector, FoundRecord, JsonObject, JsonSchema, Operation, Source } from '../base/connector.ts';
import { isoDate } from '../read/dates.ts';
import { plainText, textOfHtml } from '../read/html.ts';
import { parseSite, type AddressQuery } from './kit/api-address.ts';
import { chained, type ChainStart, type PageResult, type ChainTurn } from './kit/chain.ts';
import { at, idOf, integerOf, itemsOf, listIn, readEach, textMember, unreadable, urlOf } from './kit/json.ts';
import * as schema from './kit/schema.ts';
import { beginAt, firstThatAnswers } from './kit/sites.ts';
import { wordpressPage, wordpressUrl, type WordpressPlace } from './kit/wordpress-pages.ts';

/** Source: the REST API handbook, "Pagination": `per_page` is at most 100. */
const PAGE_SIZE_MAX = 100;
const JSON_OF_POSTS = '_embed=author,wp:term,wp:featuredmedia';

interface Args extends JsonObject {
  /** Possible URLs of the site's WordPress, the most likely first. */
  readonly sites: readonly string[];
  /** Whether the interface is called with `?rest_route=`, as on sites without URL rewriting; null while unknown. */
  readonly byRoute: boolean | null;
  /** Size of a page if the site accepts only smaller ones than requested first; else null. */
  readonly sizeMax: number | null;
  readonly collection: 'posts' | 'pages' | 'comments';
  readonly search: string | null;
  readonly after: string | null;
  readonly before: string | null;
}

/** Fields that posts and pages have in common. */
const ARTICLE_FIELDS = {
  title: schema.textField('Without markup.'),
  excerpt: schema.textField('The excerpt as plain text.'),
  text: schema.textField('The whole content as plain text.'),
  html: schema.textField('The whole content as the site renders it.'),
  author: schema.authorField('Who wrote it, if the site shows its authors.'),
  published_at: schema.dateField('When it was published.'),
  updated_at: schema.dateField('When it was last changed.'),
};

const POST = schema.recordSchema({
  id: schema.idField('Number of the post on its site.'),
  url: schema.urlField('The post.'),
  ...ARTICLE_FIELDS,
  categories: schema.textsField('Names.'),
  tags: schema.textsField('Names.'),
  image_url: schema.urlField('The featured image.'),
});

const PAGE = schema.recordSchema({
  id: schema.idField('Number of the page on its site.'),
  url: schema.urlField('The page.'),
  ...ARTICLE_FIELDS,
  parent_id: schema.textField('Number of its parent page; null at the top level.'),
  image_url: schema.urlField('The featured image.'),
});

const COMMENT = schema.recordSchema({
  id: schema.idField('Number of the comment on its site.'),
  url: schema.urlField('The comment.'),
  post_id: schema.textField('Number of the post that it belongs to.'),
  parent_id: schema.textField('Number of the comment that it replies to; null if it replies to none.'),
  author: schema.authorField('Who wrote it.'),
  text: schema.textField('The comment as plain text.'),
  html: schema.textField('The comment as the site renders it.'),
  published_at: schema.dateField('When it was written.'),
});

const SITE = schema.siteInput(
  'Host name or URL of the site; with its path if WordPress is in a folder. For example `wordpress.org/news`.',
);
const SPAN = {
  published_after: schema.dateInput('Only what was published after this time.'),
  published_before: schema.dateInput('Only what was published before this time.'),
};

interface Kind {
  readonly name: string;
  readonly description: string;
  readonly collection: Args['collection'];
  readonly input: JsonSchema;
  readonly record: JsonSchema;
  readonly example: Operation['example'];
  /** Name of the input that contains the URL. */
  readonly addressIn: string;
  readonly sites: (site: string) => readonly string[];
  readonly readRecord: (item: JsonObject) => FoundRecord | null;
}

function operation(kind: Kind): Operation {
  const { name, description, input, record, example } = kind;
  return chained<Args>({
    name,
    description,
    input,
    record,
    example,
    tier: 'basic',
    paging: 'By page number, 100 a page; the site announces the total.',
    pageSizeMax: PAGE_SIZE_MAX,
    sizing: 'fixed',
    begin: (given) => begin(kind, given),
    read: (turn, source) => readPage(kind, turn, source),
  });
}

function begin(kind: Kind, input: JsonObject): ChainStart<Args> {
  const span: Record<'after' | 'before', string | null> = { after: null, before: null };
  for (const end of ['after', 'before'] as const) {
    const given = input[`published_${end}`];
    if (given === undefined) continue;
    span[end] = isoDate(given);
    if (span[end] === null) return { kind: 'fault', pointer: `/published_${end}`, message: 'This must be a date.' };
  }
  const argsOf = (site: string): Args => ({
    sites: kind.sites(site),
    byRoute: null,
    sizeMax: null,
    collection: kind.collection,
    search: textMember(input['query']),
    ...span,
  });
  return beginAt(input, argsOf, kind.addressIn);
}

async function readPage(
  kind: Kind,
  { args, at: page, size: wanted }: ChainTurn<Args>,
  source: Source,
): Promise<PageResult<Args>> {
  const number = Number(page ?? 1);
  const places = args.sites.flatMap((site) =>
    (args.byRoute === null ? [false, true] : [args.byRoute]).map((byRoute) => ({ site, byRoute })),
  );
  const asked = { size: Math.min(wanted, args.sizeMax ?? wanted), mayShrink: page === null };
  const { place, url, answer, size } = await firstThatAnswers(places, async (place: WordpressPlace) => {
    const found = await wordpressPage(source, (size) => urlOfPage(place, args, number, size), asked);
    // A site also responds with 400 for a page after its last one.
    if (found.answer.status !== 400) listIn(found.answer.body, 'the collection');
    return { place, ...found };
  });
  if (answer.status === 400) {
    if (at(answer.body, 'code') !== 'rest_post_invalid_page_number') throw unreadable(`400 from ${url}`);
    return { kind: 'page', records: [], next: null, total: null };
  }
  const items = listIn(answer.body, 'the collection');
  const pages = integerOf(answer.headers['x-wp-totalpages']);
  return {
    kind: 'page',
    records: readEach(items, (item) => kind.readRecord(item)),
    next: items.length > 0 && (pages === null ? items.length >= size : number < pages) ? number + 1 : null,
    total: integerOf(answer.headers['x-wp-total']),
    args: { ...args, sites: [place.site], byRoute: place.byRoute, sizeMax: size < wanted ? size : null },
  };
}

function urlOfPage(place: WordpressPlace, args: Args, page: number, size: number): string {
  const query: AddressQuery = {
    per_page: size,
    page,
    search: args.search,
    after: args.after,
    before: args.before,
    orderby: args.search === null ? 'date' : 'relevance',
    order: 'desc',
  };
  const url = wordpressUrl(place, ['wp', 'v2', args.collection], query);
  return args.collection === 'comments' ? url : `${url}&${JSON_OF_POSTS}`;
}

function readPost(item: JsonObject): FoundRecord | null {
  const article = readArticle(item);
  if (article === null) return null;
  const { image_url, ...fields } = article.fields;
  const terms = itemsOf(at(item, '_embedded', 'wp:term')).flatMap((group) => itemsOf(group));
  return {
    ...article,
    fields: { ...fields, categories: termsOf(terms, 'category'), tags: termsOf(terms, 'post_tag'), image_url },
  };
}

function readSitePage(item: JsonObject): FoundRecord | null {
  const article = readArticle(item);
  if (article === null) return null;
  const { image_url, ...fields } = article.fields;
  return { ...article, fields: { ...fields, parent_id: parentOf(item), image_url } };
}

/** Reads the fields that posts and pages have in common. */
function readArticle(
  item: JsonObject,
): (FoundRecord & { readonly fields: { readonly image_url: string | null } }) | null {
  const id = idOf(item['id']);
  const url = urlOf(item['link']);
  if (id === null || url === null) return null;
  const html = textMember(at(item, 'content', 'rendered'));
  const [writer] = itemsOf(at(item, '_embedded', 'author'));
  const [image] = itemsOf(at(item, '_embedded', 'wp:featuredmedia'));
  return {
    id: `${textMember(item['type']) ?? 'post'}:${id}`,
    sourceUrl: url,
    fields: {
      id,
      url,
      title: plainText(textMember(at(item, 'title', 'rendered'))),
      excerpt: plainText(textMember(at(item, 'excerpt', 'rendered'))),
      text: textOfHtml(html),
      html,
      author: schema.author(plainText(textMember(at(writer, 'name'))), urlOf(at(writer, 'link'))),
      published_at: isoDate(item['date_gmt']),
      updated_at: isoDate(item['modified_gmt']),
      image_url: urlOf(at(image, 'source_url'), url),
    },
  };
}

function readComment(item: JsonObject): FoundRecord | null {
  const id = idOf(item['id']);
  const url = urlOf(item['link']);
  if (id === null || url === null) return null;
  const html = textMember(at(item, 'content', 'rendered'));
  return {
    id: `comment:${id}`,
    sourceUrl: url,
    fields: {
      id,
      url,
      post_id: idOf(item['post']),
      parent_id: parentOf(item),
      author: schema.author(plainText(textMember(item['author_name'])), urlOf(item['author_url'])),
      text: textOfHtml(html),
      html,
      published_at: isoDate(item['date_gmt']),
    },
  };
}

/** Returns the names of a taxonomy's terms; null if no terms were embedded. */
function termsOf(terms: readonly JsonObject[string][], taxonomy: string): readonly string[] | null {
  if (terms.length === 0) return null;
  return terms.flatMap((term) =>
    at(term, 'taxonomy') === taxonomy ? (plainText(textMember(at(term, 'name'))) ?? []) : [],
  );
}

function parentOf(item: JsonObject): string | null {
  return item['parent'] === 0 ? null : idOf(item['parent']);
}

/** A company's blog is next to its other pages, which often run on other software. */
function companySites(site: string): readonly string[] {
  const company = parseSite(site);
  return company.kind === 'fault' ? [] : [company.url, `${company.url}/blog`, `${company.url}/news`];
}

const EXAMPLE_ARTICLE = {
  id: '17',
  url: 'https://blog.example.com/2024/05/opening-hours/',
  title: 'Opening hours & holidays',
  excerpt: 'We are open again.',
  text: 'We are open again.\nMonday to Friday.',
  html: '<p>We are open again.</p><p>Monday to Friday.</p>',
  author: { name: 'Ada Park', url: 'https://blog.example.com/author/ada/' },
  published_at: '2024-05-02T08:00:00Z',
  updated_at: '2024-05-03T10:30:00Z',
};
const EXAMPLE_POST = {
  ...EXAMPLE_ARTICLE,
  categories: ['News'],
  tags: ['holidays'],
  image_url: 'https://blog.example.com/wp-content/uploads/door.jpg',
};

export const wordpress: Connector = {
  id: 'wordpress',
  title: 'WordPress',
  description:
    'Posts, pages and comments of any site that runs WordPress 4.7 or newer and leaves its REST interface open, as it is by default.',
  docsUrl: 'https://developer.wordpress.org/rest-api/reference/',
  terms: {
    termsUrl: null,
    attribution: null,
    ratePolicy: 'Each site sets its own; requests are spaced per registrable domain.',
  },
  operations: [
    operation({
      name: 'site.posts',
      description: 'All posts of a site, newest first.',
      collection: 'posts',
      input: schema.inputSchema({ site: SITE, ...SPAN }, ['site']),
      record: POST,
      example: { input: { site: 'blog.example.com' }, record: EXAMPLE_POST },
      addressIn: 'site',
      sites: (site) => [site],
      readRecord: readPost,
    }),
    operation({
      name: 'site.pages',
      description: 'All pages of a site, newest first.',
      collection: 'pages',
      input: schema.inputSchema({ site: SITE }, ['site']),
      record: PAGE,
      example: {
        input: { site: 'https://blog.example.com' },
        record: { ...EXAMPLE_ARTICLE, parent_id: null, image_url: null },
      },
      addressIn: 'site',
      sites: (site) => [site],
      readRecord: readSitePage,
    }),
    operation({
      name: 'site.comments',
      description: 'All published comments of a site, newest first.',
      collection: 'comments',
      input: schema.inputSchema({ site: SITE, ...SPAN }, ['site']),
      record: COMMENT,
      example: {
        input: { site: 'blog.example.com' },
        record: {
          id: '204',
          url: 'https://blog.example.com/2024/05/opening-hours/#comment-204',
          post_id: '17',
          parent_id: null,
          author: { name: 'Noor', url: null },
          text: 'Thank you!',
          html: '<p>Thank you!</p>',
          published_at: '2024-05-02T09:12:00Z',
        },
      },
      addressIn: 'site',
      sites: (site) => [site],
      readRecord: readComment,
    }),
    operation({
      name: 'search.posts',
      description: "Posts of a site that match the query, in the order of the site's own search.",
      collection: 'posts',
      input: schema.inputSchema({ site: SITE, query: schema.queryInput('Words to look for.'), ...SPAN }, [
        'site',
        'query',
      ]),
      record: POST,
      example: { input: { site: 'blog.example.com', query: 'holidays' }, record: EXAMPLE_POST },
      addressIn: 'site',
      sites: (site) => [site],
      readRecord: readPost,
    }),
    operation({
      name: 'company.posts',
      description:
        "Posts of a company's blog: WordPress is searched for at the given website, then under `/blog` and `/news`.",
      collection: 'posts',
      input: schema.inputSchema(
        { company: schema.siteInput("Host name or URL of the company's website, for example `example.com`."), ...SPAN },
        ['company'],
      ),
      record: POST,
      example: { input: { company: 'blog.example.com' }, record: EXAMPLE_POST },
      addressIn: 'company',
      sites: companySites,
      readRecord: readPost,
    }),
  ],
};
