import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { openListener, type Listener } from '../../../src/app/open-listener.ts';
import { startingHandler } from '../../../src/api/starting.ts';
import { IDENTITIES } from '../../support/hostile-server.ts';
import { TRANSPORTS } from '../../support/requests.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-connections-'));
const certFile = join(folder, 'cert.pem');
const keyFile = join(folder, 'key.pem');
writeFileSync(certFile, IDENTITIES.good.cert);
writeFileSync(keyFile, IDENTITIES.good.key);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let sockets: Socket[] = [];
let doors: Listener[] = [];
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const listener of doors) listener.transport.drain();
  sockets = [];
  doors = [];
});

type Settings = Parameters<typeof openListener>[0];

async function open(settings: Partial<Settings>) {
  const defaults = { host: '127.0.0.1', port: 0, tls: null, trustedProxies: [], transport: 'node' } as const;
  const bounds = { connectionsMax: 64, sourceConnectionsMax: 8, sourceHandshakesMax: 1_000 };
  const listener = await openListener({ ...defaults, ...bounds, ...settings }, startingHandler('1.2.3'), (error) => {
    throw error;
  });
  if (listener.kind === 'fault') throw new Error(listener.detail);
  doors.push(listener);
  const { connections, port } = listener.transport;
  if (connections === null) throw new Error('the door has no bounds');
  /** Opens a connection that sends nothing. */
  const idle = (localAddress: string): Socket => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => {});
    sockets.push(socket);
    return socket;
  };
  const settled = async (): Promise<void> => {
    const seen = (): number =>
      connections.open + connections.refused.source + connections.refused.total + connections.refused.rate;
    await expect.poll(seen, { interval: 5 }).toBeGreaterThanOrEqual(sockets.length);
  };
  return { connections, idle, settled };
}

const WAYS = TRANSPORTS.flatMap((transport) => [
  [transport, 'HTTP', null] as const,
  [transport, 'HTTPS', { certFile, keyFile }] as const,
]);

describe.each(WAYS)('over %s with %s', (transport, scheme, tls) => {
  test('A source beyond its bound is disconnected at once, others are served, and closed connections make room', async () => {
    const { connections, idle, settled } = await open({ transport, tls });
    for (let n = 0; n < 8; n++) idle('127.0.0.1');
    await settled();
    expect(connections.open).toBe(8);
    await once(idle('127.0.0.1'), 'close');
    expect(connections.refused).toEqual({ source: 1, total: 0, rate: 0 });

    const other = idle('127.0.0.2');
    if (scheme === 'HTTP') {
      other.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
      expect(String((await once(other, 'data'))[0])).toContain('HTTP/1.1 200 OK');
    }
    await expect.poll(() => connections.open).toBe(9);
    for (const socket of sockets.slice(0, 8)) socket.destroy();
    await expect.poll(() => connections.open).toBe(1);
    idle('127.0.0.1');
    await expect.poll(() => connections.open).toBe(2);
  });

  test('When most connections are taken, a source with few still gets in', async () => {
    const { connections, idle, settled } = await open({ transport, tls });
    /** Opens connections one by one. Before a census, uWebSockets.js refuses some that could stay. */
    const fill = async (address: string, open: number): Promise<void> => {
      while (connections.open < open) {
        idle(address);
        await settled();
      }
    };
    for (let source = 0; source < 4; source++) await fill(`127.0.0.${10 + source}`, 8 * (source + 1));
    await fill('127.0.0.20', 36);
    const { total } = connections.refused;
    await once(idle('127.0.0.20'), 'close');
    expect([connections.open, connections.refused.total]).toEqual([36, total + 1]);
  });

  test('A trusted proxy may open more connections than another source', async () => {
    const { connections, idle, settled } = await open({ transport, tls, trustedProxies: ['127.0.0.3/32'] });
    for (let n = 0; n < 20; n++) idle('127.0.0.3');
    await settled();
    expect(connections.open).toBe(20);
  });

  test('Beyond its rate a source is refused before the handshake with TLS, and never without', async () => {
    const { connections, idle, settled } = await open({ transport, tls, sourceHandshakesMax: 1 });
    for (let n = 0; n < 8; n++) idle('127.0.0.1');
    await settled();
    const { rate } = connections.refused;
    // Two at once, and one for each second by which the machine was slow.
    if (scheme === 'HTTP') expect(rate).toBe(0);
    else expect(rate).toBeGreaterThan(0);
    idle('127.0.0.2');
    await settled();
    expect(connections.refused).toEqual({ source: 0, total: 0, rate });
  });
});
