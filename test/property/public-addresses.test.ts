import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, test } from 'vitest';
import { readIp } from '../../src/risk/signals/ip.ts';
import { formatV4, formatV6, parseV4, parseV6 } from '../../src/kernel/ip-text.ts';
import { embeddedV4, isPublicV4, isPublicV6 } from '../../src/kernel/special-networks.ts';
import { egressPolicy, judgeAddress } from '../../src/egress/public-address.ts';
import { timesInFull } from '../support/long.ts';

/** Every network of IANA's special-purpose registry for IPv4, and multicast. */
const V4_REGISTRY = `
  0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24
  192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4
  240.0.0.0/4
`
  .trim()
  .split(/\s+/);

/** The first and the last address of each network, and their neighbours. */
const V4_ENDS = V4_REGISTRY.flatMap((network) => {
  const [text = '', bits = ''] = network.split('/');
  const first = parseV4(text);
  const last = first + 2 ** (32 - Number(bits)) - 1;
  return [first - 1, first, last, last + 1];
}).filter((address) => address >= 0 && address <= 0xffff_ffff);

/** IANA's registry for IPv6, unassigned space, and networks that are public. */
const V6_STARTS = `
  ::1 :: ::ffff:0:0:0 64:ff9b:: 64:ff9b:1:: 100:: 100:0:0:1:: 2001:: 2001:1:: 2001:2:: 2001:3:: 2001:4:112:: 2001:10::
  2001:20:: 2001:30:: 2001:1ff:: 2001:200:: 2001:db7:ffff:: 2001:db8:: 2001:db9:: 2002:: 2003:: 2620:4f:7fff:: 2620:4f:8000::
  2620:4f:8001:: 2a00:: 3ffe:ffff:: 3fff:: 3fff:fff:: 3fff:1000:: 4000:: 5f00:: 1fff:: fc00:: fdff:: fe80:: fec0:: ff02::
`
  .trim()
  .split(/\s+/)
  .map((text) => parseV6(text) ?? []);

const anyV4 = fc.oneof(fc.constantFrom(...V4_ENDS), fc.nat(0xffff_ffff));
const v4Groups = anyV4.map((v4) => [Math.floor(v4 / 65_536), v4 % 65_536]);
const noise = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 });
/** Starts of networks, filled with zeros or noise, and with an IPv4 address at the places where one may be embedded. */
const v6Groups = fc
  .record({
    start: fc.oneof(fc.constantFrom(...V6_STARTS), noise),
    noise,
    v4: v4Groups,
    from: fc.integer({ min: 1, max: 8 }),
    at: fc.constantFrom(1, 6, 8),
  })
  .map(({ start, noise, v4, from, at }) => {
    const groups = [...start.slice(0, from), ...noise.slice(from)];
    if (at < 8) groups.splice(at, 2, ...v4);
    return groups;
  })
  .filter((groups) => !/^(?:0,){5}65535,/.test(`${groups.join(',')},`));

const libraryV4 = (address: number): ipaddr.IPv4 => ipaddr.IPv4.parse(formatV4(address));

/** What the library's ranges say of the address. It reports unassigned space as unicast. */
function isPublicByLibrary(groups: readonly number[]): boolean {
  const address = new ipaddr.IPv6([...groups]);
  const range = address.range();
  if (range === '6to4' || (range === 'rfc6052' && groups[2] === 0))
    return libraryV4(embeddedV4(groups)).range() === 'unicast';
  return range === 'unicast' && address.match(ipaddr.IPv6.parse('2000::'), 3);
}

describe('the table of special networks', () => {
  test('An IPv4 address is public exactly when the library finds it in no special range', () => {
    fc.assert(
      fc.property(anyV4, (address) => {
        const text = formatV4(address);
        expect([text, isPublicV4(address)]).toEqual([text, libraryV4(address).range() === 'unicast']);
      }),
      { numRuns: timesInFull(3_000) },
    );
    for (const address of V4_ENDS)
      expect([formatV4(address), isPublicV4(address)]).toEqual([
        formatV4(address),
        libraryV4(address).range() === 'unicast',
      ]);
  });

  test('An IPv6 address is public exactly when the library finds it in no special range of global unicast', () => {
    fc.assert(
      fc.property(v6Groups, (groups) => {
        const text = formatV6(groups);
        expect([text, isPublicV6(groups)]).toEqual([text, isPublicByLibrary(groups)]);
      }),
      { numRuns: timesInFull(6_000) },
    );
  });

  test('An address that may be dialled is a public one, and a public one may be dialled with three stated exceptions', () => {
    const policy = egressPolicy([]);
    const isException = (groups: readonly number[]): boolean =>
      groups[0] === 0x2002 || (groups[5] === 0x5efe && (groups[4] === 0 || groups[4] === 0x200));
    const texts = fc.oneof(
      anyV4.map((address) => ({ text: formatV4(address), mayDiffer: formatV4(address) === '168.63.129.16' })),
      v6Groups.map((groups) => ({ text: formatV6(groups), mayDiffer: isException(groups) })),
    );
    fc.assert(
      fc.property(texts, ({ text, mayDiffer }) => {
        const read = readIp(text);
        const isPublic = read.kind === 'valid' && read.public;
        const isDialable = judgeAddress(text, 443, policy).kind === 'permitted';
        expect([text, isDialable]).toEqual([text, mayDiffer ? isDialable && isPublic : isPublic]);
      }),
      { numRuns: timesInFull(6_000) },
    );
  });
});
