import { describe, expect, test } from 'vitest';
import { FailedAuthentications } from '../../../src/decide/failed-authentications.ts';
import { rateFields } from '../../../src/decide/rate-fields.ts';
import { RATE_ADDRESSES_MAX, RATE_FAILED_AUTHENTICATIONS, RATE_WINDOW_SECONDS } from '../../../src/kernel/limits.ts';

const START = Date.UTC(2026, 10, 21, 12) / 1000;

describe('failed authentications', () => {
  test('Failed authentications are counted per address', () => {
    const failures = new FailedAuthentications();
    for (let i = 1; i <= RATE_FAILED_AUTHENTICATIONS; i++) {
      const state = failures.take('198.51.100.1', START);
      expect(state.allowed).toBe(true);
      expect(state.remaining).toBe(RATE_FAILED_AUTHENTICATIONS - i);
    }
    expect(failures.peek('198.51.100.1', START)).toMatchObject({ allowed: true, remaining: 0 });
    expect(failures.take('198.51.100.1', START)).toMatchObject({ allowed: false, remaining: 0 });
    expect(failures.take('198.51.100.2', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 1);
    expect(failures.take('198.51.100.1', START + RATE_WINDOW_SECONDS).allowed).toBe(true);
  });

  test('Failed authentications of one IPv6 /64 count as one source, those of an IPv4 address separately', () => {
    const failures = new FailedAuthentications();
    failures.take('2001:db8:1:2::1', START);
    failures.take('2001:0db8:0001:0002:ffff:0000:0000:0001', START);
    expect(failures.peek('2001:db8:1:2:3:4:5:6', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 2);
    expect(failures.peek('2001:db8:1:3::1', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS);
    failures.take('::ffff:198.51.100.7', START);
    expect(failures.peek('198.51.100.7', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 1);
  });

  test('Beyond the maximum number of addresses, all further ones share one counter', () => {
    const failures = new FailedAuthentications();
    for (let i = 0; i < RATE_ADDRESSES_MAX; i++) failures.take(`a${i}`, START);
    expect(failures.take('a0', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 2);
    expect(failures.take('new-1', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 1);
    expect(failures.take('new-2', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 2);
  });

  test('Who fills the table from one /48 uses up the count of that network only', () => {
    const failures = new FailedAuthentications();
    const subnet = (n: number): string => `2001:db8:1:${n.toString(16)}::1`;
    for (let n = 0; n < RATE_ADDRESSES_MAX; n++) failures.take(subnet(n), START);
    for (let n = 0; n < RATE_FAILED_AUTHENTICATIONS; n++) failures.take(`2001:db8:1:0:0:0:0:${n.toString(16)}`, START);
    expect(failures.take('198.51.100.1', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 1);
    expect(failures.take('198.51.100.2', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 2);
    expect(failures.take('203.0.113.1', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 1);
    expect(failures.take('2001:db8:2:1::1', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 1);
    expect(failures.peek(subnet(5), START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 1);
  });

  test('Networks beyond the table share one count, so that it stays bounded', () => {
    const failures = new FailedAuthentications();
    const address = (n: number): string => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
    for (let n = 0; n < RATE_ADDRESSES_MAX; n++) failures.take(address(n), START);
    const network = (n: number): string => `2001:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::1`;
    for (let n = 0; n < RATE_ADDRESSES_MAX; n++) failures.take(network(n + 0xd_0000), START);
    failures.take('198.51.100.1', START);
    expect(failures.take('203.0.113.1', START).remaining).toBe(RATE_FAILED_AUTHENTICATIONS - 2);
  });

  test('The rate fields of a response are three of the contract and two of the IETF', () => {
    const state = { limit: 600, remaining: 599, resetSeconds: START, retryAfterSeconds: 42 };
    expect(rateFields(state)).toBe(
      `\r\nX-SVC-Rl-Limit: 600\r\nX-SVC-Rl-Remaining: 599\r\nX-SVC-Rl-Reset: ${START}` +
        '\r\nRateLimit-Policy: "default";q=600;w=60\r\nRateLimit: "default";r=599;t=42',
    );
  });
});
