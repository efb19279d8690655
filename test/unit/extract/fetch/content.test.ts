import { describe, expect, test } from 'vitest';
import { requirePage } from '../../../../src/extract/fetch/content.ts';

function accepts(body: string): boolean {
  try {
    requirePage('https://site.example/', 'text/html', Buffer.from(body, 'latin1'));
    return true;
  } catch {
    return false;
  }
}

describe('requirePage', () => {
  test('a page with a few NUL bytes is text', () => {
    expect(accepts('<!doctype html><title>Harbour\0</title><p>The harbour\0 is open.</p>')).toBe(true);
    expect(accepts('\xef\xbb\xbf \n<html><p>Open\0</p>')).toBe(true);
  });

  test('a file of another kind with NUL bytes is not text', () => {
    expect(accepts('\x89PNG\r\n\0\0\0\rIHDR')).toBe(false);
    expect(accepts(`<svg>${'\0'.repeat(20)}`)).toBe(false);
    expect(accepts('words \0 without markup')).toBe(false);
  });
});
