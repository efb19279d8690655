import { describe, expect, test } from 'vitest';
import { allowedOrigin, parseOrigin } from '../../../src/kernel/origin.ts';

describe('origins', () => {
  test.each([
    ['https://shop.example', 'https://shop.example'],
    ['HTTPS://Shop.Example/', 'https://shop.example'],
    ['https://shop.example:443', 'https://shop.example'],
    ['https://shop.example:8443', 'https://shop.example:8443'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['https://192.0.2.1', 'https://192.0.2.1'],
    ['https://[2001:DB8::1]:444', 'https://[2001:db8::1]:444'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['http://app.localhost', 'http://app.localhost'],
    ['http://127.0.0.1:80', 'http://127.0.0.1'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['*', '*'],
  ])('%s is accepted as %s', (text, origin) => {
    expect(parseOrigin(text)).toEqual({ kind: 'origin', origin });
  });

  test.each([
    '',
    'null',
    'shop.example',
    '//shop.example',
    'http://shop.example',
    'http://localhost.evil.example',
    'https://*.shop.example',
    'https://*',
    'https://shop.example/path',
    'https://shop.example?x',
    'https://shop.example#x',
    'https://user@shop.example',
    'https://shop.example:99999',
    'https://shop.example, https://other.example',
    ' https://shop.example',
    'https://shop.example\r\nX: y',
    'https:\\\\shop.example',
    'chrome-extension://abc',
    'https://a"b.example',
  ])('%j is refused with a reason', (text) => {
    expect(parseOrigin(text)).toEqual({ kind: 'fault', detail: expect.stringMatching(/ (?:must|is not) /) });
  });

  test('An origin is allowed as it is listed, and every origin by *', () => {
    const listed = new Set(['https://a.example']);
    expect(allowedOrigin(listed, 'https://a.example')).toBe('https://a.example');
    expect(allowedOrigin(listed, '*')).toBeNull();
    expect(allowedOrigin(listed, 'null')).toBeNull();
    expect(allowedOrigin(new Set(['*']), 'null')).toBe('*');
    expect(allowedOrigin(new Set(), '')).toBeNull();
  });
});
