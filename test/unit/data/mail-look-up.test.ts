import { describe, expect, test } from 'vitest';
import { mailLookUp } from '../../../src/data/mail-look-up.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { createAnswerMemory, SharedAnswers } from '../../../src/kernel/shared-answers.ts';
import { readEmail } from '../../../src/risk/signals/email.ts';
import { MAIL_CHECKS, mailQuestion } from '../../../src/risk/signals/mail-question.ts';
import { deadMailDomainOf } from '../../../src/score/ask-beside.ts';

const NOW = 1_800_000_000;
const HOUR = 3_600;

function answer(found: readonly string[] | string): Promise<readonly string[]> {
  return typeof found === 'string'
    ? Promise.reject(Object.assign(new Error(found), { code: found }))
    : Promise.resolve(found);
}

describe('whether a domain receives mail', () => {
  test.each([
    [['mx.example'], [], 'receives', 86_400, 1],
    [['', 'mx.example'], [], 'receives', 86_400, 1],
    // A null MX. Source: RFC 7505.
    [[''], ['192.0.2.1'], 'none', HOUR, 1],
    [['.'], ['192.0.2.1'], 'none', HOUR, 1],
    ['ENOTFOUND', ['192.0.2.1'], 'none', HOUR, 1],
    // Mail goes to the address of a domain without mail servers. Source: RFC 5321, 5.1.
    ['ENODATA', ['192.0.2.1'], 'receives', 86_400, 2],
    ['ENODATA', 'ENODATA', 'none', HOUR, 2],
    ['ENODATA', 'ETIMEOUT', 'unknown', HOUR, 2],
    ['ESERVFAIL', [], 'unknown', HOUR, 1],
  ] as const)(
    'Mail servers %j and addresses %j: %s, kept for %i s',
    async (servers, addresses, name, keepSeconds, asked) => {
      let queries = 0;
      const lookUp = mailLookUp({
        mail: () => answer((queries++, servers)),
        addresses: () => answer((queries++, addresses)),
      });
      expect(await lookUp('shop.example')).toEqual({ answer: MAIL_CHECKS[name], name, keepSeconds });
      expect(queries).toBe(asked);
    },
  );
});

describe('what is asked', () => {
  const emailOf = (text: string) => {
    const email = readEmail(text);
    if (email === null) throw new Error(`${text} is no e-mail`);
    return email;
  };

  test.each([
    ['anna@Shop-1.example', 'mail_domain shop-1.example'],
    ['anna@bücher.example', 'mail_domain xn--bcher-kva.example'],
    ['anna@mailinator.com', null],
    ['anna@a_b.example', null],
    [`anna@${'a'.repeat(64)}.example`, null],
  ])('The e-mail %s asks %s', (text, question) => {
    expect(mailQuestion(emailOf(text))).toBe(question);
  });

  test('Nothing is asked of a provider that the lists know', () => {
    expect(mailQuestion({ ...emailOf('anna@shop.example'), free: true })).toBeNull();
  });

  test('The first sign-up asks, the second one knows, and nobody asks for a simulation or a public key', () => {
    const answers = new SharedAnswers(createAnswerMemory(16_384));
    const request = { customer: 1 as CustomerNumber, ip: null, nowSeconds: NOW };
    const emails = [emailOf('anna@alive.example'), emailOf('anna@dead.example'), emailOf('anna@third.example')];
    expect(deadMailDomainOf(answers, emails, { ...request, isReal: false })).toBeNull();
    expect(answers.take()).toEqual([]);
    expect(deadMailDomainOf(answers, emails, { ...request, isReal: true })).toBeNull();
    // A body may have many entities; the first two e-mails are looked up.
    expect(
      answers
        .take()
        .map(({ question }) => question)
        .toSorted(),
    ).toEqual(['mail_domain alive.example', 'mail_domain dead.example']);
    answers.put('mail_domain alive.example', MAIL_CHECKS.receives, HOUR, NOW);
    answers.put('mail_domain dead.example', MAIL_CHECKS.none, HOUR, NOW);
    expect(deadMailDomainOf(answers, emails, { ...request, isReal: true })).toBe('dead.example');
    answers.put('mail_domain dead.example', MAIL_CHECKS.unknown, HOUR, NOW);
    expect(deadMailDomainOf(answers, emails, { ...request, isReal: true })).toBeNull();
  });
});
