import { type MessagePort, SHARE_ENV, Worker } from 'node:worker_threads';
import { unreachable } from '../kernel/brand.ts';
import { programUrl } from '../kernel/programs.ts';
import { BodyRoom } from './body-room.ts';
import { ConnectionTally } from './connection-room.ts';
import { createSharedHandshakes } from './handshake-rate.ts';
import type { RequestHead } from './exchange.ts';
import { ThreadExchange, type ThreadState } from './thread-exchange.ts';
import {
  type HttpThreadData,
  Outbox,
  type RequestEvent,
  type RequestTurn,
  type ResponseEvent,
  type ThreadOrder,
  unpackHead,
} from './thread-messages.ts';
import type { Transport, TransportOptions } from './transport.ts';

/** How many threads serve HTTP. */
export interface HttpThreadsWanted {
  readonly count: number;
  /** The networks of `TransportOptions.trustedProxies`, canonical. */
  readonly trustedProxies: readonly string[];
}

/**
 * Serves with uWebSockets.js in several threads that share the port: they have the connections, TLS, HTTP and the check of the header, and
 * hand each request to this thread, where `onRequest` runs as with one thread. What one request or customer may do is therefore checked at
 * one place. Resolves to null if the address cannot be bound. The port is not 0, and the caller has checked that no other process has it:
 * the threads would share it with that process.
 *
 * A thread that fails ends the process: its connections are lost, and the others could not tell which requests were.
 * Measured: docs/performance.md, "HTTP threads".
 */
export async function listenInThreads(options: TransportOptions, wanted: HttpThreadsWanted): Promise<Transport | null> {
  const tally = new ConnectionTally();
  const { host, port, tls, connections = null, dataDir = null } = options;
  const shared = { threads: wanted.count, connections: tally.memory, handshakes: createSharedHandshakes() };
  const bodies = new BodyRoom();
  const { trustedProxies } = wanted;
  const threads = Array.from({ length: wanted.count }, () => {
    const data = { host, port, tls, trustedProxies, connections, shared, dataDir, taken: new SharedArrayBuffer(4) };
    return new HttpThread(data, options, bodies);
  });
  const close = async (): Promise<void> => {
    await Promise.all(threads.map((thread) => thread.close()));
  };
  const opened = await Promise.allSettled(threads.map((thread) => thread.listening()));
  const failed = opened.find((one) => one.status === 'rejected' || !one.value);
  if (failed !== undefined) {
    await close();
    if (failed.status === 'rejected') throw failed.reason;
    return null;
  }
  return {
    name: 'uws',
    port,
    connections: connections === null ? null : tally,
    drain() {
      for (const thread of threads) thread.order('drain');
    },
    close,
    lead(ports) {
      for (const [n, thread] of threads.entries()) {
        const port = ports[n];
        if (port !== undefined) thread.order({ lead: port }, [port]);
      }
    },
  };
}

type HeadEvent = Extract<RequestEvent, readonly ['head' | 'crash', ...unknown[]]>;

class HttpThread {
  readonly #worker: Worker;
  readonly #options: TransportOptions;
  readonly #taken: Int32Array;
  readonly #open = new Map<number, ThreadExchange>();
  readonly #state: ThreadState;
  readonly #ended: Promise<void>;
  #isClosing = false;

  constructor(workerData: HttpThreadData, options: TransportOptions, bodies: BodyRoom) {
    this.#options = options;
    this.#taken = new Int32Array(workerData.taken);
    // The library reads its settings from the environment of the process.
    this.#worker = new Worker(programUrl('cell'), { workerData, env: SHARE_ENV });
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        resolve();
        if (!this.#isClosing) throw new Error('a thread that serves HTTP has ended');
      });
    });
    const { trustedProxies, onCrash } = options;
    this.#state = {
      draining: false,
      trustedProxies,
      onCrash,
      bodies,
      outbox: new Outbox<ResponseEvent>((events) => this.order(events), queueMicrotask),
      forget: (id) => void this.#open.delete(id),
    };
  }

  /** Resolves to whether the address could be bound. Rejects if the thread cannot serve. */
  listening(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        this.#isClosing = true;
        reject(error);
      };
      // Later, without this listener, an error ends the process.
      this.#worker.once('error', fail);
      this.#worker.once('message', (isListening: boolean) => {
        this.#worker.off('error', fail);
        this.#worker.on('message', (turn: RequestTurn) => this.#take(turn));
        resolve(isListening);
      });
    });
  }

  order(order: ThreadOrder, transferred: readonly MessagePort[] = []): void {
    this.#worker.postMessage(order, transferred);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.order('close');
    await this.#ended;
  }

  #take({ events, pieces, bytes }: RequestTurn): void {
    let at = 0;
    for (const event of events) {
      const [kind, id] = event;
      switch (kind) {
        case 'head':
          this.#begin(id, event);
          break;
        case 'crash':
          this.#options.onCrash(event[4], this.#enter(id, event).exchange);
          break;
        case 'piece': {
          const [, , length, isLast] = event;
          this.#open.get(id)?.takePiece(pieces.subarray(at, at + length), isLast);
          at += length;
          break;
        }
        case 'gone':
          this.#open.get(id)?.gone();
          break;
        case 'next':
          this.#open.get(id)?.next();
          break;
        default:
          unreachable(kind);
      }
    }
    Atomics.add(this.#taken, 0, bytes);
  }

  #begin(id: number, event: HeadEvent): void {
    const { head, exchange } = this.#enter(id, event);
    try {
      this.#options.onRequest(head, exchange);
    } catch (error) {
      this.#options.onCrash(error, exchange);
    }
  }

  #enter(id: number, [, , values, peer]: HeadEvent): { readonly head: RequestHead; readonly exchange: ThreadExchange } {
    const head = unpackHead(values);
    const exchange = new ThreadExchange(id, head, peer, this.#state);
    this.#open.set(id, exchange);
    return { head, exchange };
  }
}
