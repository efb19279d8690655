import { describe, expect, test } from 'vitest';
import { readSearch, withoutTerm } from '../../../src/web/dashboard/decision-search.ts';

const HASH = 'a'.repeat(64);

describe('The search text of decisions', () => {
  test.each([
    ['ip:203.0.113.7', { link: 'ip:203.0.113.7' }],
    ['ip:2001:db8::1', { link: 'ip:2001:db8::1' }],
    ['network:203.0.113.0/24', { link: 'network:203.0.113.0/24' }],
    ['email:anna@example.com', { link: 'entity.email:anna@example.com' }],
    ['anna+shop@example.com', { link: 'entity.email:anna+shop@example.com' }],
    ['anna@example.com decision:block', { link: 'entity.email:anna@example.com', decision: 'BLOCK' }],
    ['entity.Konto:7', { link: 'entity.Konto:7' }],
    ['session:"a b"', { link: 'session:a b' }],
    ['reason:ip_tor', { reason: 'ip_tor' }],
    [`fp:${HASH.toUpperCase()}`, { fingerprint_hash: HASH }],
    [HASH.toUpperCase(), { fingerprint_hash: HASH }],
    ['event:login', { event_type: 'login' }],
    ['decision:challenge', { decision: 'SOFT_CHALLENGE' }],
    ['score>70', { score_min: 70 }],
    ['score > 70', { score_min: 70 }],
    ['score<=30', { score_max: 30 }],
    ['score:50', { score_min: 50, score_max: 50 }],
    ['asn:AS64496 path:/login', { asn: 64_496, path: '/login' }],
    ['domain:@Mail.example', { email_domain: 'mail.example' }],
    ['fe80::1', { q: 'fe80::1' }],
    ['https://shop.example', { q: 'https://shop.example' }],
    ['203.0.113', { q: '203.0.113' }],
    ['2001:db8', { q: '2001:db8' }],
    ['country:de', { q: 'DE' }],
    ['reason:ip_tor score>=50 login', { reason: 'ip_tor', score_min: 50, q: 'login' }],
  ])('%s becomes parameters of the API', (text, filters) => {
    expect(readSearch(text)).toMatchObject({ filters, faults: [] });
    expect(Object.keys(readSearch(text).filters).sort()).toEqual(Object.keys(filters).sort());
  });

  test.each([
    'ip:1.2.3.4 email:a@b.example',
    'a@b.example c@b.example',
    'fp:abc',
    'decision:maybe',
    'reason:a reason:b',
    'score>1 score>2',
    'asn:telekom',
    'path:login',
    'contry:DE',
  ])('%s is refused with a sentence', (text) => {
    expect(readSearch(text).faults).toHaveLength(1);
  });

  test.each([
    ['contry:DE', 'There is no field contry. Did you mean country:?'],
    ['Reasons:ip_tor', 'There is no field Reasons. Did you mean reason:?'],
    ['browser:chrome', /^There is no field browser\. There are ip, .*, and entity\.<name>\.$/],
  ])('%s names the unknown field and what was meant', (text, sentence) => {
    expect(readSearch(text).faults).toEqual([
      typeof sentence === 'string' ? sentence : (expect.stringMatching(sentence) as string),
    ]);
  });

  test('leaves out rows that the API cannot: the bound of > and <, and other countries', () => {
    const { keeps } = readSearch('score>70 country:DE');
    const rows = [
      { score: 70, country: 'DE' },
      { score: 70.1, country: 'DE' },
      { score: 90, country: 'US' },
      { score: 90, country: null },
    ];
    expect(rows.filter((row) => keeps?.(row))).toEqual([{ score: 70.1, country: 'DE' }]);
    expect(readSearch('score>=70').keeps).toBeNull();
  });

  test('can be written again without one of its terms', () => {
    const { terms } = readSearch('ip:1.2.3.4 score>70 x');
    const [, score] = terms;
    if (score === undefined) throw new Error('no term');
    expect(withoutTerm(terms, score)).toBe('ip:1.2.3.4 x');
  });
});
