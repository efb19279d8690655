import { expect, test } from 'vitest';
import { TrustedProxies } from '../../../src/http/trusted-proxies.ts';
import { boundsWithin, ConnectionRoom, ExactCounts } from '../../../src/http/connection-room.ts';
import {
  CONNECTIONS_RESERVED,
  CONNECTIONS_RESERVED_SOURCE_MAX,
  DESCRIPTORS_RESERVED,
} from '../../../src/kernel/limits.ts';

const HANDSHAKES = { sourceHandshakesMax: 5 };

function roomFor(connectionsMax: number, sourceConnectionsMax: number, trusted: readonly string[] = [], isTls = false) {
  const room = new ConnectionRoom(
    { connectionsMax, sourceConnectionsMax, ...HANDSHAKES },
    new TrustedProxies(trusted),
    new ExactCounts(),
    isTls,
  );
  /** Opens connections until one is refused, at most `max`; returns how many stayed. */
  const fill = (address: string, max = 1_000): number => {
    let stayed = 0;
    while (stayed < max && room.enter(address)) stayed++;
    return stayed;
  };
  return { room, fill };
}

test('One source has its own bound, and connections that closed make room again', () => {
  const { room, fill } = roomFor(500, 10);
  expect(fill('192.0.2.1')).toBe(10);
  expect(fill('192.0.2.2', 5)).toBe(5);
  room.leave('192.0.2.1');
  expect(fill('192.0.2.1')).toBe(1);
  expect(room.open).toBe(15);
  expect(room.refused).toEqual({ source: 2, total: 0, rate: 0 });
});

test('All addresses of an IPv6 /64 are one source, however they are written', () => {
  const { fill } = roomFor(500, 10);
  expect(fill('2001:db8::1', 6)).toBe(6);
  expect(fill('2001:0db8:0000:0000:ffff:0000:0000:0002')).toBe(4);
  expect(fill('2001:db8:0:1::1')).toBe(10);
});

test('The last connections are for sources that have few, so that metrics can still be scraped', () => {
  const max = 500;
  const { room, fill } = roomFor(max, 250);
  for (let n = 1; n <= 4; n++) fill(`192.0.2.${n}`, (max - CONNECTIONS_RESERVED) / 4);
  expect(room.open).toBe(max - CONNECTIONS_RESERVED);
  expect(fill('198.51.100.7')).toBe(CONNECTIONS_RESERVED_SOURCE_MAX);
  for (let n = 1; n <= 40; n++) fill(`203.0.113.${n}`);
  expect(room.open).toBe(max);
  expect(room.enter('198.51.100.8')).toBe(false);
});

test('A trusted proxy has no bound of its own, but leaves the reserve to others', () => {
  const max = 500;
  const { fill } = roomFor(max, 10, ['10.0.0.0/8']);
  expect(fill('10.1.2.3')).toBe(max - CONNECTIONS_RESERVED);
  expect(fill('192.0.2.1')).toBe(CONNECTIONS_RESERVED_SOURCE_MAX);
});

test('With TLS, a source may begin as many handshakes as its rate allows, and a trusted proxy any number', () => {
  const { room, fill } = roomFor(500, 250, ['10.0.0.0/8'], true);
  const stayed = fill('192.0.2.1');
  // Two seconds' worth at once; more only if the machine is slow.
  expect(stayed).toBeGreaterThanOrEqual(10);
  expect(stayed).toBeLessThan(100);
  expect(room.refused).toEqual({ source: 0, total: 0, rate: 1 });
  expect(fill('10.1.2.3', 100)).toBe(100);
});

test('File descriptors are left for everything else, and one source never gets more than half of the connections', () => {
  const wanted = { connectionsMax: 16_384, sourceConnectionsMax: 1_024, ...HANDSHAKES };
  expect(boundsWithin(1_048_576, wanted)).toEqual(wanted);
  expect(boundsWithin(10_000, wanted).connectionsMax).toBe(10_000 - DESCRIPTORS_RESERVED);
  expect(boundsWithin(1_024, wanted)).toEqual({ connectionsMax: 512, sourceConnectionsMax: 256, ...HANDSHAKES });
});
