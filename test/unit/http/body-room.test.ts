import { expect, test } from 'vitest';
import { BodyRoom, bodySourceOf } from '../../../src/http/body-room.ts';

test('The bytes of unfinished bodies are limited in total and per source, and are released once', () => {
  const room = new BodyRoom(100, 40);
  const one = room.open('192.0.2.1');
  expect([one.take(30), one.take(11), one.take(10)]).toEqual([true, false, true]);
  expect(room.open('192.0.2.1').take(1)).toBe(false);
  const proxy = room.open(null);
  expect([proxy.take(60), proxy.take(1)]).toEqual([true, false]);
  expect(room.open('192.0.2.2').take(1)).toBe(false);
  one.release();
  one.release();
  expect(room.bytes).toBe(60);
  expect(room.open('192.0.2.1').take(40)).toBe(true);
});

test('The limit counts IPv4 per address and IPv6 per /64, in both notations', () => {
  expect(bodySourceOf('192.0.2.1')).toBe('192.0.2.1');
  expect(bodySourceOf('::ffff:192.0.2.1')).toBe('::ffff:192.0.2.1');
  expect(bodySourceOf('2001:db8:1:2::9')).toBe(bodySourceOf('2001:0db8:0001:0002:0003:0004:0005:0006'));
  expect(bodySourceOf('2001:db8:1:2::9')).not.toBe(bodySourceOf('2001:db8:1:3::9'));
  expect(bodySourceOf('0000:0000:0000:0000:0000:ffff:0102:0304')).not.toBe(bodySourceOf('::ffff:102:305'));
  expect(bodySourceOf('::1')).toBe('0:0:0:0');
});
