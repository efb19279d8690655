import { networkInterfaces } from 'node:os';
import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, test } from 'vitest';
import { egressPolicy, judgeAddress } from '../../../src/egress/public-address.ts';
import { timesInFull } from '../../support/long.ts';

const NOTHING_ALLOWED = egressPolicy([]);

/** Splits a text at white space. */
const words = (text: string): string[] => text.trim().split(/\s+/);

/** IANA's registry, including both ends of each range. */
const V4_SPECIAL = words(`
  0.0.0.0 0.1.2.3 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 100.100.100.200 127.0.0.1
  127.255.255.255 169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.192
  192.0.0.255 192.0.2.1 192.88.99.1 192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.255
  224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.254 255.255.255.255 168.63.129.16
`);

/** Spellings accepted by inet_aton. */
const V4_SPELLINGS = words(`
  127.1 127.0.1 0x7f.1 0x7f.0.0.1 0x7f000001 0x7F000001 2130706433 017700000001 0177.0.0.1 0177.1 00.0.0.0 0 10.1
  0xa.0.0.1 012.0.0.1 167772161 0xA9FEA9FE 2852039166 0251.0376.0251.0376 169.254.43518 192.168.257 3232235777
  0xc0.0xa8.1.1
`);

const V6_SPECIAL = words(`
  :: ::1 0:0:0:0:0:0:0:1 0000:0000:0000:0000:0000:0000:0000:0001 ::0001 ::1%lo ::1%1 fe80::1 fe80::1%eth0 febf::1
  fec0::1 feff::1 fc00::1 fd00:ec2::254 fdff::1 ff02::1 ff0e::1 100::1 100:0:0:1::1 2001:db8::1 3fff::1 3fff:fff::1
  2001:2::1 2001:10::1 2001:20::1 2001:1::1 5f00::1 4000::1 8000::1 e000::1 1::1 2620:4f:8000::1
`);

/** IPv6 addresses that contain an IPv4 address. */
const V6_CARRYING = words(`
  ::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:7F00:0001 0:0:0:0:0:ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1
  ::7f00:1 ::10.0.0.1 ::8.8.8.8 ::ffff:0:127.0.0.1 ::ffff:0:7f00:1 2002:7f00:1:: 2002:a00:1::1 2002:a9fe:a9fe::1
  2002:808:808::1 2001::1 2001:0:4136:e378::1 2001:0:808:808:0:0:80ff:fffe 64:ff9b::127.0.0.1 64:ff9b::7f00:1
  64:ff9b::a9fe:a9fe 64:ff9b::a00:1 64:ff9b:1::127.0.0.1 64:ff9b:1::808:808 64:ff9b:1:7f00:0:100:: ::ffff:c0a8:101
  ::ffff:0.0.0.0 2606:4700::5efe:127.0.0.1 2606:4700::5efe:7f00:1 2606:4700:1:2:0:5efe:10.0.0.1
  2606:4700:1:2:200:5efe:10.0.0.1 2606:4700:1:2:200:5efe:a9fe:a9fe 2a00::5efe:192.168.1.1 2a00:0:0:0:200:5efe:0:0
  64:ff9b::5efe:7f00:1 fe80::5efe:8.8.8.8 fe80::200:5efe:8.8.8.8
`);

const NO_ADDRESSES = [
  '',
  ' ',
  'localhost',
  '127.0.0.1.',
  '127.0.0.1 ',
  '256.1.1.1',
  '1.2.3.4.5',
  '08.8.8.8',
  ':::1',
  '[::1]',
  '8.8.8.8/32',
  '1:2:3',
  'g::1',
  '12345::',
  '::ffff:256.0.0.1',
  '4294967296',
  '-1',
  '8.8.8.8:80',
  '٨.8.8.8',
];

/** In one spelling or another, each of these leads to a destination that no request may reach. */
const BLOCKED = [...V4_SPECIAL, ...V4_SPELLINGS, ...V6_SPECIAL, ...V6_CARRYING, ...NO_ADDRESSES];

