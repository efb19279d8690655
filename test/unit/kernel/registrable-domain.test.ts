import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isUnder, registrableDomain } from '../../../src/kernel/registrable-domain.ts';
import { ANY_CHARACTER } from '../../support/any-text.ts';

describe('registrableDomain', () => {
  it.each([
    ['https://www.shop.example.co.uk:8443/a?b#c', 'example.co.uk'],
    ['WWW.Example.COM', 'example.com'],
    ['https://mine.myshopify.com/checkout', 'mine.myshopify.com'],
    ['https://user:pass@example.de/', 'example.de'],
    ['https://203.0.113.7/', null],
    ['http://[2001:db8::1]/', null],
    ['localhost', null],
    ['co.uk', null],
    ['/checkout', null],
    ['', null],
  ])('registrableDomain finds the domain of "%s", if there is one', (text, expected) =>
    expect(registrableDomain(text)).toBe(expected),
  );
  it('registrableDomain never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER, maxLength: 500 }), (text) => {
        const domain = registrableDomain(text);
        expect(domain === null || domain.length > 0).toBe(true);
      }),
    );
  });
});

describe('isUnder', () => {
  const domains = new Set(['example.com']);
  it.each(['example.com', 'a.example.com', 'a.b.example.com'])('The host %s is under example.com', (host) =>
    expect(isUnder(host, domains)).toBe(true),
  );
  it.each(['notexample.com', 'com', 'example.com.evil.net', '', '.', 'example.co'])(
    'The host "%s" is not under example.com',
    (host) => expect(isUnder(host, domains)).toBe(false),
  );
});
