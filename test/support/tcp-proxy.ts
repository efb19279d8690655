import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Transform, type TransformCallback } from 'node:stream';

/**
 * A network between two programs on this machine, which a test can make slow or interrupt.
 *
 * `cut`: connections are reset, new ones at once. `hole`: nothing arrives, and no side gets an error; what was sent meanwhile arrives when
 * the network is open again, as TCP retransmits it. A number is the time that a message and its reply need together, ms.
 */
export type Network = 'open' | 'cut' | 'hole' | number;

export interface TcpProxy {
  readonly port: number;
  /** Chunks that wait in the black hole, or because the network is slow. */
  readonly waiting: number;
  set(network: Network): void;
  close(): Promise<void>;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  let network: Network = 'open';
  const sockets = new Set<Socket>();
  const roads = new Set<Road>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
  };
  const join = (from: Socket, to: Socket): void => {
    const road = new Road(() => network);
    roads.add(road);
    to.on('close', () => {
      roads.delete(road);
      if (!from.readableEnded) from.destroy();
    });
    from.setNoDelay(true).pipe(road).pipe(to);
  };
  const server = createServer({ allowHalfOpen: true }, (near) => {
    keep(near);
    if (network === 'cut') return void near.resetAndDestroy();
    const far = keep(connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true }));
    join(near, far);
    join(far, near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get waiting() {
      return [...roads].reduce((sum, road) => sum + road.waiting, 0);
    },
    set(next) {
      network = next;
      if (next === 'cut') for (const socket of sockets) socket.resetAndDestroy();
      else for (const road of roads) road.proceed();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await once(server.close(), 'close');
    },
  };
}

/** One direction of a connection. Chunks keep their order. */
class Road extends Transform {
  readonly #network: () => Network;
  readonly #chunks: { readonly chunk: Buffer; readonly atMs: number }[] = [];
  #ended: TransformCallback | null = null;

  constructor(network: () => Network) {
    super();
    this.#network = network;
  }

  get waiting(): number {
    return this.#chunks.length;
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    const network = this.#network();
    this.#chunks.push({ chunk, atMs: performance.now() + (typeof network === 'number' ? network / 2 : 0) });
    this.proceed();
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#ended = done;
    this.proceed();
  }

  /** Passes on what is due. */
  proceed(): void {
    const network = this.#network();
    if (this.destroyed || network === 'hole' || network === 'cut') return;
    const nowMs = performance.now();
    for (let first = this.#chunks[0]; first !== undefined; first = this.#chunks[0]) {
      if (first.atMs > nowMs) return void setTimeout(() => this.proceed(), first.atMs - nowMs);
      this.#chunks.shift();
      this.push(first.chunk);
    }
    const ended = this.#ended;
    this.#ended = null;
    ended?.();
  }
}
