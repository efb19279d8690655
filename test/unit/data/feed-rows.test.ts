import { describe, expect, test } from 'vitest';
import { readFeedFile } from '../../../src/data/feed-rows.ts';
import { type DataFeed, FEEDS } from '../../../src/data/manifest.ts';
import { mailDomainBytes } from '../../../src/risk/signals/mail-domains.ts';
import { networksOfRange } from '../../../src/data/network-range.ts';

function feed(name: string, more: Partial<DataFeed> = {}): DataFeed {
  const found = FEEDS.find((one) => one.name === name);
  if (found === undefined) throw new Error(name);
  return { ...found, rowsMin: 1, ...more };
}
const read = (name: string, text: string, more?: Partial<DataFeed>) =>
  readFeedFile(feed(name, more), Buffer.from(text));
const recordsOf = (name: string, text: string): unknown[] => {
  const reading = read(name, text);
  return reading.kind === 'ok' ? reading.rows.map(({ record }) => record) : [reading.reason];
};

describe('readFeedFile', () => {
  test('Lines with comments, spaces and Windows ends are networks; the date of a comment is the date of the feed', () => {
    const reading = read('tor', '# Updated: 2026-11-01T10:00:00Z\r\n185.220.101.1\r\n\r\n2a0b:f4c2::/40 ; note\n');
    expect(reading).toMatchObject({
      kind: 'ok',
      dropped: 0,
      writtenAtSeconds: Date.parse('2026-11-01T10:00:00Z') / 1000,
    });
    expect(recordsOf('tor', '185.220.101.1\n')).toEqual([{ tor: true }]);
  });

  test('Private, special and too wide networks are never rows', () => {
    const bad = [
      '10.0.0.0/8',
      '192.168.1.1',
      '0.0.0.0/0',
      '::/0',
      '8.0.0.0/7',
      '2a00::/15',
      '127.0.0.1',
      'fc00::/7',
      '::ffff:10.0.0.1',
    ];
    const good = Array.from({ length: 300 }, (_, n) => `8.8.${n % 256}.${n >> 8}`);
    const reading = read('tor', [...good, ...bad].join('\n'));
    expect(reading).toMatchObject({ kind: 'ok', dropped: bad.length });
    expect(reading.kind === 'ok' && reading.rows.length).toBe(good.length);
  });

  test.each([
    ['UTF-16', Buffer.from('8.8.8.8\n', 'utf16le'), 'not_utf8'],
    ['other bytes', Buffer.from([0xff, 0xfe, 0x38]), 'not_utf8'],
    ['a page', Buffer.from('<html>\n<body>\n8.8.8.8\n</body>\n'), 'malformed'],
    ['nothing', Buffer.from(''), 'too_few_rows'],
  ])('%s is held back', (_what, bytes, reason) => {
    expect(readFeedFile(feed('tor'), bytes)).toMatchObject({ kind: 'held', reason });
  });

  test('More rows than a feed may have are refused before they take memory', () => {
    expect(read('tor', '8.8.8.8\n'.repeat(2_000_002))).toMatchObject({ kind: 'held', reason: 'too_many_rows' });
    expect(read('tor', '8.8.8.8\n8.8.4.4\n', { rowsMax: 1 })).toMatchObject({ kind: 'held', reason: 'too_many_rows' });
  });

  test('What operators publish is read as they publish it, and a nested one only to a depth', () => {
    const amazon = { createDate: '2026-08-22-10-00-00', prefixes: [{ ip_prefix: '3.5.140.0/22', region: 'x' }] };
    expect(read('clouds', JSON.stringify(amazon))).toMatchObject({
      kind: 'ok',
      writtenAtSeconds: Date.parse('2026-08-22T10:00:00Z') / 1000,
    });
    const crawlers = { google: { prefixes: [{ ipv4Prefix: '66.249.64.0/27' }] }, __proto__x: ['13.66.139.0/24'] };
    expect(recordsOf('crawlers', JSON.stringify(crawlers))).toEqual([{ crawler: 'google' }, { crawler: 'other' }]);
    const deep = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    expect(['too_deep', 'not_json']).toContain((read('clouds', deep) as { reason: string }).reason);
    expect(read('clouds', '{"a":')).toMatchObject({ kind: 'held', reason: 'not_json' });
    expect(read('clouds', '7')).toMatchObject({ kind: 'held', reason: 'malformed' });
  });

  test('Numbers and names of autonomous systems are read from networks and from ranges', () => {
    const google = { autonomous_system_number: 15_169, autonomous_system_organization: 'GOOGLE' };
    expect(recordsOf('asn', 'network,number,name\n8.8.8.0/24,15169,GOOGLE\n')).toEqual([google]);
    expect(recordsOf('asn', '8.8.8.0\t8.8.8.255\t15169\tUS\tGOOGLE\n')).toEqual([google]);
    expect(recordsOf('asn', '8.8.8.0,8.8.9.127,AS15169,US,GOOGLE\n')).toEqual([google, google]);
  });
});

test.each([
  ['1.0.0.0', '1.0.0.255', ['1.0.0.0/24']],
  ['1.0.0.1', '1.0.0.6', ['1.0.0.1/32', '1.0.0.2/31', '1.0.0.4/31', '1.0.0.6/32']],
  ['0.0.0.0', '255.255.255.255', ['0.0.0.0/0']],
  ['2001:db8::', '2001:db8::ffff:ffff:ffff:ffff', ['2001:db8::/64']],
])('The range from %s to %s is exactly %j', (first, last, networks) => {
  expect(networksOfRange(first, last)).toEqual(networks);
});

test('A range that ends before it begins, or mixes versions, is none', () => {
  expect(networksOfRange('1.0.0.2', '1.0.0.1')).toBeNull();
  expect(networksOfRange('1.0.0.2', '::1')).toBeNull();
});

describe('a feed of mail domains', () => {
  test('Domains are read in any case and in Unicode, with comments, as records of their kind', () => {
    const reading = read(
      'disposable',
      '# date: 2026-11-01\nMailinator.COM # note\nmünchen-mail.de\nx.trash.example.org\n',
    );
    expect(reading).toMatchObject({ kind: 'ok', dropped: 0, writtenAtSeconds: Date.parse('2026-11-01') / 1_000 });
    expect(reading.kind === 'ok' && reading.rows.map(({ bits }) => bits)).toEqual(
      ['mailinator.com', 'xn--mnchen-mail-thb.de', 'x.trash.example.org'].map((name) => {
        return { bytes: mailDomainBytes(name), length: 40 };
      }),
    );
    expect(recordsOf('disposable', 'mailinator.com')).toEqual([{ disposable: true }]);
    expect(recordsOf('free_mail', 'gmail.com')).toEqual([{ free_mail: true }]);
  });

  test('A public suffix, one label, an address, and a large honest provider are no disposable domains', () => {
    const bad = ['com', 'co.uk', 'github.io', '8.8.8.8', '*.com', 'gmail.com', 'a b', '-x.com', 'x'.repeat(300)];
    const good = Array.from({ length: 300 }, (_, n) => `burner-${n}.com`);
    expect(read('disposable', [...good, ...bad].join('\n'))).toMatchObject({ kind: 'ok', dropped: bad.length });
    expect(read('disposable', bad.join('\n'))).toMatchObject({ kind: 'held', reason: 'too_few_rows' });
  });
});
