import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { sendJson } from '../../src/base/reply.ts';
import { openDoor, type Door, type DoorFault } from '../../src/door.ts';
import { startingHandler } from '../../src/manage/starting.ts';
import { TRANSPORTS } from '../support/requests.ts';

const LOCAL = { host: '127.0.0.1', port: 0, tls: null, trustedProxies: [] } as const;

function open(settings: Partial<Parameters<typeof openDoor>[0]>): Promise<Door | DoorFault> {
  const onCrash = (error: unknown): never => {
    throw error;
  };
  return openDoor({ ...LOCAL, transport: 'node', ...settings }, startingHandler('1.2.3'), onCrash);
}

describe.each(TRANSPORTS)('over %s', (transport) => {
  test('answers that the service starts until its handler leads', async () => {
    const door = await open({ transport });
    if (door.kind === 'fault') throw new Error(door.detail);
    expect(await (await fetch(`${door.url}/healthz`)).json()).toEqual({ status: 'ok' });
    const ready = await fetch(`${door.url}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ status: 'starting', version: '1.2.3' });
    const decision = await fetch(`${door.url}/v1/decide`, { method: 'POST', body: '{}' });
    expect(decision.status).toBe(429);
    expect(decision.headers.get('retry-after')).toBe('1');
    expect(await decision.json()).toMatchObject({ code: 'overloaded' });

    door.lead(
      (_head, exchange) => sendJson(exchange, 200, { ready: true }),
      () => {},
    );
    expect(await (await fetch(`${door.url}/readyz`)).json()).toEqual({ ready: true });
    door.transport.drain();
  });

  test('names the setting of a port that is taken, and of an address that is not this machine’s', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    expect(await open({ transport, port })).toMatchObject({
      kind: 'fault',
      isSetting: false,
      detail: `GATEHOUSE_PORT: port ${port} of 127.0.0.1 is taken by another process (EADDRINUSE)`,
    });
    taken.close();
    // A documentation network.
    expect(await open({ transport, host: '192.0.2.1' })).toMatchObject({
      kind: 'fault',
      detail: 'GATEHOUSE_HOST: 192.0.2.1 is not an address of this machine (EADDRNOTAVAIL)',
    });
  });
});
