import { isIP } from 'node:net';
import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, test } from 'vitest';
import { readIp, readIpField } from '../../../../src/risk/signals/ip.ts';
import { formatV4, parseV4 } from '../../../../src/kernel/ip-text.ts';
import { isPublicV4 } from '../../../../src/kernel/special-networks.ts';
import { ANY_CHARACTER } from '../../../support/any-text.ts';
import { timesInFull } from '../../../support/long.ts';

/**
 * Asserts that `readIp` agrees with the platform and a library. A text with a zone id counts as invalid, because the id names an interface
 * of one machine.
 */
function expectAgreement(text: string): void {
  const read = readIp(text);
  const version = text.includes('%') ? 0 : isIP(text);
  if (read.kind === 'invalid' || version === 0) {
    expect([text, read.kind, version]).toEqual([text, 'invalid', 0]);
    return;
  }
  // RFC 5952, as the platform's own URL writes addresses; the library accepts some obsolete spellings as mapped addresses.
  const plain = version === 4 ? text : new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const theirs = ipaddr.process(plain);
  expect([
    text,
    ipaddr.isValid(text),
    read.version,
    ipaddr.parse(read.text).toByteArray(),
    read.text,
    readIp(read.text),
  ]).toEqual([
    text,
    true,
    theirs.kind() === 'ipv4' ? 4 : 6,
    theirs.toByteArray(),
    read.version === 4 ? theirs.toString() : plain,
    read,
  ]);
}

const ALPHABET = Array.from('0123456789abcdefABCDEFgG:.x/% \t\n\u0010\u0011\u0019\u0660\u00b2-+');

const v6Groups = fc
  .array(fc.oneof(fc.constant(0), fc.nat(0xffff), fc.nat(15)), { minLength: 8, maxLength: 8 })
  .map((groups) => groups.map((group) => group.toString(16)));

/** Groups with a gap, an IPv4 tail, leading zeros or upper case in all combinations, valid and invalid ones. */
const v6Text = fc
  .record({
    groups: v6Groups,
    from: fc.nat(8),
    length: fc.nat(8),
    padded: fc.boolean(),
    upper: fc.boolean(),
    tail: fc.option(fc.ipV4()),
  })
  .map(({ groups, from, length, padded, upper, tail }) => {
    const written = padded ? groups.map((group) => group.padStart(4, '0')) : [...groups];
    if (tail !== null) written.splice(6, 2, tail);
    const to = Math.min(written.length, from + length);
    const text =
      length === 0 || from >= to
        ? written.join(':')
        : `${written.slice(0, from).join(':')}::${written.slice(to).join(':')}`;
    return upper ? text.toUpperCase() : text;
  });

const someText = fc.oneof(fc.ipV4(), fc.ipV6(), v6Text, fc.ipV4Extended());

describe('reading an IP address', () => {
  test('readIp agrees with the platform and a library on valid addresses and on similar texts', () => {
    expect(() => fc.assert(fc.property(someText, expectAgreement), { numRuns: timesInFull(3_000) })).not.toThrow();
  });

  test('readIp agrees with them after one or two characters were changed, inserted or removed', () => {
    const change = fc.record({ at: fc.nat(45), with: fc.constantFrom('', ...ALPHABET), cut: fc.nat(1) });
    const changed = fc
      .tuple(someText, fc.array(change, { minLength: 1, maxLength: 2 }))
      .map(([text, changes]) =>
        changes.reduce((before, { at, with: put, cut }) => before.slice(0, at) + put + before.slice(at + cut), text),
      );
    expect(() => fc.assert(fc.property(changed, expectAgreement), { numRuns: timesInFull(6_000) })).not.toThrow();
  });

  test('readIp agrees with them on any text of address characters, and never throws', () => {
    const near = fc.string({ unit: fc.constantFrom(...ALPHABET), maxLength: 48 });
    const far = fc.string({ unit: ANY_CHARACTER, maxLength: 60 });
    expect(() =>
      fc.assert(fc.property(fc.oneof(near, far), expectAgreement), { numRuns: timesInFull(4_000) }),
    ).not.toThrow();
  });

  test.each([
    ['a control character for a digit', '::\u0011'],
    ['a control character in an IPv4 address', '1.2.3.\u0014'],
    ['a leading zero', '1.2.3.04'],
    ['an octal address', '0177.0.0.1'],
    ['a short address', '127.1'],
    ['a whole number', '2130706433'],
    ['a hexadecimal address', '0x7f000001'],
    ['a number above 255', '1.2.3.256'],
    ['five numbers', '1.2.3.4.5'],
    ['a space before it', ' 1.2.3.4'],
    ['a port behind it', '1.2.3.4:80'],
    ['brackets', '[::1]'],
    ['a zone', 'fe80::1%eth0'],
    ['a prefix length', '10.0.0.0/8'],
    ['two gaps', '1::2::3'],
    ['three colons', ':::'],
    ['one colon', ':'],
    ['nine groups', '1:2:3:4:5:6:7:8:9'],
    ['a gap for nothing', '1:2:3:4::5:6:7:8'],
    ['a group of five digits', '12345::'],
    ['an IPv4 part in the middle', '::1.2.3.4:5'],
    ['an IPv4 part with a leading zero', '::ffff:01.2.3.4'],
    ['nothing', ''],
    ['full-width digits', '１.２.３.４'],
  ])('A text with %s is not an address', (_name, text) => {
    expect(readIp(text)).toEqual({ kind: 'invalid' });
  });

  test.each([
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['1:0:0:0:0:0:0:0', '1::'],
    ['::ffff:8.8.8.8', '8.8.8.8'],
    ['0:0:0:0:0:ffff:0808:0808', '8.8.8.8'],
  ])('The address %s has the canonical text %s', (text, canonical) => {
    expect(readIp(text)).toMatchObject({ kind: 'valid', text: canonical });
  });

  test('An IPv4 address survives formatting and parsing', () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), (value) => {
        expect(parseV4(formatV4(value))).toBe(value);
      }),
    );
  });
});

