import { open, type FileHandle } from 'node:fs/promises';
import { bodySourceOf } from './body-room.ts';

/**
 * One line of `/proc/net/tcp` and `tcp6`: local address and port, remote address, state, and the inode, which is 0 for a connection that no
 * process holds, such as one in TIME_WAIT or one not accepted yet. Addresses are words of 32 bits in the processor's byte order.
 */
const LINE =
  /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]{8}|[0-9A-F]{32}):[0-9A-F]{4} ([0-9A-F]{2}) \S+ \S+ \S+ +\d+ +\d+ (\d+)/;
const LISTENING = '0A';
const PIECE_BYTES = 65_536;

/** Tables of the network namespace. A system without IPv6 has only the first. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'] as const;

/**
 * Counts the open connections to a local port by their source. Returns null if the system has no such tables. Read in pieces, so that
 * thousands of connections do not hold up the event loop. Linux on little-endian processors only, as are the binaries of uWebSockets.js.
 */
export async function countConnections(
  port: number,
  tables: readonly string[] = TABLES,
): Promise<ReadonlyMap<string, number> | null> {
  const counts = new Map<string, number>();
  let wasRead = false;
  for (const table of tables) {
    const file = await open(table, 'r').catch(() => null);
    if (file === null) continue;
    try {
      await countLines(file, hexOf(port), counts);
      wasRead = true;
    } catch {
      return null;
    } finally {
      await file.close();
    }
  }
  return wasRead ? counts : null;
}

async function countLines(file: FileHandle, port: string, counts: Map<string, number>): Promise<void> {
  const piece = Buffer.alloc(PIECE_BYTES);
  let rest = '';
  for (;;) {
    const { bytesRead } = await file.read(piece, 0, piece.length, null);
    if (bytesRead === 0) return;
    const lines = (rest + piece.toString('latin1', 0, bytesRead)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const source = sourceOfLine(line, port);
      if (source !== null) counts.set(source, (counts.get(source) ?? 0) + 1);
    }
  }
}

function sourceOfLine(line: string, port: string): string | null {
  const [, localPort, remote = '', state, inode] = LINE.exec(line) ?? [];
  return localPort === port && state !== LISTENING && inode !== '0' ? bodySourceOf(addressOf(remote)) : null;
}

function addressOf(words: string): string {
  const bytes = Buffer.from(words, 'hex').swap32();
  if (bytes.length === 4) return bytes.join('.');
  return Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16)).join(':');
}

function hexOf(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}
