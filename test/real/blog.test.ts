import { describe, expect, test } from 'vitest';
import { addressOf, CONTENT, difference, extracted, numbered, textIn } from './software.ts';

const { posts, pages, comments, found } = CONTENT.blog;
const blog = addressOf('REAL_BLOG');
const plainBlog = addressOf('REAL_PLAIN_BLOG');
/** Newest first. The newest post has a password. */
const postTitles = ['Locked', ...numbered(posts, (number) => `Post ${number} & more`).toReversed()];

/** An hour apart; see `blog-fill.php`. */
function timeOf(number: number): string {
  return new Date(Date.UTC(2020, 0, 2, 22, 30) + number * 3_600_000).toISOString().replace('.000Z', 'Z');
}

describe.each([
  ['with readable links', blog],
  ['with plain links', plainBlog],
])('wordpress, %s', (_, site) => {
  test('site.posts reads all posts that are public, newest first', async () => {
    const { fields, total, fetches } = await extracted('wordpress', 'site.posts', { site });
    expect(fields.map(({ title }) => title)).toEqual(postTitles);
    expect([total, fetches]).toEqual([posts + 1, 2]);
    expect(JSON.stringify(fields)).not.toContain('Secret');
    expect(fields.find(({ title }) => title === 'Post 1 & more')).toMatchObject({
      url: expect.stringMatching(site === blog ? /\/2020\/01\/post-1-more\/$/ : /\/\?p=\d+$/),
      excerpt: 'About boat 1.',
      text: 'Limescale in the “kettle” of boat 1.\nBoil it\nRinse it',
      author: { name: 'Ben "B." Ruiz & Sons', url: expect.stringContaining(site) },
      published_at: timeOf(1),
      updated_at: timeOf(1),
      categories: ['News & dates'],
      tags: [],
      image_url: expect.stringMatching(/\/uploads\/door\.png$/),
    });
    expect(fields.find(({ title }) => title === 'Post 2 & more')).toMatchObject({
      author: { name: 'Ada Quist', url: expect.any(String) },
      tags: ['salt & pepper', 'tea'],
      image_url: null,
    });
  });

  test('site.posts returns only the posts between two times', async () => {
    const span = { published_after: timeOf(10), published_before: timeOf(13) };
    const { fields } = await extracted('wordpress', 'site.posts', { site, ...span });
    expect(fields.map(({ title }) => title)).toEqual(['Post 12 & more', 'Post 11 & more']);
  });

  test('site.pages reads all pages', async () => {
    const { fields, total, fetches } = await extracted('wordpress', 'site.pages', { site });
    expect(fields.map(({ title }) => title)).toEqual(numbered(pages, (number) => `Page ${number}`).toReversed());
    expect([total, fetches]).toEqual([pages, 2]);
    expect(fields[0]).toMatchObject({ author: { name: 'Ada Quist' }, image_url: expect.stringMatching(/door\.png$/) });
    const first = fields.at(-1);
    expect(first).toMatchObject({ text: 'Page 1 of the harbour.', parent_id: null, published_at: timeOf(1) });
    expect(new Set(fields.slice(0, -1).map(({ parent_id }) => parent_id))).toEqual(new Set([first?.['id']]));
  });

  test('site.comments reads those that are published', async () => {
    const { fields, total, fetches } = await extracted('wordpress', 'site.comments', { site });
    expect(fields.map(({ text }) => text)).toEqual(
      numbered(comments, (number) => `Thank you for ${number} of them.`).toReversed(),
    );
    expect([total, fetches]).toEqual([comments, 2]);
    const [first, second] = [fields.at(-1), fields.at(-2)];
    expect(first).toMatchObject({
      parent_id: null,
      author: { name: 'Noor & Lio', url: 'https://noor.example/' },
      published_at: timeOf(1),
    });
    expect(second).toMatchObject({ parent_id: first?.['id'], author: { name: 'Noor', url: null } });
  });

  test('search.posts finds what the site’s search finds', async () => {
    const { fields, total } = await extracted('wordpress', 'search.posts', { site, query: 'limescale kettle' });
    const titles = numbered(found, (number) => `Post ${number} & more`);
    expect(
      difference(
        fields.map(({ title }) => title),
        titles,
      ),
    ).toEqual([]);
    expect(total).toBe(found);
  });

  test('company.posts reads the posts of the site', async () => {
    const { fields } = await extracted('wordpress', 'company.posts', { company: site }, { limit: 3 });
    expect(fields.map(({ title }) => title)).toEqual(postTitles.slice(0, 3));
  });

  test('mediawiki fails on a blog with source_not_found or unsupported_content', async () => {
    await expect(extracted('mediawiki', 'page.content', { site, title: 'x' })).rejects.toMatchObject({
      reason: expect.stringMatching(/^(?:source_not_found|unsupported_content)$/),
    });
  });

  test('generic site.pages reads pages and posts by the interface', async () => {
    const { fields } = await extracted('generic', 'site.pages', { url: site });
    const titles = [...numbered(pages, (number) => `Page ${number}`), ...postTitles];
    expect(
      difference(
        fields.map(({ title }) => title),
        titles,
      ),
    ).toEqual([]);
    expect(fields).toHaveLength(pages + posts + 1);
    expect(fields.find(({ title }) => title === 'Post 2 & more')).toMatchObject({
      description: 'About boat 2.',
      text: 'Limescale in the “kettle” of boat 2.\nBoil it\nRinse it',
      language: 'en-US',
      published_at: timeOf(2),
    });
  });

  test('generic site.urls reads the sitemaps', async () => {
    const { fields } = await extracted('generic', 'site.urls', { url: site });
    expect(new Set(fields.map(({ found_in }) => found_in))).toEqual(new Set(['sitemap']));
    expect(fields.length).toBeGreaterThanOrEqual(pages + posts);
    const { fields: all } = await extracted('wordpress', 'site.posts', { site }, { limit: 5 });
    for (const { url } of all) expect(fields.map((one) => one['url'])).toContain(url);
  });

  test('generic page.article reads a post as a reader sees it', async () => {
    const { fields } = await extracted('wordpress', 'site.posts', { site, published_before: timeOf(4) }, { limit: 1 });
    const article = await extracted('generic', 'page.article', { url: textIn(fields[0], 'url') });
    expect(article.fields[0]).toMatchObject({
      title: 'Post 3 & more',
      canonical_url: fields[0]?.['url'],
      language: 'en-US',
    });
    expect(article.fields[0]?.['text']).toContain('Limescale in the “kettle” of boat 3.\nBoil it\nRinse it');
  });

  test('feed.items and company.posts find its feed', async () => {
    for (const operation of ['feed.items', 'company.posts']) {
      const { fields } = await extracted('feed', operation, { url: site });
      expect(fields.map(({ title }) => title)).toEqual(['Protected: Locked', ...postTitles.slice(1, 10)]);
      expect(fields[2]).toMatchObject({
        authors: [posts % 2 === 0 ? 'Ben "B." Ruiz & Sons' : 'Ada Quist'],
        published_at: timeOf(posts - 1),
        summary: `About boat ${posts - 1}.`,
        text: `Salt in the “kettle” of boat ${posts - 1}.\nBoil it\nRinse it`,
        feed_title: 'Harbour & coast',
      });
    }
  });
});
