import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { htmlToText, plainText, textOfHtml } from '../../../../../src/extract/connectors/kit/html.ts';

describe('text of HTML', () => {
  it.each([
    ['<p>One.</p><p>Two.</p>', 'One.\n\nTwo.'],
    ['One<br>two<br/>three', 'One\ntwo\nthree'],
    ['<ul><li>tea</li><li>cup</li></ul>', 'tea\ncup'],
    ['<table><tr><td>a</td><td>b</td></tr></table>', 'a\tb'],
    ['a &amp; b &#8216;c&#8217; &hellip;&nbsp;d', 'a & b ‘c’ …\u00A0d'],
    ['<p>a<script>alert("<p>x</p>")</script><style>p{}</style>b</p>', 'ab'],
    ['<svg/><b>after</b>', 'after'],
    ['<svg><path/>no<br/>no</svg>after', 'after'],
    ['  many \n\n   spaces  ', 'many spaces'],
    ['5 < 6 & 7 > 6', '5 < 6 & 7 > 6'],
    ['<p title="a > b">x</p><!-- <p>y</p> -->', 'x'],
    ['<p>never closed', 'never closed'],
  ])('of %j is %j', (html, text) => expect(htmlToText(html)).toBe(text));

  it('is null for what holds none, and one line for titles', () => {
    expect(textOfHtml('<p> </p>')).toBeNull();
    expect(textOfHtml(null)).toBeNull();
    expect(plainText('<p>Opening\n hours</p><p>&amp; more</p>')).toBe('Opening hours & more');
    expect(plainText('<img src=x>')).toBeNull();
  });

  it('never fails, and leaves no tag of a known name', () => {
    const pieces = fc.constantFrom(
      '<p>',
      '</p>',
      '<b',
      '>',
      '&',
      'amp;',
      '<!--',
      '-->',
      '<script>',
      '</script>',
      'x',
      ' ',
      '\n',
      '<![CDATA[',
      '\uD800',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
        expect(htmlToText(parts.join(''))).not.toContain('<p>');
      }),
      { seed: 7, numRuns: 500 },
    );
  });

  it('takes time in proportion to its input, however deep that is', () => {
    const deep = '<i>'.repeat(100_000) + '</b>'.repeat(100_000);
    const began = performance.now();
    expect(htmlToText(deep)).toBe('');
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});
