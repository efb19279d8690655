import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface SendOptions {
  readonly requests: number;
  /** Number of connections; each has one request in flight. */
  readonly sockets: number;
  /** Deadline by `performance.now()`: afterwards nothing more is sent, and unanswered requests are abandoned. */
  readonly untilMs: number;
}

/**
 * Sends requests to a loopback port over persistent connections, one request in flight per connection. Returns how many were answered. Does
 * not reopen a connection that fails or ends; never throws.
 */
export async function sendOver(port: number, requestAt: (n: number) => Buffer, options: SendOptions): Promise<number> {
  const { requests, untilMs } = options;
  let sent = 0;
  let answered = 0;
  const sockets: Socket[] = [];
  const closed: Promise<unknown>[] = [];
  const sendNext = (socket: Socket): void => {
    if (sent >= requests || performance.now() > untilMs) socket.end();
    else socket.write(requestAt(sent++));
  };
  for (let n = 0; n < options.sockets; n++) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let text = '';
    socket.setEncoding('latin1');
    socket.once('connect', () => sendNext(socket));
    socket.on('data', (piece: string) => {
      text += piece;
      if (!isWhole(text)) return;
      text = '';
      answered++;
      sendNext(socket);
    });
    socket.on('error', () => {
      // `close` follows.
    });
    sockets.push(socket);
    closed.push(once(socket, 'close').catch(() => {}));
  }
  const giveUp = setTimeout(
    () => sockets.forEach((socket) => socket.destroy()),
    Math.max(0, untilMs - performance.now()),
  );
  await Promise.all(closed);
  clearTimeout(giveUp);
  return answered;
}

const LENGTH = /\r\ncontent-length: *(\d+)/i;

/** Returns whether the response is complete. */
function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  return text.length >= headEnd + 4 + Number(LENGTH.exec(text.slice(0, headEnd))?.[1] ?? 0);
}
