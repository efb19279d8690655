import { RESPONSES_PER_TURN_MAX } from './transport.ts';

/**
 * Bounds the responses that are sent from within the parser in one turn of the event loop. uSockets reads one socket again and again
 * while it has bytes, so a client whose pipelined requests are all answered at once would stop every other connection and timer.
 * Choice: counted over all connections, because uWebSockets.js does not tell which one a request came by.
 */
export class ParserTurn {
  /** The parser waits for a handler of ours to return. */
  isParsing = false;
  #responses = 0;

  /** Counts a response. False where it must wait for the next turn. */
  mayRespond(): boolean {
    if (!this.isParsing) return true;
    if (this.#responses === 0) setImmediate(this.#begin);
    return ++this.#responses <= RESPONSES_PER_TURN_MAX;
  }

  readonly #begin = (): void => {
    this.#responses = 0;
  };
}
