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

  it('readEmail returns the domain without subdomains', () => {
    expect(readEmail('a@x7.farm.co.uk')?.registrable).toBe('farm.co.uk');
    expect(readEmail('a@mail.localdomain')?.registrable).toBeTypeOf('string');
  });
});
