import { describe, expect, test } from 'vitest';
import { addressOf, CONTENT, difference, extracted, numbered, textIn } from './software.ts';

const { boats, entries, authors } = CONTENT.wiki;
const site = addressOf('REAL_WIKI');
const boatTitles = numbered(boats, (number) => `Boat ${number}`);
/** The lines of that page, as a reader sees them. */
const HARBOUR = [
  'Harbour is where the boats are, and the Log book says when they left.',
  'Prices',
  'Boats for hire',
  'Boat Price',
  'Skiff 10',
  'Dinghy 12',
  'Open from May to October',
  'Closed in a storm & on Mondays',
  'Hire one.',
];
const FERRY = 'Ferry & Co? (100%)/Ålesund: C++';

/** Returns one of three kinds of author: a user of this wiki, a name imported with the history of another wiki, or an address. */
function authorOf(number: number): object {
  const name = authors[number % authors.length];
  if (name === 'Ben Ruiz') return { name: `imported>${name}`, url: null };
  return { name, url: `${site}/w/index.php?${new URLSearchParams({ title: `User:${name}` }).toString()}` };
}

describe('mediawiki', () => {
  test('search.pages finds all that match, over more than one page', async () => {
    const { fields, total, fetches } = await extracted('mediawiki', 'search.pages', { site, query: 'skiff' });
    const titles = fields.map(({ title }) => title);
    expect(difference(titles, [...boatTitles, 'Harbour'])).toEqual([]);
    expect([total, fetches]).toEqual([boats + 1, 2]);
    expect(fields.find(({ title }) => title === 'Boat 7')).toMatchObject({
      url: `${site}/wiki/Boat_7`,
      snippet: expect.stringContaining('skiff of the harbour'),
      namespace: 0,
      bytes: "'''Boat 7''' is a skiff of the harbour.\n\n[[Category:Boats]]".length,
      updated_at: '2020-01-02T08:07:00Z',
    });
  });

  test('page.content reads a page, through a redirect too', async () => {
    const { fields } = await extracted('mediawiki', 'page.content', { site, title: 'Old harbour' });
    expect(fields[0]).toMatchObject({
      title: 'Harbour',
      display_title: 'Harbour',
      wikitext: expect.stringMatching(/^'''Harbour''' is where/),
      html: expect.stringContaining('<b>Harbour</b> is where'),
      categories: ['Places'],
      external_links: ['https://boats.example/hire?from=wiki'],
    });
    expect(textIn(fields[0], 'text').split('\n')).toEqual(HARBOUR);
  });

  test('a title with every kind of sign leads to its page and to an address that works', async () => {
    const { fields } = await extracted('mediawiki', 'page.content', { site, title: FERRY });
    expect(fields[0]).toMatchObject({ title: FERRY, wikitext: 'A ferry.\n[[Category:Ferries]]' });
    const { fields: found } = await extracted('mediawiki', 'category.pages', { site, category: 'Ferries' });
    for (const one of [fields[0], found.find(({ title }) => title === FERRY)]) {
      const article = await extracted('generic', 'page.article', { url: textIn(one, 'url') });
      expect(article.fields[0]?.['text']).toContain('A ferry.');
    }
  });

  test('page.revisions reads the whole history, newest first', async () => {
    const { fields, fetches } = await extracted('mediawiki', 'page.revisions', { site, title: 'Log book' });
    const comments = numbered(entries, (number) => `Entry ${number}`).toReversed();
    expect(fields.map(({ comment }) => comment)).toEqual(comments);
    expect(fetches).toBe(2);
    expect(fields.filter(({ is_minor }) => is_minor === true)).toHaveLength(Math.floor(entries / 5));
    expect(fields.slice(0, 3).map(({ author }) => author)).toEqual(
      [entries, entries - 1, entries - 2].map((number) => authorOf(number)),
    );
    expect(fields.find(({ comment }) => comment === 'Entry 600')).toMatchObject({ author: null });
    expect(fields.at(-1)).toMatchObject({
      page_title: 'Log book',
      parent_id: null,
      bytes: 'Entry 1 of the book.'.length,
      tags: [],
      published_at: '2020-01-02T08:01:00Z',
    });
    expect(fields.slice(0, -1).map(({ parent_id }) => parent_id)).toEqual(fields.slice(1).map(({ id }) => id));
  });

  test('category.pages reads all members, and tells their kinds', async () => {
    const { fields, fetches } = await extracted('mediawiki', 'category.pages', { site, category: 'Boats' });
    expect(
      difference(
        fields.map(({ title }) => title),
        boatTitles,
      ),
    ).toEqual([]);
    expect([fields.length, fetches]).toEqual([boats, 2]);
    const ferries = await extracted('mediawiki', 'category.pages', { site, category: 'Category:Ferries' });
    expect(ferries.fields.map(({ title, kind, namespace }) => [title, kind, namespace])).toEqual(
      expect.arrayContaining([
        [FERRY, 'page', 0],
        ['Category:Boats', 'subcat', 14],
      ]),
    );
    expect(ferries.fields).toHaveLength(2);
  });

  test.each([
    ['page.content', 'title', 'Nothing here'],
    ['page.revisions', 'title', 'Nothing here'],
    ['page.content', 'title', 'Special:Version'],
  ])('%s of a %s without a page fails with source_not_found', async (operation, name, value) => {
    await expect(extracted('mediawiki', operation, { site, [name]: value })).rejects.toMatchObject({
      reason: 'source_not_found',
    });
  });

  test('a category that does not exist has no members, and a search without hits has the total 0', async () => {
    expect((await extracted('mediawiki', 'category.pages', { site, category: 'Nothing here' })).fields).toEqual([]);
    expect((await extracted('mediawiki', 'search.pages', { site, query: 'zeppelin' })).total).toBe(0);
  });

  test.each(['', '/wiki/Harbour', '/w', '/w/api.php', '/w/index.php'])('the wiki is found from %j', async (path) => {
    const { fields } = await extracted('mediawiki', 'page.content', { site: `${site}${path}`, title: 'Harbour' });
    expect(fields).toHaveLength(1);
  });
});

