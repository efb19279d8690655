import { SourceFailure, type Connector, type FoundRecord, type JsonObject, type Operation } from '../base/connector.ts';
import type { AddressQuery } from './kit/api-address.ts';
import { chained } from './kit/chain.ts';
import { at, givenText, integerOf, listIn, readEach, textMember } from './kit/json.ts';
import * as schema from './kit/schema.ts';
import { beginAt, firstThatAnswers } from './kit/sites.ts';
import { askWiki, wikiApis, wikiContinuation, wikiCursor } from './mediawiki/wiki-api.ts';
import { readWikiHit, readWikiMember, readWikiPage, readWikiRevision } from './mediawiki/wiki-records.ts';

/** Source: API:Etiquette and the limits of `list=` modules for those without the right `apihighlimits`. */
const PAGE_SIZE_MAX = 500;
/** With this, a list also returns the wiki's URL pattern. */
const SITE_INFO = { meta: 'siteinfo', siprop: 'general' };
/** Characters that no title contains. Source: Manual:$wgLegalTitleChars. */
const NAME_PATTERN = '^[^\\u0000-\\u001F|#<>\\[\\]{}]+$';

interface Args extends JsonObject {
  /** Possible URLs of `api.php`, the most likely first. */
  readonly apis: readonly string[];
  /** The query, the title or the category. */
  readonly what: string;
}

/** What one operation requests from the wiki, and how to read the response. */
interface Reading {
  readonly name: string;
  readonly description: string;
  readonly paging: string;
  readonly pageSizeMax: number;
  readonly input: Operation['input'];
  readonly record: Operation['record'];
  readonly example: Operation['example'];
  /** Name of the input that identifies what to read. */
  readonly whatIn: string;
  readonly query: (what: string, size: number) => AddressQuery;
  readonly readBody: (
    body: JsonObject,
    api: string,
  ) => { readonly records: readonly FoundRecord[]; readonly total: number | null };
}

function operation(reading: Reading): Operation {
  const { whatIn, query, readBody, ...operation } = reading;
  return chained<Args>({
    ...operation,
    tier: 'basic',
    sizing: 'free',
    begin: (input) => beginAt(input, (site) => ({ apis: wikiApis(site), what: givenText(input, whatIn) })),
    read: async ({ args, at: cursor, size }, source) => {
      const asked = { ...wikiContinuation(cursor), ...query(args.what, size) };
      const { api, answer } = await firstThatAnswers(args.apis, async (api: string) => ({
        api,
        answer: await askWiki(source, api, asked),
      }));
      if (answer.kind === 'later') return answer;
      return {
        kind: 'page',
        ...readBody(answer.body, api),
        next: wikiCursor(answer.body),
        args: { ...args, apis: [api] },
      };
    },
  });
}

const SITE = schema.siteInput(
  'Host name or URL of the wiki, or the URL of its `api.php`. For example `en.wikipedia.org`.',
);
const EXAMPLE_PAGE = {
  id: '312',
  url: 'https://wiki.example.org/wiki/Earl_Grey',
  title: 'Earl Grey',
};

