import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  findElements,
  linesOf,
  plainText,
  readHtml,
  scriptText,
  textOf,
  textOfHtml,
} from '../../../../src/extract/read/html.ts';
import { markup } from '../../../support/pages.ts';
import { leastCpuMs } from '../../../support/cpu-time.ts';

describe('linesOf and textOf', () => {
  test('the text of a page has one line per block and no extra white space', () => {
    const { root } = markup('<h1> One\n <b>bold</b>er </h1><p>two<br>three</p>\n\n<ul><li>four<li>five</ul>&nbsp;six');
    expect(linesOf(root)).toBe('One bolder\ntwo\nthree\nfour\nfive\nsix');
    expect(textOf(root)).toBe('One bolder two three four five six');
  });

  test('preformatted text keeps line ends and spaces, which are collapsed if a single line is requested', () => {
    const { root } = markup(
      '<p>a  b</p><pre>\nif x:\r\n\tgo  (1)\n\n  <b>else</b>:\n    stop   \n</pre><p>c\nd</p><table><tr><td><pre>1\n2</pre></table>',
    );
    expect(linesOf(root)).toBe('a b\nif x:\n\tgo  (1)\n  else:\n    stop\nc d\n1\n2');
    expect(textOf(root)).toBe('a b if x: go (1) else: stop c d 1 2');
  });

  test('invisible text is omitted', () => {
    const { root } = markup(
      '<head><title>t</title></head>a<script>b</script><style>c</style><!-- d --><template>e</template><noscript>f</noscript>g',
    );
    expect(textOf(root)).toBe('ag');
  });

  test('text longer than any field is truncated', () => {
    expect(linesOf(markup(`<p>${'word '.repeat(400_000)}`).root).length).toBeLessThanOrEqual(1_048_576);
  });
});

describe('textOfHtml', () => {
  test.each([
    ['<p>One.</p><p>Two.</p>', 'One.\nTwo.'],
    ['One<br>two<br/>three', 'One\ntwo\nthree'],
    ['<ul><li>tea</li><li>cup</li></ul>', 'tea\ncup'],
    ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
    ['a &amp; b &#8216;c&#8217; &hellip;&nbsp;d', 'a & b ‘c’ … d'],
    ['<p>a<script>alert("<p>x</p>")</script><style>p{}</style>b</p>', 'ab'],
    ['<svg/><b>after</b>', 'after'],
    ['<svg><path/>no<br/>no</svg>after', 'after'],
    ['  many \n\n   spaces  ', 'many spaces'],
    ['5 < 6 & 7 > 6', '5 < 6 & 7 > 6'],
    ['<p title="a > b">x</p><!-- <p>y</p> -->', 'x'],
    ['<p>never closed', 'never closed'],
    ['<p> </p>', null],
    [null, null],
  ])('textOfHtml(%j) returns %j', (html, text) => expect(textOfHtml(html)).toBe(text));

  test('textOfHtml works for any input, and its result contains no known tag', () => {
    const tags = fc.constantFrom('<p>', '</p>', '<b', '>', '<script>', '</script>', '<!--', '-->', '<![CDATA[');
    const pieces = fc.oneof(tags, fc.constantFrom('&', 'amp;', 'x', ' ', '\n', '\uD800'));
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
        expect(textOfHtml(parts.join('')) ?? '').not.toContain('<p>');
      }),
      { seed: 7, numRuns: 500 },
    );
  });

  test("textOfHtml takes time in proportion to the input's length, however deep the markup is", () => {
    const ms = leastCpuMs(2_000, () => {
      expect(textOfHtml('<i>'.repeat(100_000) + '</b>'.repeat(100_000))).toBeNull();
    });
    expect(ms).toBeLessThan(2_000);
  });
});

