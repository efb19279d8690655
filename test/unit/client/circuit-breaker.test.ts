import { expect, test } from 'vitest';
import { CircuitBreaker } from '../../../src/client/circuit-breaker.ts';

function breakerAt(): { breaker: CircuitBreaker; clock: { ms: number } } {
  const clock = { ms: 0 };
  return { clock, breaker: new CircuitBreaker(() => clock.ms) };
}

function fail(breaker: CircuitBreaker, times: number): void {
  for (let i = 0; i < times; i++) breaker.onFailure();
}

test('After 20 failures within 10 s one request in 20 is asked, for 5 s', () => {
  const { breaker, clock } = breakerAt();
  fail(breaker, 19);
  expect(breaker.mayAsk()).toBe(true);
  clock.ms = 10_000;
  fail(breaker, 1);
  const asked = Array.from({ length: 60 }, () => breaker.mayAsk()).filter(Boolean);
  expect(asked).toHaveLength(3);
  clock.ms = 14_999;
  expect(breaker.mayAsk()).toBe(false);
  clock.ms = 15_000;
  expect(breaker.mayAsk()).toBe(true);
});

test('20 failures in a longer time leave it closed', () => {
  const { breaker, clock } = breakerAt();
  for (let i = 0; i < 40; i++) {
    clock.ms += 600;
    fail(breaker, 1);
  }
  expect(breaker.isOpen).toBe(false);
});

test('The first success closes it, and 20 new failures are needed to open it', () => {
  const { breaker } = breakerAt();
  fail(breaker, 20);
  expect(breaker.isOpen).toBe(true);
  breaker.onSuccess();
  fail(breaker, 19);
  expect(breaker.isOpen).toBe(false);
  fail(breaker, 1);
  expect(breaker.isOpen).toBe(true);
});

test('A request that is asked while it is open and fails keeps it open', () => {
  const { breaker, clock } = breakerAt();
  fail(breaker, 20);
  clock.ms = 4_000;
  fail(breaker, 1);
  clock.ms = 8_999;
  expect(breaker.isOpen).toBe(true);
});