export const mediawiki: Connector = {
  id: 'mediawiki',
  title: 'MediaWiki',
  description:
    'Pages, their revisions and categories of any wiki that runs MediaWiki 1.25 or newer, such as Wikipedia.',
  docsUrl: 'https://www.mediawiki.org/wiki/API:Main_page',
  terms: {
    termsUrl: 'https://www.mediawiki.org/wiki/API:Etiquette',
    attribution: "Each wiki states its licence; Wikipedia's text is CC BY-SA 4.0, which requires naming the authors.",
    ratePolicy: 'One request at a time. If the databases of a wiki lag by over 5 s, the job waits.',
  },
  operations: [
    operation({
      name: 'search.pages',
      description: "Pages that a wiki's own full-text search finds, in the order of that search.",
      paging:
        "By the wiki's own continuation, 500 a page; the wiki announces the total. Searches of large wikis end at 10,000 results.",
      pageSizeMax: PAGE_SIZE_MAX,
      input: schema.inputSchema({ site: SITE, query: schema.queryInput('Words to look for.') }, ['site', 'query']),
      record: schema.recordSchema({
        id: schema.idField('Number of the page in its wiki.'),
        url: schema.urlField('The page.'),
        title: schema.textField('Title, including its namespace if it has one.'),
        snippet: schema.textField('The matching part of the page, as plain text.'),
        namespace: schema.countField('Number of the namespace; 0 holds articles.'),
        words: schema.countField('Number of words.'),
        bytes: schema.countField('Size of its wikitext, bytes.'),
        updated_at: schema.dateField('When it was last changed.'),
      }),
      example: {
        input: { site: 'wiki.example.org', query: 'bergamot' },
        record: {
          ...EXAMPLE_PAGE,
          snippet: 'black tea with oil of bergamot',
          namespace: 0,
          words: 812,
          bytes: 6104,
          updated_at: '2024-05-01T12:00:00Z',
        },
      },
      whatIn: 'query',
      query: (what, size) => ({
        action: 'query',
        list: 'search',
        srsearch: what,
        // Without this option, wikis without a separate search service search only titles.
        srwhat: 'text',
        srlimit: size,
        srprop: 'size|wordcount|timestamp|snippet',
        ...SITE_INFO,
      }),
      readBody: (body, api) => ({
        records: readEach(listIn(at(body, 'query', 'search'), 'query.search'), (item) =>
          readWikiHit(item, api, at(body, 'query', 'general')),
        ),
        total: integerOf(at(body, 'query', 'searchinfo', 'totalhits')),
      }),
    }),
    operation({
      name: 'page.content',
      description: 'One page: its text, its HTML and its wikitext. Redirects of the wiki are followed.',
      paging: 'One page.',
      pageSizeMax: 1,
      input: schema.inputSchema({ site: SITE, title: schema.nameInput('Title of the page.', NAME_PATTERN, 255) }, [
        'site',
        'title',
      ]),
      record: schema.recordSchema({
        id: schema.idField('Number of the page in its wiki.'),
        url: schema.urlField('The page.'),
        title: schema.textField('Title, including its namespace if it has one.'),
        display_title: schema.textField('The title as the page shows it.'),
        text: schema.textField('The page as plain text.'),
        html: schema.textField('The page as the wiki renders it.'),
        wikitext: schema.textField('The source of the page.'),
        revision_id: schema.textField('Number of the revision.'),
        categories: schema.textsField('Names of its categories, without hidden ones.'),
        external_links: schema.textsField('Addresses outside the wiki that the page links to.'),
      }),
      example: {
        input: { site: 'https://wiki.example.org', title: 'Earl Grey' },
        record: {
          ...EXAMPLE_PAGE,
          url: 'https://wiki.example.org/w/index.php?title=Earl_Grey',
          display_title: 'Earl Grey',
          text: 'Earl Grey is a tea.',
          html: '<p><b>Earl Grey</b> is a tea.</p>',
          wikitext: "'''Earl Grey''' is a tea.",
          revision_id: '9001',
          categories: ['Black tea'],
          external_links: ['https://tea.example/'],
        },
      },
      whatIn: 'title',
      query: (what) => ({
        action: 'parse',
        page: what,
        redirects: 1,
        prop: 'text|wikitext|revid|categories|displaytitle|externallinks',
        disableeditsection: 1,
        disabletoc: 1,
      }),
      readBody: (body, api) => ({ records: [readWikiPage(body, api)], total: 1 }),
    }),
    operation({
      name: 'page.revisions',
      description: 'The revisions of a page, newest first, without their texts.',
      paging: "By the wiki's own continuation, 500 a page; no total is announced.",
      pageSizeMax: PAGE_SIZE_MAX,
      input: schema.inputSchema({ site: SITE, title: schema.nameInput('Title of the page.', NAME_PATTERN, 255) }, [
        'site',
        'title',
      ]),
      record: schema.recordSchema({
        id: schema.idField('Number of the revision.'),
        url: schema.urlField('Address of the page as of this revision.'),
        page_title: schema.textField('Title of the page.'),
        parent_id: schema.textField('Number of the revision before it; null for the first.'),
        author: schema.authorField('Who made it; null if that was hidden.'),
        comment: schema.textField("Its author's summary of the change, as wikitext."),
        is_minor: schema.flagField('Whether its author marked it as minor.'),
        bytes: schema.countField('Size of the wikitext, bytes.'),
        tags: schema.textsField('Its tags in the wiki.'),
        published_at: schema.dateField('When it was made.'),
      }),
      example: {
        input: { site: 'wiki.example.org', title: 'Earl Grey' },
        record: {
          id: '9001',
          url: 'https://wiki.example.org/w/index.php?oldid=9001',
          page_title: 'Earl Grey',
          parent_id: '8990',
          author: { name: 'Lio', url: 'https://wiki.example.org/w/index.php?title=User%3ALio' },
          comment: 'typo',
          is_minor: true,
          bytes: 6104,
          tags: ['mobile edit'],
          published_at: '2024-05-01T12:00:00Z',
        },
      },
      whatIn: 'title',
      query: (what, size) => ({
        action: 'query',
        prop: 'revisions',
        titles: what,
        redirects: 1,
        rvlimit: size,
        rvprop: 'ids|timestamp|user|comment|size|flags|tags',
      }),
      readBody: (body, api) => {
        const [page] = listIn(at(body, 'query', 'pages'), 'query.pages');
        if (at(page, 'missing') === true || at(page, 'invalid') === true)
          throw new SourceFailure('source_not_found', `${api}: no such page`, false);
        const title = textMember(at(page, 'title'));
        const items = listIn(at(page, 'revisions'), 'revisions');
        return { records: readEach(items, (item) => readWikiRevision(item, title, api)), total: null };
      },
    }),
    operation({
      name: 'category.pages',
      description: 'The pages, files and subcategories of a category.',
      paging: "By the wiki's own continuation, 500 a page; no total is announced.",
      pageSizeMax: PAGE_SIZE_MAX,
      input: schema.inputSchema(
        {
          site: SITE,
          category: schema.nameInput('Name of the category, with or without `Category:`.', NAME_PATTERN, 255),
        },
        ['site', 'category'],
      ),
      record: schema.recordSchema({
        id: schema.idField('Number of the page in its wiki.'),
        url: schema.urlField('The page.'),
        title: schema.textField('Title, including its namespace if it has one.'),
        kind: schema.textField('`page`, `file` or `subcat`.'),
        namespace: schema.countField('Number of the namespace; 0 holds articles.'),
        added_at: schema.dateField('When it was put into the category.'),
      }),
      example: {
        input: { site: 'wiki.example.org', category: 'Black tea' },
        record: { ...EXAMPLE_PAGE, kind: 'page', namespace: 0, added_at: '2023-11-20T08:15:00Z' },
      },
      whatIn: 'category',
      query: (what, size) => ({
        action: 'query',
        list: 'categorymembers',
        // Every wiki accepts the English name of the namespace. A name in the wiki's own language already contains a colon.
        cmtitle: what.includes(':') ? what : `Category:${what}`,
        cmlimit: size,
        cmprop: 'ids|title|type|timestamp',
        ...SITE_INFO,
      }),
      readBody: (body, api) => ({
        records: readEach(listIn(at(body, 'query', 'categorymembers'), 'query.categorymembers'), (item) =>
          readWikiMember(item, api, at(body, 'query', 'general')),
        ),
        total: null,
      }),
    }),
  ],
};
