import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import {
  checkGrant,
  CollectorGrants,
  type GrantRequest,
  type GrantUse,
  hashOrigin,
  type OpenedGrant,
} from '../../../../src/risk/signals/collector-grant.ts';
import { readToken } from '../../../../src/risk/signals/collector-token.ts';
import { readIp } from '../../../../src/risk/signals/ip.ts';
import { GRANT_KEEP_SECONDS, GRANT_LATE_SECONDS } from '../../../../src/kernel/limits.ts';
import { grantedToken, signedToken } from '../../../support/collector.ts';

const NOW = 1_795_262_400;
const SHOP = 'https://shop.example';
const FP = 'ab'.repeat(32);
const CUSTOMER = 7 as CustomerNumber;
const SECRET = Buffer.alloc(32, 3);
const grants = new CollectorGrants(SECRET);

const REQUEST: GrantRequest = {
  customer: CUSTOMER,
  origin: SHOP,
  ip: readIp('81.2.69.160'),
  nowSeconds: NOW,
  random: Buffer.alloc(16, 9),
};
const USE: GrantUse = { customer: CUSTOMER, ip: readIp('81.2.69.7'), nowSeconds: NOW + 60, originHash: 0 };
const GOOD = { fault: null, isOtherNetwork: false };

function open(token: string, by = grants): OpenedGrant | null {
  const { seal } = readToken(token);
  if (seal === null) throw new Error('the token was read as opaque');
  return by.open(seal);
}

function tokenOf(request: Partial<GrantRequest> = {}, seq = 0, aud = SHOP): string {
  return grantedToken({ fp: FP }, grants.issue({ ...REQUEST, ...request }), seq, aud);
}