describe('generic, on a wiki', () => {
  test('site.urls lists its articles by the interface', async () => {
    const { fields } = await extracted('generic', 'site.urls', { url: site });
    expect(new Set(fields.map(({ found_in }) => found_in))).toEqual(new Set(['interface']));
    const urls = fields.map((one) => decodeURIComponent(textIn(one, 'url').replace(`${site}/wiki/`, '')));
    const others = ['Harbour', 'Log_book', 'Main_Page', FERRY.replaceAll(' ', '_')];
    expect(difference(urls, [...boatTitles.map((title) => title.replace(' ', '_')), ...others])).toEqual([]);
  });

  test('site.pages reads the articles of the wiki', async () => {
    const { fields } = await extracted('generic', 'site.pages', { url: `${site}/wiki/Main_Page` }, { limit: 12 });
    expect(fields).toHaveLength(12);
    const boat = fields.find(({ url }) => url === `${site}/wiki/Boat_1`);
    expect(boat).toMatchObject({ title: 'Boat 1', language: 'en', status: 200 });
    expect(boat?.['text']).toContain('Boat 1 is a skiff of the harbour.');
  });

  test('page.article, page.tables and page.links read a page as a reader sees it', async () => {
    const url = `${site}/wiki/Harbour`;
    const article = await extracted('generic', 'page.article', { url });
    expect(article.fields[0]).toMatchObject({ title: 'Harbour', language: 'en', url });
    expect(textIn(article.fields[0], 'text').split('\n')).toEqual(HARBOUR);
    const tables = await extracted('generic', 'page.tables', { url });
    expect(tables.fields.map(({ caption, values }) => [caption, values])).toEqual([
      ['Boats for hire', { Boat: 'Skiff', Price: '10' }],
      ['Boats for hire', { Boat: 'Dinghy', Price: '12' }],
    ]);
    const links = await extracted('generic', 'page.links', { url });
    expect(links.fields).toContainEqual(
      expect.objectContaining({ url: 'https://boats.example/hire?from=wiki', internal: false, nofollow: true }),
    );
  });
});
