import { BODIES_UNFINISHED_BYTES_MAX, BODIES_UNFINISHED_SOURCE_BYTES_MAX } from '../kernel/limits.ts';

/**
 * Limits the memory held by incomplete bodies, in total and for each source. Without it, each connection could hold a whole body for as
 * long as the transport tolerates a slow client.
 */
export class BodyRoom {
  readonly #bytesMax: number;
  readonly #sourceBytesMax: number;
  readonly #ofSource = new Map<string, number>();
  #bytes = 0;

  constructor(bytesMax = BODIES_UNFINISHED_BYTES_MAX, sourceBytesMax = BODIES_UNFINISHED_SOURCE_BYTES_MAX) {
    this.#bytesMax = bytesMax;
    this.#sourceBytesMax = sourceBytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Starts to account for one body. `source` is null if the address stands for many clients. */
  open(source: string | null): HeldBody {
    return new HeldBody(this, source);
  }

  /** Returns false if there is no room; nothing is counted then. */
  take(source: string | null, bytes: number): boolean {
    const ofSource = source === null ? 0 : (this.#ofSource.get(source) ?? 0) + bytes;
    if (this.#bytes + bytes > this.#bytesMax || ofSource > this.#sourceBytesMax) return false;
    this.#bytes += bytes;
    if (source !== null) this.#ofSource.set(source, ofSource);
    return true;
  }

  release(source: string | null, bytes: number): void {
    this.#bytes -= bytes;
    if (source === null) return;
    const left = (this.#ofSource.get(source) ?? 0) - bytes;
    if (left > 0) this.#ofSource.set(source, left);
    else this.#ofSource.delete(source);
  }
}

export class HeldBody {
  readonly #room: BodyRoom;
  readonly #source: string | null;
  #bytes = 0;

  constructor(room: BodyRoom, source: string | null) {
    this.#room = room;
    this.#source = source;
  }

  take(bytes: number): boolean {
    if (!this.#room.take(this.#source, bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Call when the body is complete, refused, or its client is gone. Repeated calls have no effect. */
  release(): void {
    if (this.#bytes > 0) this.#room.release(this.#source, this.#bytes);
    this.#bytes = 0;
  }
}

/**
 * Returns the key under which one client is counted. An IPv6 subscriber has all addresses of its /64 network. `address` is as a socket
 * reports it.
 */
export function bodySourceOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail] = address.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0'), ...after];
  const numbers = groups.map((group) => Number.parseInt(group, 16));
  // An IPv4 address on a dual-stack socket.
  const isMapped = numbers[5] === 0xffff && numbers.slice(0, 5).every((number) => number === 0);
  return isMapped ? numbers.join(':') : numbers.slice(0, 4).join(':');
}
