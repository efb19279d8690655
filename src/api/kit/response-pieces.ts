import { ANSWER_PIECE_BYTES, PAGE_BYTES_MAX } from '../../kernel/limits.ts';
import type { Slices } from '../../state/turns.ts';
import type { EndpointResponse } from './endpoint-types.ts';

/** Builds a response body in pieces, within time slices, so that a long body never blocks the main thread. */
export class AnswerPieces {
  readonly #slices: Slices;
  readonly #pieces: Buffer[] = [];
  #text = '';
  #bytes = 0;

  constructor(slices: Slices) {
    this.#slices = slices;
  }

  /** Approximate size of the text added so far: UTF-16 units are counted for the part that is not yet encoded. */
  get bytes(): number {
    return this.#bytes + this.#text.length;
  }

  async add(text: string): Promise<void> {
    this.#text += text;
    if (this.#text.length >= ANSWER_PIECE_BYTES) this.#flush();
    if (this.#slices.isOver) await this.#slices.begin();
  }

  done(): readonly Buffer[] {
    this.#flush();
    return this.#pieces;
  }

  #flush(): void {
    if (this.#text === '') return;
    const piece = Buffer.from(this.#text);
    this.#text = '';
    this.#bytes += piece.length;
    this.#pieces.push(piece);
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
  const pieces = new AnswerPieces(slices);
  let next = nextCursor;
  await pieces.add('{"data":[');
  for (const [at, row] of rows.entries()) {
    await pieces.add(`${at === 0 ? '' : ','}${JSON.stringify(show(row))}`);
    if (cursorAfter === undefined || pieces.bytes < PAGE_BYTES_MAX || at === rows.length - 1) continue;
    next = cursorAfter(row);
    break;
  }
  await pieces.add(`],"has_more":${next !== null},"next_cursor":${JSON.stringify(next)}}`);
  return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: pieces.done() };
}

/** Joins short pieces of a body until they have `ANSWER_PIECE_BYTES`: each piece that is sent alone costs a packet. */
export async function* joinShort(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    waiting.push(piece);
    bytes += piece.length;
    if (bytes < ANSWER_PIECE_BYTES) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}
