import { describe, expect, test } from 'vitest';
import { parseUrl } from '../../../src/kernel/parse-url.ts';

/** By then the function is compiled; `URL.canParse` is wrong from about 4,000 calls on. */
const CALLS = 50_000;

describe('parseUrl', () => {
  test('A URL with Latin-1 characters stays valid however often it is parsed', () => {
    let refused = 0;
    for (let n = 0; n < CALLS; n++) if (parseUrl('https://bücher.example/café') === null) refused++;
    expect(refused).toBe(0);
  });

  test.each([
    ['https://shop.example', undefined, true],
    ['/path', 'https://shop.example', true],
    ['/path', undefined, false],
    ['https://', undefined, false],
    ['https://shop.example:99999', undefined, false],
  ])('%s with the base %s is valid: %s', (text, base, valid) => {
    expect(parseUrl(text, base) !== null).toBe(valid);
  });
});