const PERMITTED: readonly (readonly [spelling: string, canonical: string])[] = [
  ['8.8.8.8', '8.8.8.8'],
  ['1.1.1.1', '1.1.1.1'],
  ['9.255.255.255', '9.255.255.255'],
  ['11.0.0.0', '11.0.0.0'],
  ['100.63.255.255', '100.63.255.255'],
  ['100.128.0.0', '100.128.0.0'],
  ['126.255.255.255', '126.255.255.255'],
  ['128.0.0.1', '128.0.0.1'],
  ['169.253.255.255', '169.253.255.255'],
  ['169.255.0.0', '169.255.0.0'],
  ['172.15.255.255', '172.15.255.255'],
  ['172.32.0.0', '172.32.0.0'],
  ['192.0.1.1', '192.0.1.1'],
  ['192.167.255.255', '192.167.255.255'],
  ['192.169.0.0', '192.169.0.0'],
  ['198.17.255.255', '198.17.255.255'],
  ['198.20.0.0', '198.20.0.0'],
  ['223.255.255.255', '223.255.255.255'],
  ['168.63.129.15', '168.63.129.15'],
  ['134744072', '8.8.8.8'],
  ['0x08080808', '8.8.8.8'],
  ['010.010.010.010', '8.8.8.8'],
  ['::ffff:8.8.8.8', '8.8.8.8'],
  ['::ffff:808:808', '8.8.8.8'],
  ['2606:4700:4700::1111', '2606:4700:4700::1111'],
  ['2606:4700:4700:0:0:0:0:1111', '2606:4700:4700::1111'],
  ['2A00:1450:4001:081B:0000:0000:0000:200E', '2a00:1450:4001:81b::200e'],
  ['64:ff9b::8.8.8.8', '64:ff9b::808:808'],
  ['2606:4700:1:2:0:5efe:8.8.8.8', '2606:4700:1:2:0:5efe:808:808'],
  ['2606:4700:1:2:200:5efe:8.8.8.8', '2606:4700:1:2:200:5efe:808:808'],
  // Not ISATAP interface ids.
  ['2606:4700:1:2:100:5efe:7f00:1', '2606:4700:1:2:100:5efe:7f00:1'],
  ['2606:4700:1:0:5efe:7f00:1:1', '2606:4700:1:0:5efe:7f00:1:1'],
  ['2001:4860:4860::8888', '2001:4860:4860::8888'],
  ['2001:200::1', '2001:200::1'],
  ['2003::1', '2003::1'],
];

describe('judgeAddress', () => {
  test('the list of blocked spellings has well over eighty entries', () => {
    expect(new Set(BLOCKED).size).toBeGreaterThan(120);
  });

  test.each(BLOCKED)('judgeAddress blocks %j', (text) => {
    expect(judgeAddress(text, 443, NOTHING_ALLOWED).kind).toBe('blocked');
  });

  test.each(PERMITTED)('judgeAddress permits %s and returns %s as the address to dial', (text, canonical) => {
    expect(judgeAddress(text, 443, NOTHING_ALLOWED)).toMatchObject({ kind: 'permitted', text: canonical });
  });
});

const anyV4 = fc.oneof(
  fc.integer({ min: 0, max: 0xffffffff }),
  fc.constantFrom(0x7f000001, 0x0a000001, 0xa9fea9fe, 0xc0a80101, 0x64400001, 0x08080808, 0xe0000001, 0),
);

const v4Parts = (v: number): number[] => [v >>> 24, (v >>> 16) & 255, (v >>> 8) & 255, v & 255];

/** Writes a number in one of the three bases. */
function inBase(value: number, base: number): string {
  if (base === 16) return `0x${value.toString(16)}`;
  return base === 8 && value > 0 ? `0${value.toString(8)}` : String(value);
}

function v4Spelling(v: number, shape: number, bases: readonly number[]): string {
  const parts = v4Parts(v);
  const tail = [v, v & 0xffffff, v & 0xffff, v & 0xff][shape] ?? 0;
  const numbers = [...parts.slice(0, shape), tail >>> 0];
  return numbers.map((number, i) => inBase(number, bases[i] ?? 10)).join('.');
}

function v6Spelling(groups: readonly number[], style: number): string {
  const hex = groups.map((group) => group.toString(16));
  if (style === 0) return hex.map((group) => group.padStart(4, '0')).join(':');
  if (style === 1) return hex.join(':').toUpperCase();
  if (style === 2) return `${hex.join(':')}%eth0`;
  const tail = v4Parts(((groups[6] ?? 0) * 65_536 + (groups[7] ?? 0)) >>> 0).join('.');
  return `${hex.slice(0, 6).join(':')}:${tail}`;
}

