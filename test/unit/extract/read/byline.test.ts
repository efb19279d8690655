import { describe, expect, test } from 'vitest';
import { readByline } from '../../../../src/extract/read/byline.ts';
import { createSiteNames } from '../../../../src/extract/read/site-names.ts';
import type { JsonValue } from '../../../../src/extract/base/connector.ts';
import { markup } from '../../../support/pages.ts';

interface Given {
  readonly said?: JsonValue;
  readonly body?: string;
  readonly language?: string;
  readonly lines?: readonly string[];
}

function bylineOf({ said, body = '', language = 'en', lines = [] }: Given): string | null {
  const page = markup(`<meta property="og:site_name" content="Coast Courier"><body>${body}`);
  return readByline({ page, said, names: createSiteNames(page), language, lines: () => lines });
}

describe('names in a byline', () => {
  test.each([
    ['By Ada Quist', 'en', 'Ada Quist'],
    ['BY: Ada Quist', 'en', 'Ada Quist'],
    ['Written by Ada Quist', 'de', 'Ada Quist'],
    ['By Ada Quist and Ben Ruiz', 'en', 'Ada Quist, Ben Ruiz'],
    ['By Ada Quist, Ben Ruiz & Coast Courier', 'en', 'Ada Quist, Ben Ruiz'],
    ['By Ada Quist, Staff Reporter', 'en', 'Ada Quist'],
    ['By Ada Quist | 17 May 2024', 'en', 'Ada Quist'],
    ['Ada Quist, Friday 17 May 2024', 'en', 'Ada Quist'],
    ['Ada Quist — Published on May 17, 2024', 'en', 'Ada Quist'],
    ['By Ada Simon, 17 May 2024', 'en', 'Ada Simon'],
    ['By Noel 17 May 2024', 'en', 'Noel'],
    ['By Ada Quist, on Friday, 17 May 2024', 'en', 'Ada Quist'],
    ['Von Annegret Holm', 'de', 'Annegret Holm'],
    ['Von Annegret Holm und Jens Ohlsen', 'de-AT', 'Annegret Holm, Jens Ohlsen'],
    ['Par Hélène Garrec', 'fr', 'Hélène Garrec'],
    ['di Paola Neri', 'it', 'Paola Neri'],
    ['作者：陈海', 'zh', '陈海'],
    // Names that begin or continue like labels.
    ['Di Maio', 'it', 'Di Maio'],
    ['von Storch', 'de', 'von Storch'],
    ['Von Annegret Holm', 'en', 'Von Annegret Holm'],
    ['Ursula von der Leyen', 'de', 'Ursula von der Leyen'],
    ['Byron Smith', 'en', 'Byron Smith'],
    ['Simon and Garfunkel', 'en', 'Simon and Garfunkel'],
    // No person.
    ['Coast Courier', 'en', null],
    ['By Coast Courier', 'en', null],
    ['https://social.example/ada', 'en', null],
    ['ada@site.example', 'en', null],
    ['By', 'en', null],
    ['Staff', 'en', null],
  ])('the byline %s (%s) contains the names %s', (text, language, names) => {
    expect(bylineOf({ said: text, language })).toBe(names);
    expect(bylineOf({ body: `<p class="byline">${text}</p>`, language })).toBe(names);
  });
});

describe('authors of a page', () => {
  const person = (name: string): JsonValue => ({ '@type': 'Person', name });
  const organization = (name: string): JsonValue => ({ '@type': 'NewsMediaOrganization', name });

  test('people take precedence over visible text, and visible text over organisations', () => {
    const body = '<a rel="author" href="/ben">Ben Ruiz</a>';
    expect(bylineOf({ said: [person('Ada Quist'), organization('Agency')], body })).toBe('Ada Quist');
    expect(bylineOf({ said: organization('Agency'), body })).toBe('Ben Ruiz');
    expect(bylineOf({ said: organization('Agency') })).toBe('Agency');
    expect(bylineOf({ said: organization('Coast Courier') })).toBeNull();
  });

  test.each(['10 mins read', 'Back to top', 'View more posts', 'Get app', 'and it stuck. ↩'])('no name: %s', (text) => {
    expect(bylineOf({ body: `<p class="author">${text}</p>` })).toBeNull();
  });

  test('authors of comments and texts about an author are ignored', () => {
    const body = `<div class="author-bio">Ada has sailed for years</div><div class="author-avatar">AQ</div>
      <ol class="comments"><li class="comment"><b class="fn">Mick</b></li></ol>`;
    expect(bylineOf({ body })).toBeNull();
  });

  test('names are found within a mark that contains more', () => {
    expect(
      bylineOf({ body: '<p class="byline">By <a rel="author">Ada Quist</a> <span>Reporter at large</span>' }),
    ).toBe('Ada Quist');
  });

  test.each([
    ['by Capt. R. Voss', 'en', 'Capt. R. Voss'],
    ['May 8th, 2017 by Bo Hart', 'en', 'Bo Hart'],
    ['Geschrieben von Jens Ohlsen am 03.02.2020', 'de', 'Jens Ohlsen'],
    ['By the time that the ferry came', 'en', null],
    ['By Monday the boats had gone out as they always had', 'en', null],
    ['Von Hamburg nach Bremen mit dem Rad', 'de', null],
  ])('a line at the headline names the authors: %s (%s)', (line, language, names) => {
    expect(bylineOf({ lines: [line], language })).toBe(names);
  });

  test('the number of authors is limited', () => {
    const said = Array.from({ length: 100_000 }, (_, at) => `Ada ${at}x`);
    expect(bylineOf({ said })?.split(', ')).toHaveLength(100);
  });
});
