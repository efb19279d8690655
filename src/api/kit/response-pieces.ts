import { BufferPool } from '../../kernel/buffer-pool.ts';
import { ANSWER_PIECE_BYTES, PAGE_BYTES_MAX } from '../../kernel/limits.ts';
import type { Slices } from '../../state/tables/turns.ts';
import type { EndpointResponse } from './endpoint-types.ts';

/** Choice: room for a text of usual length, with which a piece ends, beyond its size. */
export const PIECE_ROOM_BYTES = 8_192;
const POOLED_BYTES = ANSWER_PIECE_BYTES + PIECE_ROOM_BYTES;
/** Choice: 4.5 MB at most, some four pages. */
const POOLED_MAX = 64;
const POOL = new BufferPool(POOLED_BYTES, POOLED_MAX);

/** Returns memory for a piece and the text that ends it. */
export function takePiece(): Buffer {
  return POOL.take();
}

/** Takes back a piece that was sent, for use by later responses. */
export function givePiece(piece: Uint8Array): void {
  POOL.give(piece);
}

/** A piece ends with the text that fills it. UTF-8 has at most three bytes for a UTF-16 unit. */
const JOINING_BYTES = 3 * 2 * ANSWER_PIECE_BYTES;
/** Where texts are joined before they become a piece, within one call. Allocated when it is first needed. */
let joining: Buffer | null = null;

/**
 * Builds a response body in pieces, within time slices, so that a long body never blocks the main thread. Texts are encoded one by one:
 * joined as a string, each byte would be in the young generation twice.
 */
export class AnswerPieces {
  readonly #slices: Slices;
  readonly #pieces: Buffer[] = [];
  readonly #texts: string[] = [];
  #units = 0;
  #bytes = 0;

  constructor(slices: Slices) {
    this.#slices = slices;
  }

  /** Approximate size of the text added so far: UTF-16 units are counted for the part that is not yet encoded. */
  get bytes(): number {
    return this.#bytes + this.#units;
  }

  /** For short texts: does not end the slice. */
  put(text: string): void {
    // The memory for joining stays small.
    if (text.length > ANSWER_PIECE_BYTES) {
      this.#flush();
      this.#keep(Buffer.from(text));
      return;
    }
    this.#texts.push(text);
    this.#units += text.length;
    if (this.#units >= ANSWER_PIECE_BYTES) this.#flush();
  }

  async add(text: string): Promise<void> {
    this.put(text);
    if (this.#slices.isOver) await this.#slices.begin();
  }

  done(): readonly Buffer[] {
    this.#flush();
    return this.#pieces;
  }

  #flush(): void {
    if (this.#units === 0) return;
    joining ??= Buffer.allocUnsafeSlow(JOINING_BYTES);
    let length = 0;
    for (const text of this.#texts) length += joining.write(text, length);
    this.#texts.length = 0;
    this.#units = 0;
    this.#keep(pieceOf(joining.subarray(0, length)));
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    this.#pieces.push(piece);
  }
}

/** Returns a copy; one of usual length is in memory of the pool. */
export function pieceOf(bytes: Uint8Array): Buffer {
  if (bytes.length < ANSWER_PIECE_BYTES || bytes.length > POOLED_BYTES) return Buffer.from(bytes);
  const piece = POOL.take();
  piece.set(bytes);
  return piece.subarray(0, bytes.length);
}

/** Builds a page row by row, so that a row's text is all that is kept of it. */
export class PagePieces {
  readonly #pieces: AnswerPieces;
  #isEmpty = true;

  constructor(slices: Slices) {
    this.#pieces = new AnswerPieces(slices);
    this.#pieces.put('{"data":[');
  }

  /** Does not end the slice. Returns whether the page has reached `PAGE_BYTES_MAX` and must end. */
  put(row: Readonly<Record<string, unknown>>): 'on' | 'full' {
    if (!this.#isEmpty) this.#pieces.put(',');
    this.#isEmpty = false;
    this.#pieces.put(JSON.stringify(row));
    return this.#pieces.bytes < PAGE_BYTES_MAX ? 'on' : 'full';
  }

  done(nextCursor: string | null): EndpointResponse {
    this.#pieces.put(`],"has_more":${nextCursor !== null},"next_cursor":${JSON.stringify(nextCursor)}}`);
    return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: this.#pieces.done() };
  }
}

/**
 * Builds a page of rows within time slices. With `cursorAfter`, a page that reaches `PAGE_BYTES_MAX` ends there, and the next page starts
 * after its last row.
 */
export async function pageAnswer<Row>(
  slices: Slices,
  rows: readonly Row[],
  show: (row: Row) => Readonly<Record<string, unknown>>,
  nextCursor: string | null,
  cursorAfter?: (row: Row) => string,
): Promise<EndpointResponse> {
  const page = new PagePieces(slices);
  for (const [at, row] of rows.entries()) {
    const isFull = page.put(show(row)) === 'full';
    if (isFull && cursorAfter !== undefined && at < rows.length - 1) return page.done(cursorAfter(row));
    if (slices.isOver) await slices.begin();
  }
  return page.done(nextCursor);
}

/**
 * Joins short pieces of a body until they have `ANSWER_PIECE_BYTES`: each piece that is sent alone costs a packet. `givePiece` takes what
 * was sent.
 */
export async function* joinShort(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let joined = POOL.take();
  let length = 0;
  for await (const piece of pieces) {
    for (let from = 0; from < piece.length;) {
      const part = piece.subarray(from, from + joined.length - length);
      joined.set(part, length);
      length += part.length;
      from += part.length;
      if (length < ANSWER_PIECE_BYTES) continue;
      yield joined.subarray(0, length);
      joined = POOL.take();
      length = 0;
    }
  }
  if (length > 0) yield joined.subarray(0, length);
  else POOL.give(joined);
}