describe('verdicts for all spellings of an address', () => {
  const allow = fc.constantFrom<readonly string[]>(
    [],
    ['127.0.0.0/8'],
    ['10.0.0.0/8', 'fc00::/7'],
    ['0.0.0.0/0', '::/0'],
  );

  test('every spelling of an IPv4 address gets the verdict of its canonical form', () => {
    const bases = fc.array(fc.constantFrom(10, 8, 16), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(anyV4, fc.nat(3), bases, allow, (v, shape, inBases, cidrs) => {
        const policy = egressPolicy(cidrs);
        const canonical = v4Parts(v).join('.');
        const expected = judgeAddress(canonical, 80, policy);
        expect(judgeAddress(v4Spelling(v, shape, inBases), 80, policy)).toEqual(expected);
        expect(judgeAddress(`::ffff:${canonical}`, 80, policy)).toEqual(expected);
        if (expected.kind === 'permitted') expect(expected.text).toBe(canonical);
      }),
      { numRuns: timesInFull(2_000) },
    );
  });

  test('every spelling of an IPv6 address gets the verdict of its canonical form', () => {
    const group = fc.oneof(
      fc.nat(0xffff),
      fc.constantFrom(0, 0, 0, 1, 0xffff, 0x64, 0xff9b, 0x2001, 0x2002, 0xfe80, 0xfd00),
    );
    const groups = fc.array(group, { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, fc.nat(3), allow, (address, style, cidrs) => {
        const policy = egressPolicy(cidrs);
        const canonical = ipaddr.fromByteArray(address.flatMap((one) => [one >> 8, one & 255])).toString();
        expect(judgeAddress(v6Spelling(address, style), 80, policy)).toEqual(judgeAddress(canonical, 80, policy));
      }),
      { numRuns: timesInFull(2_000) },
    );
  });

  test('an IPv6 address that contains a blocked IPv4 address is blocked, whatever IPv6 network is allowed', () => {
    const policy = egressPolicy(['::/0']);
    fc.assert(
      fc.property(anyV4, fc.nat(5), (v, carrier) => {
        const high = (v >>> 16).toString(16);
        const low = (v & 0xffff).toString(16);
        const turned = `${((v >>> 16) ^ 0xffff).toString(16)}:${((v & 0xffff) ^ 0xffff).toString(16)}`;
        const text = [
          `64:ff9b::${high}:${low}`,
          `64:ff9b:1::${high}:${low}`,
          `2002:${high}:${low}::1`,
          `2001:0:1:2:3:4:${turned}`,
          `::ffff:0:${high}:${low}`,
          `0:0:0:0:0:0:${high}:${low}`,
        ][carrier];
        // `::1` and `::` have meanings of their own.
        fc.pre(carrier !== 5 || v > 1);
        const inner = judgeAddress(v4Parts(v).join('.'), 80, policy).kind;
        expect([text, judgeAddress(text ?? '', 80, policy).kind]).toEqual([text, inner]);
      }),
      { numRuns: timesInFull(2_000) },
    );
  });
});

describe('allowed networks', () => {
  test('an allowed network permits its own addresses and no others', () => {
    const policy = egressPolicy(['127.0.0.0/8', 'fd00:1::/32', '169.254.169.254/32']);
    for (const text of ['127.0.0.1', '127.1', '::ffff:127.0.0.1', 'fd00:1::5', '169.254.169.254'])
      expect([text, judgeAddress(text, 80, policy).kind]).toEqual([text, 'permitted']);
    for (const text of ['10.0.0.1', '::1', 'fd00:2::5', '169.254.169.253', '2002:7f00:1::', '::127.0.0.1'])
      expect([text, judgeAddress(text, 80, policy).kind]).toEqual([text, 'blocked']);
  });

  test('an allowed IPv6 network does not permit IPv4-mapped addresses', () => {
    expect(judgeAddress('::ffff:127.0.0.1', 80, egressPolicy(['::/0'])).kind).toBe('blocked');
    expect(judgeAddress('::1', 80, egressPolicy(['::/0'])).kind).toBe('permitted');
  });

  test('egressPolicy throws a TypeError for an invalid network', () => {
    expect(() => egressPolicy(['10/8'])).toThrow(TypeError);
  });
});

describe('addresses of this service itself', () => {
  const own = (host: string) => egressPolicy(['0.0.0.0/0', '::/0'], [{ host, port: 8080 }]);

  test.each([
    ['127.0.0.1', ['127.0.0.1', '127.1', '0x7f000001', '::ffff:127.0.0.1', '0.0.0.0', '::', '64:ff9b::7f00:1']],
    ['::1', ['::1', '::']],
    ['0.0.0.0', ['127.0.0.1', '127.9.9.9', '0.0.0.0', '::1']],
    ['::', ['127.0.0.1', '::1', '::']],
    ['gatehouse.internal', ['127.0.0.1', '::1']],
  ])('a service that listens on %s is not dialled at any of its addresses', (host, addresses) => {
    for (const text of addresses) expect([text, judgeAddress(text, 8080, own(host)).kind]).toEqual([text, 'blocked']);
  });

  test('a service that listens on all interfaces is not dialled at any address of the machine', () => {
    const addresses = Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? []);
    expect(addresses.length).toBeGreaterThan(0);
    for (const address of addresses) expect(judgeAddress(address, 8080, own('0.0.0.0')).kind).toBe('blocked');
  });

  test("a service's own address does not block other ports or other addresses", () => {
    expect(judgeAddress('127.0.0.1', 8081, own('127.0.0.1')).kind).toBe('permitted');
    expect(judgeAddress('127.0.0.2', 8080, own('127.0.0.1')).kind).toBe('permitted');
    expect(judgeAddress('8.8.8.8', 8080, own('0.0.0.0')).kind).toBe('permitted');
  });
});
