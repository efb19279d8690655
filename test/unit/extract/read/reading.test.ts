import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Page } from '../../../../src/extract/base/connector.ts';
import { pageRecord } from '../../../../src/extract/connectors/generic/site-records.ts';
import { scopeOf } from '../../../../src/extract/connectors/generic/scope.ts';
import { readArticle } from '../../../../src/extract/read/article.ts';
import { readMeta } from '../../../../src/extract/read/meta.ts';
import { markup, pageText } from '../../../support/pages.ts';

/** Pages written for this project. The first line of each says which sentences its text must and must not have. */

interface Expected {
  readonly with: readonly string[];
  readonly without: readonly string[];
}

const FOLDER = new URL('../../../pages/reading/', import.meta.url);
const URL_OF_PAGE = 'https://gazette.example/story';

const PAGES = readdirSync(FOLDER).map((file) => {
  const [first = '', ...rest] = pageText(`reading/${file}`).split('\n');
  const expected = JSON.parse(first.slice('<!--'.length, -'-->'.length)) as Expected;
  return { name: file, expected, text: rest.join('\n') };
});

function crawled(text: string): string | null {
  const html = markup(text, URL_OF_PAGE);
  const page: Page = { url: URL_OF_PAGE, status: 200, contentType: 'text/html', text, headers: {} };
  return pageRecord(html, page, readMeta(html, {}), scopeOf(URL_OF_PAGE, {}, true)).fields['text'] as string | null;
}

describe.each(PAGES)('the text of $name', ({ expected, text }) => {
  const article = readArticle(markup(text, URL_OF_PAGE))?.text ?? '';

  test('The text has all of the article and nothing of what surrounds it or is hidden', () => {
    const missing = expected.with.filter((part) => !article.includes(part));
    const foreign = expected.without.filter((part) => article.includes(part));
    expect({ missing, foreign }).toEqual({ missing: [], foreign: [] });
  });

  test('A crawl of the site reads the same text', () => {
    expect(crawled(text)).toBe(article);
  });
});

const SHOWN =
  'The swing bridge is closed for repairs until Thursday noon. Walkers may use the lock gates in the meantime.';
const SECRET =
  'Nobody who opens this page in a browser can see these words, which are there for machines alone. '.repeat(8);

describe('text that a page hides', () => {
  test.each([
    ['a main part within a template', `<template><main><p>${SECRET}</p></main></template>`],
    ['a hidden main part', `<main hidden><p>${SECRET}</p></main>`],
    ['display: none', `<div style="color:red; DISPLAY : none !important"><p>${SECRET}</p></div>`],
    ['visibility: hidden', `<div style="visibility:hidden"><p>${SECRET}</p></div>`],
    ['aria-hidden', `<div aria-hidden="true"><p>${SECRET}</p></div>`],
    ['a closed dialog', `<dialog><p>${SECRET}</p></dialog>`],
    ['a popover', `<div popover><p>${SECRET}</p></div>`],
    ['a noscript', `<noscript><p>${SECRET}</p></noscript>`],
    ['a place off the screen', `<div style="position:absolute;left:-9999px"><p>${SECRET}</p></div>`],
    ['a hidden article', `<article hidden><p>${SECRET}</p></article>`],
  ])('%s is never part of the text, before or within the main part', (_kind, hidden) => {
    for (const text of [
      `<title>Bridge</title><body>${hidden}<main><h1>Bridge closed</h1><p>${SHOWN}</p><p>${SHOWN}</p></main>`,
      `<title>Bridge</title><body><main><h1>Bridge closed</h1><p>${SHOWN}</p>${hidden}<p>${SHOWN}</p></main>`,
      `<title>Bridge</title><body><div><h1>Bridge closed</h1><p>${SHOWN}</p>${hidden}</div>`,
    ]) {
      const article = readArticle(markup(text))?.text ?? crawled(text) ?? '';
      expect(article).toContain('swing bridge');
      expect(article).not.toContain('Nobody who opens');
      expect(crawled(text)).not.toContain('Nobody who opens');
    }
  });

  test('The panels of tabs, which readers open, are part of the text', () => {
    const panel = (n: number): string =>
      `<div role="tabpanel" ${n > 0 ? 'hidden style="display:none"' : ''}><p>Panel ${n}. ${SHOWN}</p></div>`;
    const text = readArticle(markup(`<main><h1>Ways</h1>${[0, 1, 2].map(panel).join('')}</main>`))?.text;
    expect(text).toContain('Panel 0.');
    expect(text).toContain('Panel 2.');
  });

  test('A page that shows nothing without scripts is read as a browser without scripts shows it', () => {
    const text = `<title>Thread</title><body><div id="app"></div><noscript><article><h1>Thread</h1><p>${SHOWN}</p><p>${SHOWN}</p></article></noscript>`;
    expect(readArticle(markup(text))?.text).toContain('swing bridge');
  });

  test('A tree is put back after reading, so that other readers see all of it', () => {
    const page = markup(`<main><h1>Bridge</h1><p>${SHOWN}</p><p hidden>Later</p><p>${SHOWN}</p></main>`);
    const before = JSON.stringify(childCounts(page.root));
    readArticle(page);
    expect(JSON.stringify(childCounts(page.root))).toBe(before);
  });
});