describe('a grant', () => {
  test('A grant is 80 characters, its nonce 32 bytes, and it lasts 30 minutes', () => {
    const { grant, nonce, expiresAtSeconds } = grants.issue(REQUEST);
    expect(grant).toMatch(/^[A-Za-z0-9_-]{80}$/);
    expect(Buffer.from(nonce, 'base64url')).toHaveLength(32);
    expect(expiresAtSeconds).toBe(NOW + 1_800);
    expect(grants.issue({ ...REQUEST, random: Buffer.alloc(16, 8) }).nonce).not.toBe(nonce);
  });

  test('A token that is signed with the nonce of its grant has no fault', () => {
    expect(checkGrant(open(tokenOf()), USE)).toEqual(GOOD);
    expect(checkGrant(open(tokenOf()), { ...USE, originHash: hashOrigin(SHOP) })).toEqual(GOOD);
  });

  test('A grant is opened by another instance with the same secret, and by none with another', () => {
    expect(open(tokenOf(), new CollectorGrants(SECRET))).toEqual(open(tokenOf()));
    expect(open(tokenOf(), new CollectorGrants(Buffer.alloc(32, 4)))).toBeNull();
    expect(checkGrant(null, USE)).toEqual({ fault: 'signature', isOtherNetwork: false });
  });

  test('The text of the nonce signs like its bytes, and any other key does not', () => {
    const { grant, nonce } = grants.issue(REQUEST);
    const json = { v: 2, fp: FP, sid: 's', iat: NOW, g: grant, seq: 5, aud: SHOP };
    expect(open(signedToken(json, nonce))).toMatchObject({ seq: 5 });
    expect(open(signedToken(json, grant))).toBeNull();
    expect(open(signedToken(json, Buffer.alloc(32)))).toBeNull();
  });

  test.each([
    ['the last second', GRANT_KEEP_SECONDS, null],
    ['the last second of the leeway', GRANT_KEEP_SECONDS + GRANT_LATE_SECONDS, null],
    ['one second later', GRANT_KEEP_SECONDS + GRANT_LATE_SECONDS + 1, 'expired'],
    ['before it was issued, by a clock that was set back', -3_600, null],
  ])('A grant in %s has the expected fault', (_name, age, fault) => {
    expect(checkGrant(open(tokenOf()), { ...USE, nowSeconds: NOW + age })).toEqual({ ...GOOD, fault });
  });

  test('A grant of another customer, for another page, or sent by a script of another page is no proof', () => {
    expect(checkGrant(open(tokenOf()), { ...USE, customer: 8 }).fault).toBe('customer');
    expect(checkGrant(open(tokenOf({}, 0, 'https://evil.example')), USE).fault).toBe('origin');
    expect(checkGrant(open(tokenOf()), { ...USE, originHash: hashOrigin('https://evil.example') }).fault).toBe(
      'origin',
    );
  });

  test.each([
    ['the same /24', '81.2.69.160', '81.2.69.1', false],
    ['another /24', '81.2.69.160', '81.2.70.160', true],
    ['the same /48', '2a00:1450:4001:81b::1', '2a00:1450:4001:999::2', false],
    ['another /48', '2a00:1450:4001:81b::1', '2a00:1450:4002:81b::1', true],
    ['IPv6 after IPv4', '81.2.69.160', '2a00:1450:4001:81b::1', false],
    ['an address that is not public', '81.2.69.160', '10.0.0.1', false],
    ['an address that is none', '81.2.69.160', 'nowhere', false],
  ])('A request from %s is compared with the network of the grant', (_name, issued, used, isOtherNetwork) => {
    const opened = open(tokenOf({ ip: readIp(issued) }));
    expect(checkGrant(opened, { ...USE, ip: readIp(used) })).toEqual({ fault: null, isOtherNetwork });
  });

  test('A grant without an address is compared with no network', () => {
    expect(checkGrant(open(tokenOf({ ip: null })), USE)).toEqual(GOOD);
    expect(checkGrant(open(tokenOf()), { ...USE, ip: null })).toEqual(GOOD);
  });

  test('Every changed bit of a grant makes its token a forgery', () => {
    const { grant, nonce } = grants.issue(REQUEST);
    const bytes = Buffer.from(grant, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(open(grantedToken({ fp: FP }, { grant: changed.toString('base64url'), nonce }, 0, SHOP))).toBeNull();
    }
  });

  test('A changed character of the signed JSON makes the token a forgery', () => {
    const [prefix, payload = '', mac] = tokenOf().split('.');
    const json = Buffer.from(payload, 'base64url').toString();
    const changed = Buffer.from(json.replace('"seq":0', '"seq":1')).toString('base64url');
    expect(open(`${prefix}.${changed}.${mac}`)).toBeNull();
    expect(open(`${prefix}.${payload}.${mac}`)).not.toBeNull();
  });

  test('No token makes reading, opening or checking throw, and no random token is genuine', () => {
    const { grant } = grants.issue(REQUEST);
    const anyPart = fc.oneof(fc.string(), fc.base64String(), fc.constant(grant), fc.json());
    const anyJson = fc.record(
      {
        v: fc.oneof(fc.constantFrom(1, 2), fc.anything()),
        fp: fc.oneof(fc.constant(FP), fc.anything()),
        sid: fc.oneof(fc.string(), fc.anything()),
        iat: fc.oneof(fc.nat(), fc.anything()),
        did: fc.oneof(fc.string(), fc.anything()),
        g: fc.oneof(fc.constant(grant), fc.base64String({ maxLength: 140 }), fc.anything()),
        seq: fc.oneof(fc.integer(), fc.double(), fc.anything()),
        aud: fc.oneof(fc.constant(SHOP), fc.string(), fc.anything()),
      },
      { requiredKeys: ['v', 'fp'] },
    );
    const anyToken = fc.oneof(
      fc.tuple(anyPart, anyPart).map(([a, b]) => `st2.${a}.${b}`),
      fc
        .tuple(anyJson, fc.oneof(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.uint8Array()))
        .map(
          ([json, mac]) =>
            `st2.${Buffer.from(textOf(json)).toString('base64url')}.${Buffer.from(mac).toString('base64url')}`,
        ),
    );
    fc.assert(
      fc.property(anyToken, fc.nat(), fc.string(), (token, nowSeconds, ip) => {
        const { facts, seal } = readToken(token);
        expect(['collector', 'opaque']).toContain(facts.kind);
        if (seal === null) return;
        const opened = grants.open(seal);
        expect(opened).toBeNull();
        expect(checkGrant(opened, { ...USE, nowSeconds, ip: readIp(ip) }).fault).toBe('signature');
      }),
      { numRuns: 2_000 },
    );
  });
});

/** JSON of any value; values that JSON cannot express are replaced. */
function textOf(value: unknown): string {
  try {
    return (
      JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? String(member) : member)) ?? '{}'
    );
  } catch {
    return '{}';
  }
}
