import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Log } from '../observe/log.ts';
import type { Committer } from '../state/feed/changes.ts';
import { fault, messageOf, type StoreFault, type StoreWrite } from '../state/tables/durable.ts';
import { Slices, type Turns } from '../state/tables/turns.ts';
import {
  CONTROL_CONNECTIONS_MAX,
  CONTROL_LINE_BYTES_MAX,
  CONTROL_PROTOCOL,
  CONTROL_SOCKET,
  controlAddress,
  type ControlAddress,
  type LinkReply,
  type LinkRequest,
  readLinkRequest,
  readControlMessage,
  readProtocol,
} from './control-protocol.ts';

export interface ControlServerParts {
  readonly dataDir: string;
  readonly changes: Committer;
  /** The time slices that changes share with management calls. */
  readonly turns: Turns;
  readonly log: Log;
  /** Called with faults of the store; `store_stuck` must end the process. */
  readonly onFault: (fault: StoreFault) => void;
  /** Makes a link to the dashboard that signs in once. */
  readonly createLink: (request: LinkRequest) => LinkReply;
}

export interface ControlServer {
  /** Ends the connections and removes the socket. A change that is being written is completed. */
  close(): Promise<void>;
}

/** Choice: an import may wait for its file; a client that sends nothing for longer connects again. */
const IDLE_MS = 30_000;

/**
 * Accepts changes of the command line on a Unix socket that only the owner of the process may use. For the holder of the server's lock: a
 * socket that exists was left by a killed server and is removed. Without a socket the server runs all the same, and commands write to the
 * store beside it.
 */
export async function openControlServer(parts: ControlServerParts): Promise<ControlServer> {
  const { dataDir, log } = parts;
  const socketFile = join(dataDir, CONTROL_SOCKET);
  let address: ControlAddress | null = null;
  try {
    rmSync(socketFile, { force: true });
    address = controlAddress(dataDir);
    if (address === null) throw new Error('the path of the data directory is too long for a socket');
    const connections = new Set<Connection>();
    const server = await listen(address.path, (socket) => {
      const connection = new Connection(socket, parts);
      connections.add(connection);
      void connection.done.then(() => connections.delete(connection));
    });
    chmodSync(socketFile, 0o600);
    return closer(server, address, socketFile, connections);
  } catch (error) {
    address?.release();
    log.warn({ detail: messageOf(error) }, 'commands cannot reach this server; their changes count within a second');
    return { close: () => Promise.resolve() };
  }
}

function closer(
  server: Server,
  address: ControlAddress,
  socketFile: string,
  connections: ReadonlySet<Connection>,
): ControlServer {
  return {
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      await Promise.all([...connections].map((connection) => connection.end()));
      await closed;
      rmSync(socketFile, { force: true });
      address.release();
    },
  };
}

function listen(path: string, onConnection: (socket: Socket) => void): Promise<Server> {
  const server = createServer(onConnection);
  server.maxConnections = CONTROL_CONNECTIONS_MAX;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path }, () => {
      server.off('error', reject);
      server.on('error', () => {});
      resolve(server);
    });
  });
}

/** One command. Its changes are applied one after the other. */
class Connection {
  readonly done: Promise<void>;
  readonly #socket: Socket;
  readonly #parts: ControlServerParts;
  readonly #slices: Slices;
  #isGreeted = false;
  #isEnding = false;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(socket: Socket, parts: ControlServerParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.#slices = new Slices(parts.turns);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.on('error', () => {});
    this.done = this.#read().finally(() => socket.destroy());
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#writing;
    this.#socket.destroy();
  }

  async #read(): Promise<void> {
    let held = '';
    this.#socket.setEncoding('utf8');
    try {
      for await (const piece of this.#socket as AsyncIterable<string>) {
        held += piece;
        for (let end = held.indexOf('\n'); end >= 0; end = held.indexOf('\n')) {
          const line = held.slice(0, end);
          held = held.slice(end + 1);
          if (this.#isEnding || !(await this.#answer(line))) return;
        }
        if (held.length > CONTROL_LINE_BYTES_MAX) return;
      }
    } catch {
      // The client is gone.
    }
  }

  /** Returns false if nothing else may follow. */
  async #answer(line: string): Promise<boolean> {
    if (!this.#isGreeted) {
      this.#isGreeted = true;
      this.#send({ protocol: CONTROL_PROTOCOL });
      return readProtocol(line) === CONTROL_PROTOCOL;
    }
    const linkRequest = readLinkRequest(line);
    if (linkRequest !== null) {
      this.#send(this.#parts.createLink(linkRequest));
      return true;
    }
    const written = this.#commit(line);
    this.#writing = written;
    this.#send(await written);
    return true;
  }

  async #commit(line: string): Promise<StoreWrite<unknown>> {
    const message = readControlMessage(line);
    if (message === null) return fault('store_write_failed', 'the server does not understand this change');
    await this.#slices.begin();
    const { change, nowMs, until } = message;
    const written = await this.#parts.changes.commit(change, { by: 'cli', nowMs }, { until });
    if (written.kind === 'fault') this.#parts.onFault(written);
    return written;
  }

  #send(value: object): void {
    if (!this.#socket.destroyed) this.#socket.write(`${JSON.stringify(value)}\n`);
  }
}
