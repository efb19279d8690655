import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface LateProxy {
  readonly url: string;
  /** Delay of each reply, ms. */
  delayMs: number;
  /** Whether replies are dropped: connections stay open. */
  isSilent: boolean;
  stop(): void;
}

/** A proxy in front of a server, whose replies come late or not at all. */
export async function startLateProxy(port: number): Promise<LateProxy> {
  const sockets = new Set<Socket>();
  const proxy = { delayMs: 0, isSilent: false };
  const server = createServer((client) => {
    const store = connect(port, '127.0.0.1');
    for (const socket of [client, store]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        store.destroy();
      });
    }
    client.on('data', (data) => store.write(data));
    store.on('data', (data) => {
      if (proxy.isSilent) return;
      if (proxy.delayMs === 0) client.write(data);
      else setTimeout(() => client.write(data), proxy.delayMs);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return Object.assign(proxy, {
    url: `redis://127.0.0.1:${address.port}`,
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  });
}
