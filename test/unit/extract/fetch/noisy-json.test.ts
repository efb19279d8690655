import { describe, expect, test } from 'vitest';
import { SourceFailure } from '../../../../src/extract/base/connector.ts';
import { parseJsonBody } from '../../../../src/extract/fetch/content.ts';

/** Returns the value, or the reason of the failure. */
function read(text: string, type = 'application/json'): unknown {
  try {
    return parseJsonBody('https://blog.example/wp-json', type, Buffer.from(text));
  } catch (error) {
    if (error instanceof SourceFailure) return error.reason;
    throw error;
  }
}

const JSON_TEXT = '[{"id":1,"title":"a } b"}]';
const VALUE = [{ id: 1, title: 'a } b' }];
const WARNING = '<br />\n<b>Deprecated</b>: Array [8192] to string in <b>/srv/x.php</b> on line <b>9</b><br />\n';

describe('parseJsonBody', () => {
  test.each([
    ['a warning in HTML before it', WARNING + JSON_TEXT],
    ['a warning right before it', WARNING.trimEnd() + JSON_TEXT],
    ['several warnings before it', WARNING.repeat(20) + JSON_TEXT],
    ['a warning in plain text before it', `\nWarning: Undefined {key} in /srv/x.php on line 9\n${JSON_TEXT}`],
    ['a list in a warning before it', `${WARNING}[1]: x\n${JSON_TEXT}`],
    ['a comment behind it', `${JSON_TEXT}\n<!-- Cached {page} of 2026 -->`],
    ['a warning behind it', JSON_TEXT + WARNING],
    ['warnings on both sides', WARNING + JSON_TEXT + WARNING],
    ['byte order marks before it', `\uFEFF\uFEFF${JSON_TEXT}`],
    ['a byte order mark between a warning and it', `${WARNING}\uFEFF${JSON_TEXT}`],
  ])('JSON with %s is read', (_name, text) => {
    expect(read(text)).toEqual(VALUE);
    expect(read(text, 'text/html; charset=UTF-8')).toEqual(VALUE);
  });

  test.each([
    ['is cut behind a warning', `${WARNING}[\n{"id":1}`],
    ['is cut before a comment', '[{"id":1},<!-- cached -->'],
    ['is followed by other JSON', '{"id":1}\n{"id":2}'],
    ['is followed by other text', `${JSON_TEXT} and more`],
    ['follows other text', `Hello!\n${JSON_TEXT}`],
  ])('JSON that %s is parse_failed', (_name, text) => {
    expect(read(text)).toBe('parse_failed');
  });

  test.each([
    ['<!doctype html><p>x</p>\n{"id":1}'],
    ['<br><script>\n{"id":1}</script>'],
    [`<html><body>${JSON_TEXT}</body></html>`],
    [`${WARNING}Nothing follows`],
  ])('a page is not read as JSON, whatever it contains: %s', (text) => {
    expect(read(text)).toBe('unsupported_content');
  });

  test('noise of any kind takes linear time', () => {
    const startedAtMs = performance.now();
    for (const part of ['\n', '[\n', '<\n{"', ' ', '>[', '\n]']) read(`<b>${part.repeat(2_000_000)}`);
    expect(performance.now() - startedAtMs).toBeLessThan(20_000);
  });
});
