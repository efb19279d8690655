import { ANSWER_PIECE_BYTES, PAGE_BYTES_MAX } from '../limits.ts';
import type { Slices } from '../store/turns.ts';
import type { ManagedAnswer } from './managed.ts';

/** Writes a body piece by piece, in slices, so that a long one never holds the main thread. */
export class AnswerPieces {
  readonly #slices: Slices;
  readonly #pieces: Buffer[] = [];
  #text = '';
  #bytes = 0;

  constructor(slices: Slices) {
    this.#slices = slices;
  }

  /** Of what was added so far, about. */
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
 * A page of rows, each made and written in slices. With `cursorAfter` a page that grows past `PAGE_BYTES_MAX` ends there, and the next
 * one goes on behind its last row.
 */
export async function pageAnswer<Row>(
  slices: Slices,
  rows: readonly Row[],
  show: (row: Row) => Readonly<Record<string, unknown>>,
  nextCursor: string | null,
  cursorAfter?: (row: Row) => string,
): Promise<ManagedAnswer> {
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
