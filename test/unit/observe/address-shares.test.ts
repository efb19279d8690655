import { describe, expect, test } from 'vitest';
import type { CustomerNumber, FingerprintHash } from '../../../src/kernel/brand.ts';
import { AddressShares } from '../../../src/observe/address-shares.ts';
import { addressOf, encodeRecord } from '../../../src/risk/decision-record.ts';
import type { Facts } from '../../../src/risk/facts.ts';
import { readIp } from '../../../src/risk/signals/ip.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const HOUR = 3_600_000;
const CUSTOMER = 7 as CustomerNumber;

/** A decision's record; `ip` null: the request had no address, `hasToken` false: it had no session token. */
function record(ip: string | null, eventType = 'login', hasToken = true): Buffer {
  const facts = {
    eventType,
    outcome: null,
    ip: ip === null ? null : readIp(ip),
    userAgent: null,
    agent: null,
    url: null,
    referrer: null,
    token: { kind: 'opaque' },
    grant: null,
    fingerprintHash: 'ab'.repeat(32) as FingerprintHash,
    entities: [],
    emails: [],
    headers: new Map(),
    geo: null,
    list: null,
    registry: null,
    history: null,
    nowSeconds: NOW_MS / 1_000,
  } as unknown as Facts;
  return encodeRecord({
    requestId: `req_${'0'.repeat(26)}`,
    occurredAtMs: NOW_MS,
    verdict: { decision: 'ALLOW', score: 0, reasons: [], reviewHint: '' } as never,
    sessionMode: hasToken ? 'unverified' : 'no_session',
    shadow: null,
    publicKey: false,
    eventType,
    facts: hasToken ? facts : null,
    contributions: [],
  });
}

function warningAfter(decisions: number, ipOf: (n: number) => string | null, hasToken = true): unknown {
  const shares = new AddressShares();
  for (let n = 0; n < decisions; n++) shares.count(CUSTOMER, record(ipOf(n), 'login', hasToken), NOW_MS);
  return shares.warningOf(CUSTOMER, NOW_MS);
}

const anyone = (n: number): string => `81.2.${(n >> 6) & 255}.${n & 63}`;

describe('addresses of a customer', () => {
  test('A record gives its address, whatever the length of its texts', () => {
    for (const eventType of ['login', '', 'x'.repeat(40), 'ö'.repeat(64)])
      for (const ip of ['1.2.3.4', '2001:db8:1234:5678:9abc:def0:1234:5678', null])
        expect(addressOf(record(ip, eventType))).toBe(ip === null ? null : readIpText(ip));
  });

  test('Over 80 % of an hour with one address is a warning, less is none', () => {
    const shared = (share: number) => (n: number) => (n % 100 < share ? '104.16.1.1' : anyone(n));
    expect(warningAfter(1_000, shared(85))).toBe('one_address');
    expect(warningAfter(1_000, shared(75))).toBeNull();
    expect(warningAfter(20_000, shared(85))).toBe('one_address');
    expect(warningAfter(20_000, shared(70))).toBeNull();
    expect(warningAfter(1_000, anyone)).toBeNull();
  });

  test('Over 80 % of an hour without a public address is a warning: private ones, several or one, or none', () => {
    expect(warningAfter(500, () => '10.0.0.7')).toBe('no_public_address');
    expect(warningAfter(500, (n) => `10.0.0.${n % 8}`)).toBe('no_public_address');
    expect(warningAfter(500, () => null)).toBe('no_public_address');
    expect(warningAfter(500, (n) => (n % 4 === 0 ? anyone(n) : null))).toBeNull();
  });

  test('Too few decisions say nothing, and those without a session token are left out', () => {
    expect(warningAfter(199, () => '10.0.0.7')).toBeNull();
    expect(warningAfter(500, () => null, false)).toBeNull();
  });

  test('The last hour counts until the present one has enough decisions, and nothing after it', () => {
    const shares = new AddressShares();
    const count = (decisions: number, ip: (n: number) => string, nowMs: number): void => {
      for (let n = 0; n < decisions; n++) shares.count(CUSTOMER, record(ip(n)), nowMs);
    };
    count(300, () => '10.0.0.7', NOW_MS);
    expect(shares.warningOf(CUSTOMER, NOW_MS + HOUR)).toBe('no_public_address');
    count(100, anyone, NOW_MS + HOUR);
    expect([shares.warningOf(CUSTOMER, NOW_MS + HOUR), shares.warnings(NOW_MS + HOUR)]).toEqual([
      'no_public_address',
      1,
    ]);
    count(200, anyone, NOW_MS + HOUR);
    expect([shares.warningOf(CUSTOMER, NOW_MS + HOUR), shares.warnings(NOW_MS + HOUR)]).toEqual([null, 0]);
    count(300, () => '10.0.0.7', NOW_MS + 2 * HOUR);
    expect(shares.warningOf(CUSTOMER, NOW_MS + 4 * HOUR)).toBeNull();
    expect(shares.warningOf(8 as CustomerNumber, NOW_MS)).toBeNull();
  });
});

function readIpText(text: string): string {
  const ip = readIp(text);
  return ip.kind === 'valid' ? ip.text : '';
}
