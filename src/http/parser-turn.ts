import { RESPONSES_PER_TURN_MAX } from './transport.ts';

/**
 * Limits the responses that are sent from within the parser in one turn of the event loop. uSockets keeps reading a socket while it has
 * bytes. A client whose pipelined requests are all answered at once would therefore block every other connection and timer. Choice: counted
 * over all connections, because uWebSockets.js does not report the connection of a request.
 */
export class ParserTurn {
  /** True while the parser is calling one of our handlers. */
  isParsing = false;
  #responses = 0;

  /** Counts a response. Returns false if it must wait for the next turn. */
  mayRespond(): boolean {
    if (!this.isParsing) return true;
    if (this.#responses === 0) setImmediate(this.#begin);
    return ++this.#responses <= RESPONSES_PER_TURN_MAX;
  }

  readonly #begin = (): void => {
    this.#responses = 0;
  };
}
