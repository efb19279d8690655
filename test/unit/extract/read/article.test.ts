import { describe, expect, test } from 'vitest';
import { readArticle } from '../../../../src/extract/read/article.ts';
import { markup, page } from '../../../support/pages.ts';

describe('readArticle', () => {
  const article = readArticle(page('article/news.page', 'https://courier.example/news/2026/bridge?from=mail'));

  test('data from JSON-LD takes precedence over other marks and guesses', () => {
    expect(article).toMatchObject({
      title: 'Harbour bridge reopens after nine months & three days',
      byline: 'Ada Quist, Ben Ruiz',
      publishedAt: '2026-03-02T07:30:00Z',
      modifiedAt: '2026-03-02T12:00:00Z',
      siteName: 'The Coast Courier Ltd',
      language: 'en-GB',
      excerpt: 'Traffic flows again across the harbour.',
      imageUrl: 'https://courier.example/img/bridge.jpg',
      canonicalUrl: 'https://courier.example/news/2026/bridge?utm_source=front',
    });
  });

  test('the text contains the paragraphs and nothing that surrounds them', () => {
    expect(article?.text).toMatch(
      /^.*The harbour bridge carried its first cars[\s\S]*\nEngineers replaced[\s\S]*western approach\.$/m,
    );
    for (const other of ['Sport', 'cookies', 'tracker', 'Most read', 'Copyright'])
      expect(article?.text).not.toContain(other);
    expect(article?.wordCount).toBeGreaterThan(110);
    expect(article?.wordCount).toBeLessThan(150);
  });

  test('an article without marks is found by its text', () => {
    const plain = readArticle(page('article/plain-blog.page'));
    expect(plain).toMatchObject({
      title: 'Sourdough in winter',
      language: 'de-AT',
      publishedAt: '2025-12-24T00:00:00Z',
    });
    expect(plain?.text).toContain('Kachelofen');
    expect(plain?.text).not.toContain('Über mich');
    expect(plain?.excerpt?.length).toBeLessThanOrEqual(300);
  });

  test('the text of a wiki page excludes what the wiki software inserts', () => {
    const wiki = markup(`<title>Harbour - Coast wiki</title><h1>Harbour</h1><div id="siteSub">From Coast wiki</div>
      <div class="mw-body-content mw-parser-output"><p>Where the boats are.</p><div class="toc"><ul><li>1 Prices</ul></div>
      <h2>Prices<span class="mw-editsection">[edit]</span></h2><style>x{}</style><ul><li>Skiff: 10</ul></div>
      <div class="printfooter">Retrieved from here</div>`);
    expect(readArticle(wiki)).toMatchObject({ title: 'Harbour', text: 'Where the boats are.\nPrices\nSkiff: 10' });
  });

  const words = 'The harbour opens in March, and boats go out each morning until the fog comes in. '.repeat(12);
  test.each([
    ['html, head and body', `<!doctype html><title>V</title><p>${words}</p><p>${words}</p>`],
    ['html', `<!doctype html><head><title>V</title></head><body><h1>V</h1><p>${words}</p><p>${words}</p></body>`],
    ['body', `<html lang=en><head><title>V</title></head><h1>V</h1><p>${words}</p><p>${words}</p></html>`],
    ['head', `<html><title>V</title><body><p>${words}</p><p>${words}</p></body></html>`],
    ['all of them, beginning with its text', `<div><p>${words}</p><p>${words}</p></div>`],
  ])('an article is found when a page omits optional tags: %s', (_what, text) => {
    expect(readArticle(markup(text))?.wordCount).toBeGreaterThan(350);
  });

  test('readArticle returns null if there is no readable text', () => {
    expect(readArticle(page('article/menu-only.page'))).toBeNull();
    expect(readArticle(markup(''))).toBeNull();
    expect(readArticle(markup('\u0000\uFFFD<'))).toBeNull();
  });

  test('a short paragraph beside a long one is part of the text', () => {
    const found = readArticle(markup(`<main><p>The bridge is open.</p><p>${words}</p></main>`));
    expect(found?.text.startsWith('The bridge is open.')).toBe(true);
  });

  test('NUL bytes within a page are ignored, also within tags', () => {
    const found = readArticle(markup(`<main><p cl\0ass=x>The har\0bour opens.</p><p>${words}</p></main>`));
    expect(found?.text.startsWith('The harbour opens.')).toBe(true);
  });

  test('an article contains no markup', () => {
    const text = 'Words and &lt;b&gt;more&lt;/b&gt; words, so that this is long enough to be read. '.repeat(20);
    expect(readArticle(markup(`<article><p>${text}</p><p onclick="x()">${text}</p></article>`))?.text).not.toMatch(
      /onclick|<p/,
    );
  });

  test('an article is found on a page that is too large only because of scripts, styles and comments', () => {
    const script = `<script>${'window.state = { "<div>": 1 };'.repeat(30_000)}</script>`;
    const style = `<style>${'.a { margin: 0 }'.repeat(30_000)}</style><!--${' - '.repeat(100_000)}-->`;
    const text = `<p>${words}</p>`.repeat(60);
    const found = readArticle(markup(`<title>V</title>${script}${style}<div><h1>V</h1>${text}</div>${script}`));
    expect(found?.wordCount).toBe(60 * 12 * 16 + 1);
  });

  test('a page of more than 20,000 elements without a main part is read', () => {
    const rows = Array.from({ length: 25_000 }, (_, at) => `<p>Line ${at} of the <b>logbook</b>`).join('');
    const found = readArticle(markup(`<nav>menu</nav><div id=log><h1>Logbook</h1>${rows}</div><footer>foot</footer>`));
    expect(found?.text.startsWith('Logbook\nLine 0 of the logbook\nLine 1 ')).toBe(true);
    expect(found?.text).not.toContain('menu');
    expect(found).toMatchObject({ isTextTruncated: true, wordCount: 125_001 });
    expect(found?.text.length).toBe(500_000);
  });
});