test('plainText converts markup and entities, and keeps other text', () => {
  expect(plainText('Tom &amp; <b>Jerry</b>')).toBe('Tom & Jerry');
  expect(plainText(' 3 > 2\n')).toBe('3 > 2');
  expect(plainText('1 < 2')).toBe('1 < 2');
  expect(plainText('<p>Opening\n hours</p><p>&amp; more</p>')).toBe('Opening hours & more');
  expect(['<img src=x>', ' ', null].map((value) => plainText(value))).toEqual([null, null, null]);
});

describe('base URL of links', () => {
  test.each([
    ['', 'https://site.example/dir/page'],
    ['<base href="/other/">', 'https://site.example/other/'],
    ['<base target="_top"><base href="x/">', 'https://site.example/dir/x/'],
    ['<base href="javascript:x">', 'https://site.example/dir/page'],
    ['<base href="http://[">', 'https://site.example/dir/page'],
  ])('the base URL of a page is correct for the markup %j', (text, base) => expect(markup(text).baseUrl).toBe(base));
});

describe('size limit of a page', () => {
  const script = `<script>${'var a = "<p>no</p>";'.repeat(50_000)}</script>`;
  const style = `<style>${'p { color: red }'.repeat(50_000)}</style>`;
  const comment = `<!-- ${'<p>no</p>'.repeat(50_000)} -->`;

  test('the size limit excludes scripts, styles and comments, so text after 6 MB of them is read', () => {
    const page = readHtml(`${(script + style + comment).repeat(3)}<p>yes</p>`, 'https://x.example/');
    expect([linesOf(page.root), page.isCut]).toEqual(['yes', false]);
  });

  test('a page with more text than the limit is cut', () => {
    const page = readHtml(`${'<p>word '.repeat(700_000)}<i>no</i>`, 'https://x.example/');
    expect([findElements(page.root, ({ name }) => name === 'i').length, page.isCut]).toEqual([0, true]);
  });

  test('a page with more scripts than are ever fetched is cut', () => {
    const page = readHtml(`${script.repeat(11)}<p>no</p>`, 'https://x.example/');
    expect([linesOf(page.root), page.isCut]).toEqual(['', true]);
  });

  test.each([
    ['a script that is never closed', '<p>yes<script>var a = 1; <p>no'],
    ['a script that contains its closing tag in pieces', '<p>yes</p><script>"</scrip" + "t>" <p>no</p></script >'],
    ['a style that is never closed', '<p>yes<style>p { <p>no'],
    ['a comment that is never closed', '<p>yes<!-- <script> <p>no'],
    ['a script within a comment', '<!-- <script> --><p>yes<!-- </script> -->'],
    ['a comment within a script', '<script><!-- </script><p>yes'],
    ['CDATA around a script', '<![CDATA[ <script> ]]><p>yes'],
    ['a script below more elements than the depth limit', `${'<div>'.repeat(300)}<script>no</script>yes`],
  ])('the text is kept and the script is not: %s', (_what, text) => {
    const page = readHtml(text, 'https://x.example/');
    expect(linesOf(page.root)).toBe('yes');
  });

  test('a script keeps its text, which is not part of the tree', () => {
    const page = markup('<script type="application/ld+json">{"a":1}</script>');
    const [element] = page.elements.get('script') ?? [];
    expect(element && [scriptText(page, element), element.children.length]).toEqual(['{"a":1}', 0]);
  });
});

describe('hostile pages', () => {
  test('endlessly nested elements keep their text and cause no stack overflow', () => {
    const { root } = readHtml(`${'<div>'.repeat(400)}deep${'</div>'.repeat(400)}after`, 'https://x.example/');
    expect(linesOf(root)).toBe('deep\nafter');
    const read = readHtml('<b>'.repeat(1_000_000), 'https://x.example/');
    expect(findElements(read.root, () => true).length).toBeLessThan(1_000);
  });

  test('nodes beyond the limit are omitted', () => {
    const { root } = readHtml('<br>'.repeat(600_000), 'https://x.example/');
    expect(findElements(root, () => true).length).toBeLessThanOrEqual(250_001);
  });
});
