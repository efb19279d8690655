import { ANSWER_PIECE_BYTES } from '../../kernel/limits.ts';
import { givePiece, PIECE_ROOM_BYTES, pieceOf, takePiece } from './response-pieces.ts';

/** Digits of the largest number that fits into 31 bits. */
const DIGITS_MAX = 10;
const ZERO = 0x30;

/**
 * Writes a long response of many short parts as bytes, without a string of any of them.
 *
 * Measured: statistics of 1.8 MB take 12 ms of processor time with the reading of their rows, 16 ms as strings that are joined and encoded.
 */
export class JsonBytes {
  readonly #pieces: Buffer[] = [];
  #piece: Buffer = takePiece();
  #length = 0;

  /** Writes the bytes from `from` on, at most `PIECE_ROOM_BYTES`. */
  put(bytes: Uint8Array, from = 0): void {
    if (this.#length >= ANSWER_PIECE_BYTES) this.#next();
    const length = bytes.length - from;
    if (length > PIECE_ROOM_BYTES) throw new RangeError(`a part of ${length} bytes`);
    // Measured: `set` takes a quarter of a loop over 25 bytes.
    if (length === 1) this.#piece[this.#length] = bytes[from] ?? 0;
    else this.#piece.set(from === 0 ? bytes : bytes.subarray(from), this.#length);
    this.#length += length;
  }

  /** For ASCII text of at most `PIECE_ROOM_BYTES`. */
  ascii(text: string): void {
    if (this.#length >= ANSWER_PIECE_BYTES) this.#next();
    this.#length += this.#piece.latin1Write(text, this.#length);
  }

  /** Writes a number that is not negative and has no fraction. */
  count(count: number): void {
    if (count > 0x7fff_ffff) {
      this.ascii(String(count));
      return;
    }
    if (this.#length >= ANSWER_PIECE_BYTES) this.#next();
    const piece = this.#piece;
    let digits = 1;
    for (let above = 10; digits < DIGITS_MAX && count >= above; above *= 10) digits++;
    this.#length += digits;
    let left = count | 0;
    for (let at = this.#length - 1; digits > 0; digits--, at--) {
      const tens = (left / 10) | 0;
      piece[at] = ZERO + left - tens * 10;
      left = tens;
    }
  }

  done(): readonly Buffer[] {
    const rest = this.#piece.subarray(0, this.#length);
    if (rest.length >= ANSWER_PIECE_BYTES) return [...this.#pieces, rest];
    const last = pieceOf(rest);
    givePiece(this.#piece);
    return rest.length === 0 ? this.#pieces : [...this.#pieces, last];
  }

  #next(): void {
    this.#pieces.push(this.#piece.subarray(0, this.#length));
    this.#piece = takePiece();
    this.#length = 0;
  }
}
