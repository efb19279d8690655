import { connect, type Socket } from 'node:net';
import {
  CONTROL_PROTOCOL,
  controlAddress,
  type LinkReply,
  type LinkRequest,
  readProtocol,
} from '../app/control-protocol.ts';
import { STORE_WRITE_MS_MAX } from '../kernel/limits.ts';
import { fault, type StoreWrite } from '../state/tables/durable.ts';

const GREETING_MS_MAX = 5_000;
/** Choice: the server's own limit for a write, and time to wait for its turn. */
const RESPONSE_MS_MAX = STORE_WRITE_MS_MAX + 10_000;

/** A connection to the server that runs on a data directory, through its control socket. For one message. */
export class ServerConnection {
  readonly #socket: Socket;
  readonly #lines: LineReader;

  private constructor(socket: Socket, lines: LineReader) {
    this.#socket = socket;
    this.#lines = lines;
  }

  /** Returns null if no server listens, or one of another protocol. */
  static async open(dataDir: string): Promise<ServerConnection | null> {
    const address = controlAddress(dataDir);
    if (address === null) return null;
    const socket = connect({ path: address.path });
    const lines = new LineReader(socket);
    socket.write(`${JSON.stringify({ protocol: CONTROL_PROTOCOL })}\n`);
    const greeting = await lines.next(GREETING_MS_MAX);
    address.release();
    if (greeting !== null && readProtocol(greeting) === CONTROL_PROTOCOL) return new ServerConnection(socket, lines);
    socket.destroy();
    return null;
  }

  /** Sends a change and returns its outcome. */
  async ask(message: object): Promise<StoreWrite<unknown>> {
    const line = await this.#exchange(message);
    if (line !== null) return JSON.parse(line) as StoreWrite<unknown>;
    return fault('change_unconfirmed', 'the server did not confirm the change; whether it was made is unknown');
  }

  /** Returns null if the server ended before it replied. */
  async askForLink(request: LinkRequest): Promise<LinkReply | null> {
    const line = await this.#exchange(request);
    return line === null ? null : (JSON.parse(line) as LinkReply);
  }

  close(): void {
    this.#socket.destroy();
  }

  async #exchange(message: object): Promise<string | null> {
    this.#socket.write(`${JSON.stringify(message)}\n`);
    const line = await this.#lines.next(RESPONSE_MS_MAX);
    this.close();
    return line;
  }
}

/** Reads the lines of a socket, one for each call. */
class LineReader {
  #held = '';
  #isEnded = false;
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    socket.setEncoding('utf8');
    socket.on('data', (piece: string) => {
      this.#held += piece;
      this.#wake();
    });
    const onEnd = (): void => {
      this.#isEnded = true;
      this.#wake();
    };
    socket.on('error', onEnd).on('close', onEnd).on('end', onEnd);
  }

  /** Returns null if the socket ended or the time is over. */
  async next(timeMs: number): Promise<string | null> {
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort();
      this.#wake();
    }, timeMs);
    try {
      for (;;) {
        const end = this.#held.indexOf('\n');
        if (end >= 0) {
          const line = this.#held.slice(0, end);
          this.#held = this.#held.slice(end + 1);
          return line;
        }
        if (this.#isEnded || late.signal.aborted) return null;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      clearTimeout(timer);
    }
  }
}
