import { expect, test } from 'vitest';
import { HandshakeRate } from '../../../src/http/handshake-rate.ts';

function rateOf(perSecond: number) {
  let nowMs = 5_000;
  const rate = new HandshakeRate(perSecond, undefined, () => nowMs);
  /** Begins handshakes until one is refused, at most `max`; returns how many began. */
  const begin = (source: string, max = 10_000): number => {
    let begun = 0;
    while (begun < max && rate.take(source)) begun++;
    return begun;
  };
  return { rate, begin, pass: (ms: number) => (nowMs += ms) };
}

test('A source begins two seconds’ worth of handshakes at once, and after that its rate', () => {
  const { begin, pass } = rateOf(100);
  expect(begin('192.0.2.1')).toBe(200);
  pass(9);
  expect(begin('192.0.2.1')).toBe(0);
  pass(1);
  expect(begin('192.0.2.1')).toBe(1);
  pass(500);
  expect(begin('192.0.2.1')).toBe(50);
  pass(3_600_000);
  expect(begin('192.0.2.1')).toBe(200);
});

test('A source below its rate is never refused', () => {
  const { begin, pass } = rateOf(100);
  for (let n = 0; n < 10_000; n++) {
    expect(begin('192.0.2.1', 1)).toBe(1);
    pass(10);
  }
});

test('A source that used up its handshakes does not affect others', () => {
  const { begin } = rateOf(100);
  begin('192.0.2.1');
  const others = Array.from({ length: 1_000 }, (_, n) => begin(`198.51.${n >> 8}.${n & 255}`, 10));
  expect(others.filter((begun) => begun < 10).length).toBeLessThan(5);
});

test('Refused handshakes cost the source nothing', () => {
  const { rate, begin, pass } = rateOf(10);
  begin('192.0.2.1');
  for (let n = 0; n < 10_000; n++) rate.take('192.0.2.1');
  pass(1_000);
  expect(begin('192.0.2.1')).toBe(10);
});