function childCounts(node: ReturnType<typeof markup>['root']): unknown {
  return node.children.map((child) => ('children' in child ? childCounts(child as never) : 0));
}

describe('notices about cookies', () => {
  const NOTICE =
    'We and our partners store cookies to count visits and to show offers; consent can be withdrawn at any time. '.repeat(
      12,
    );
  const page = (notice: string): string =>
    `<title>Bridge closed</title><body>${notice}<div class="content"><h1>Bridge closed</h1><p>${SHOWN}</p></div></body>`;

  test.each([
    ['OneTrust', '<div id="onetrust-consent-sdk"><div id="onetrust-banner-sdk">', '</div></div>'],
    ['Cookiebot', '<div id="CybotCookiebotDialog" role="dialog">', '</div>'],
    ['Didomi', '<div id="didomi-host"><div class="didomi-popup-notice">', '</div></div>'],
    ['Quantcast', '<div class="qc-cmp2-container">', '</div>'],
    ['Usercentrics', '<div id="usercentrics-root">', '</div>'],
    ['Complianz', '<div id="cmplz-cookiebanner-container">', '</div>'],
    ['TrustArc', '<div id="truste-consent-track">', '</div>'],
    ['iubenda', '<div id="iubenda-cs-banner">', '</div>'],
    ['Borlabs', '<div id="BorlabsCookieBox">', '</div>'],
    ['CookieYes', '<div class="cky-consent-container">', '</div>'],
    ['Klaro', '<div class="klaro">', '</div>'],
    ['a manager with a heading of its own', '<div id="onetrust-banner-sdk"><h1>We value your privacy</h1>', '</div>'],
    ['an id', '<div id="cookie-banner">', '</div>'],
    ['a class', '<section class="site-cookie-notice js">', '</section>'],
    ['a name in one word', '<div id="cookieConsent">', '</div>'],
    ['role=main', '<div role="main" class="consent-popup">', '</div>'],
    [
      'a button alone',
      '<div class="x7"><div>',
      '</div><div><button>Accept all</button><button>Reject all</button></div></div>',
    ],
    ['a German button', '<div class="x7">', '<a href="#">Alle akzeptieren</a></div>'],
  ])('The notice of %s is never part of the text, also of a short article', (_kind, before, after) => {
    const text = page(`${before}<p>${NOTICE}</p>${after}`);
    for (const read of [readArticle(markup(text))?.text ?? '', crawled(text) ?? '']) {
      expect(read).toContain('swing bridge');
      expect(read).not.toContain('partners');
    }
  });

  test.each([
    ['that is about cookies', '<div class="cookie-notice-page"><h1>Cookie notices</h1><p>How cookies work.</p>'],
    [
      'with the settings of a policy',
      '<div id="ot-sdk-cookie-policy"><h2>Cookies that we use</h2><p>How cookies work.</p>',
    ],
    ['with components of that name', '<div class="cmp-container"><p>How cookies work.</p>'],
    ['with a form that is accepted', '<div><p>How cookies work.</p><h1>Terms</h1><button>I agree</button>'],
  ])('A page %s is read', (_kind, before) => {
    expect(crawled(`<title>Cookies</title><body>${before}<p>${SHOWN}</p></div></body>`)).toContain('How cookies work.');
  });
});