describe('public addresses', () => {
  test.each([
    ['8.8.8.8', 'a resolver'],
    ['1.1.1.1', 'a resolver'],
    ['81.2.69.160', 'a home line'],
    ['100.63.255.255', 'under the carriers’ shared range'],
    ['100.128.0.0', 'over it'],
    ['172.15.255.255', 'under a private range'],
    ['172.32.0.0', 'over it'],
    ['169.253.255.255', 'under link local'],
    ['198.17.255.255', 'under benchmarking'],
    ['198.20.0.0', 'over it'],
    ['223.255.255.255', 'under multicast'],
    ['2001:4860:4860::8888', 'a resolver'],
    ['2001:200::1', 'over the protocol assignments'],
    ['2a02:2e0::1', 'a host'],
    ['2002:0808:0808::1', '6to4 of a public address'],
    ['64:ff9b::8.8.8.8', 'NAT64 of a public address'],
    ['::ffff:8.8.8.8', 'a mapped public address'],
    ['3fff:1000::1', 'over the documentation'],
    ['2001:db9::1', 'over the documentation'],
  ])('The address %s (%s) is public', (text) => {
    expect(readIp(text)).toMatchObject({ kind: 'valid', public: true });
  });

  test.each([
    ['0.0.0.0', 'this network'],
    ['0.255.255.255', 'this network, its end'],
    ['10.0.0.1', 'private'],
    ['100.64.0.1', 'shared by carriers'],
    ['100.127.255.255', 'shared by carriers, its end'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.169.254', 'link local, the metadata service'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private, its end'],
    ['192.0.0.8', 'protocol assignments'],
    ['192.0.2.1', 'documentation'],
    ['192.88.99.1', 'the old 6to4 relay'],
    ['192.168.1.1', 'private'],
    ['198.18.0.1', 'benchmarking'],
    ['198.19.255.255', 'benchmarking, its end'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::127.0.0.1', 'the old compatible form'],
    ['::ffff:10.0.0.1', 'a mapped private address'],
    ['::ffff:7f00:1', 'a mapped loopback address'],
    ['64:ff9b::10.0.0.1', 'NAT64 of a private address'],
    ['64:ff9b:1::8.8.8.8', 'local NAT64'],
    ['100::1', 'discard only'],
    ['2001::1', 'Teredo'],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'Teredo'],
    ['2001:2::1', 'benchmarking'],
    ['2001:10::1', 'ORCHID'],
    ['2001:20::1', 'ORCHIDv2'],
    ['2001:1ff:ffff::1', 'protocol assignments, their end'],
    ['2001:db8::1', 'documentation'],
    ['2001:db8:ffff:ffff::1', 'documentation, its end'],
    ['2002:0a00:0001::1', '6to4 of a private address'],
    ['2002:7f00:0001::1', '6to4 of a loopback address'],
    ['3fff:fff::1', 'documentation'],
    ['5f00::1', 'segment routing'],
    ['fc00::1', 'unique local'],
    ['fdff::1', 'unique local'],
    ['fe80::1', 'link local'],
    ['fec0::1', 'site local'],
    ['ff02::1', 'multicast'],
    ['4000::1', 'not assigned'],
  ])('The address %s (%s) is not public', (text) => {
    expect(readIp(text)).toMatchObject({ kind: 'valid', public: false });
  });

  test('An address that a library calls private, loopback, link local or multicast is never public', () => {
    const never = new Set([
      'private',
      'loopback',
      'linkLocal',
      'multicast',
      'broadcast',
      'unspecified',
      'carrierGradeNat',
      'uniqueLocal',
    ]);
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const read = readIp(text);
        const wrong = read.kind === 'valid' && read.public && never.has(ipaddr.process(text).range());
        expect([text, wrong]).toEqual([text, false]);
      }),
      { numRuns: timesInFull(3_000) },
    );
  });

  test('The address n.1.1.1 is not public exactly when n is 0, 10, 127 or at least 224', () => {
    const special = Array.from({ length: 256 }, (_, first) => first).filter(
      (first) => !isPublicV4(first * 2 ** 24 + 0x010101),
    );
    expect(special).toEqual([0, 10, 127, ...Array.from({ length: 32 }, (_, i) => 224 + i)]);
  });
});

describe('reading the field `ip`', () => {
  test.each([
    ['203.0.113.9:51234', '203.0.113.9'],
    [' 203.0.113.9 ', '203.0.113.9'],
    ['[2001:DB8::0:1]:443', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['"[2001:db8::1]:443"', '2001:db8::1'],
    ['for="[2001:db8::1]:443"', '2001:db8::1'],
    ['For=203.0.113.9;proto=https', '203.0.113.9'],
    ['fe80::1%eth0', 'fe80::1'],
    ['[fe80::1%25eth0]:80', 'fe80::1'],
    ['::ffff:203.0.113.9:51234', '203.0.113.9'],
    ['"203.0.113.9:_p4"', '203.0.113.9'],
  ])('What a proxy writes as %s is the address %s', (text, address) => {
    expect(readIpField(text)).toEqual(readIp(address));
    expect(readIp(address).kind).toBe('valid');
  });

  test.each(['unknown', '_hidden', 'for=unknown', '203.0.113.9:port', '203.0.113.9, 10.0.0.1', '10.0.0.0/8', ':443'])(
    'What a proxy writes as %s is no address',
    (text) => {
      expect(readIpField(text)).toEqual({ kind: 'invalid' });
    },
  );
});
