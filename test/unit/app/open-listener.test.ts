import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { sendJson } from '../../../src/http/reply.ts';
import { openListener, type Listener, type ListenerFault } from '../../../src/app/open-listener.ts';
import { startingHandler } from '../../../src/api/starting.ts';
import { TRANSPORTS } from '../../support/requests.ts';

const LOCAL = {
  host: '127.0.0.1',
  port: 0,
  tls: null,
  trustedProxies: [],
  connectionsMax: 64,
  sourceConnectionsMax: 32,
} as const;

function open(settings: Partial<Parameters<typeof openListener>[0]>): Promise<Listener | ListenerFault> {
  const onCrash = (error: unknown): never => {
    throw error;
  };
  return openListener({ ...LOCAL, transport: 'node', ...settings }, startingHandler('1.2.3'), onCrash);
}

describe.each(TRANSPORTS)('over %s', (transport) => {
  test('The listener responds that the service is starting until its handler is set', async () => {
    const listener = await open({ transport });
    if (listener.kind === 'fault') throw new Error(listener.detail);
    expect(await (await fetch(`${listener.url}/healthz`)).json()).toEqual({ status: 'ok' });
    const ready = await fetch(`${listener.url}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ status: 'starting', version: '1.2.3' });
    const decision = await fetch(`${listener.url}/v1/decide`, { method: 'POST', body: '{}' });
    expect(decision.status).toBe(429);
    expect(decision.headers.get('retry-after')).toBe('1');
    expect(await decision.json()).toMatchObject({ code: 'overloaded' });

    listener.lead(
      (_head, exchange) => sendJson(exchange, 200, { ready: true }),
      () => {},
    );
    expect(await (await fetch(`${listener.url}/readyz`)).json()).toEqual({ ready: true });
    listener.transport.drain();
  });

  test('The listener names the setting of a port in use and of an address that this machine does not have', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    expect(await open({ transport, port })).toMatchObject({
      kind: 'fault',
      isSetting: false,
      detail: `GATEHOUSE_PORT: port ${port} of 127.0.0.1 is taken by another process (EADDRINUSE)`,
    });
    taken.close();
    // An address of a documentation network.
    expect(await open({ transport, host: '192.0.2.1' })).toMatchObject({
      kind: 'fault',
      detail: 'GATEHOUSE_HOST: 192.0.2.1 is not an address of this machine (EADDRNOTAVAIL)',
    });
  });
});
