import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { startingHandler } from '../../../src/api/starting.ts';
import { openListener } from '../../../src/app/open-listener.ts';
import { IDENTITIES } from '../../support/hostile-server.ts';
import { TRANSPORTS } from '../../support/requests.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-handshakes-'));
const tls = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
writeFileSync(tls.certFile, IDENTITIES.good.cert);
writeFileSync(tls.keyFile, IDENTITIES.good.key);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a client sends before it falls silent: nothing, or the first bytes of a handshake. */
const BEGINNINGS = ['', '16030100ff010000fb0303'].map((hex) => Buffer.from(hex, 'hex'));

test(
  'A connection whose TLS handshake never completes is closed, on both transports',
  { timeout: 120_000 },
  async () => {
    const closed = TRANSPORTS.map(async (transport) => {
      const settings = { host: '127.0.0.1', port: 0, tls, trustedProxies: [], transport };
      const bounds = { connectionsMax: 64, sourceConnectionsMax: 8, sourceHandshakesMax: 100 };
      const listener = await openListener({ ...settings, ...bounds }, startingHandler('1.2.3'), (error) => {
        throw error;
      });
      if (listener.kind === 'fault') throw new Error(listener.detail);
      const sockets = BEGINNINGS.map((bytes) => {
        const socket = connect(listener.transport.port, '127.0.0.1', () => socket.write(bytes));
        return socket.on('error', () => {}).resume();
      });
      await Promise.all(sockets.map((socket) => once(socket, 'close')));
      await expect.poll(() => listener.transport.connections?.open).toBe(0);
      listener.transport.drain();
    });
    await Promise.all(closed);
  },
);
