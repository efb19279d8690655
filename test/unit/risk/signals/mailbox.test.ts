import { describe, expect, it } from 'vitest';
import { readEmail } from '../../../../src/risk/signals/email.ts';

const canonical = (text: string): string | undefined => readEmail(text)?.canonical;

describe('canonicalMailbox', () => {
  it.each([
    ['Anna.Schmidt+shop@GMail.com', 'annaschmidt@gmail.com'],
    ['a.n.n.a.schmidt@googlemail.com', 'annaschmidt@gmail.com'],
    ['anna+1@posteo.de', 'anna@posteo.de'],
    ['anna_schmidt@protonmail.com', 'annaschmidt@proton.me'],
    ['anna-shop@yahoo.co.uk', 'anna@yahoo.co.uk'],
  ])('canonicalMailbox maps %s to %s', (text, mailbox) => {
    expect(canonical(text)).toBe(mailbox);
  });

  it('canonicalMailbox keeps dots and dashes where they make another mailbox', () => {
    expect(canonical('a.bc@gmx.de')).toBe('a.bc@gmx.de');
    expect(canonical('anna-shop@gmx.de')).toBe('anna-shop@gmx.de');
    expect(canonical('...@gmail.com')).toBe('...@gmail.com');
  });

  it.each([
    ['rené@example.com', 'rene\u0301@example.com'],
    ['René+shop@example.com', 'RENE\u0301@EXAMPLE.COM'],
    ['anna@münchen.de', 'anna@xn--mnchen-3ya.de'],
    ['anna@mu\u0308nchen.de', 'anna@xn--mnchen-3ya.de'],
    ['anna@MÜNCHEN.DE', 'anna@XN--MNCHEN-3YA.DE'],
    ['anna@例え.jp', 'anna@xn--r8jz45g.jp'],
    ['anna@例え。jp', 'anna@例え.jp'],
    ['ａｎｎａ＠gmail.com', 'a.nna@googlemail.com'],
  ])('canonicalMailbox maps %s and %s to one mailbox', (one, other) => {
    expect(canonical(one)).toBe(canonical(other));
    expect(canonical(one)).toMatch(/^\S+@[\x21-\x7e]+$/);
  });

  it('The two forms of a letter, and a domain in Unicode or Punycode, are one spelling', () => {
    expect(readEmail('rene\u0301+a@mu\u0308nchen.de')?.spelling).toBe('rené+a@xn--mnchen-3ya.de');
    expect(readEmail('René+a@xn--mnchen-3ya.de')?.spelling).toBe('rené+a@xn--mnchen-3ya.de');
    expect(readEmail('rené+b@münchen.de')?.spelling).toBe('rené+b@xn--mnchen-3ya.de');
  });

  it('A domain that the rules of the name system refuse keeps its text', () => {
    expect(readEmail('a@ex_ample.de')?.domain).toBe('ex_ample.de');
    expect(readEmail('a@xn--a.de')?.domain).toBe('xn--a.de');
  });

  it('A disposable domain is found in Unicode as well', () => {
    expect(readEmail('anna@yahóo.com')?.disposable).toBe(true);
    expect(readEmail('anna@xn--yaho-sqa.com')?.disposable).toBe(true);
  });

  it('readEmail returns the domain without subdomains', () => {
    expect(readEmail('a@x7.farm.co.uk')?.registrable).toBe('farm.co.uk');
    expect(readEmail('a@mail.localdomain')?.registrable).toBeTypeOf('string');
  });
});
