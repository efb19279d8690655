import { BodyPieces } from './body-pieces.ts';
import type { HeldBody } from './body-room.ts';
import type { Exchange } from './exchange.ts';
import { holdBody, refuseHeldBody, type TransportState } from './transport.ts';

interface IncomingBodyParts {
  readonly state: TransportState;
  readonly exchange: Exchange;
  /** Content-Length; negative if there is none. */
  readonly announced: number;
  readonly bytesMax: number;
  /** See `Exchange.readBody`. */
  readonly done: (body: Uint8Array | null, isOwned?: boolean) => void;
  readonly pace: ((pieceBytes: number) => Promise<void> | null) | undefined;
  readonly onGone: (() => void) | undefined;
}

/** Collects the body of one request from its pieces, for a transport that gets them one by one. */
export class IncomingBody {
  readonly #parts: IncomingBodyParts;
  #earlier: BodyPieces | null = null;
  #held: HeldBody | null = null;
  #isFinished = false;

  constructor(parts: IncomingBodyParts) {
    this.#parts = parts;
  }

  /** `bytes` are read before this returns, and copied if others follow. */
  take(bytes: Uint8Array, isLast: boolean): void {
    if (this.#isFinished) return;
    const { state, exchange, announced, bytesMax, done, pace } = this.#parts;
    if ((this.#earlier?.length ?? 0) + bytes.length > bytesMax) {
      this.#finish();
      done(null);
    } else if (isLast && this.#earlier === null) {
      this.#isFinished = true;
      done(bytes);
    } else {
      this.#held ??= holdBody(state, exchange);
      if (!this.#held.take(bytes.length)) {
        this.#finish();
        this.#earlier = null;
        this.#parts.onGone?.();
        refuseHeldBody(exchange);
        return;
      }
      const pieces = (this.#earlier ??= new BodyPieces(announced));
      pieces.add(bytes);
      if (!isLast) {
        const next = pace?.(bytes.length) ?? null;
        if (next !== null) exchange.pauseUntil(next);
        return;
      }
      this.#finish();
      done(pieces.joined(), true);
    }
  }

  /** Call when the client has disconnected. */
  gone(): void {
    this.#held?.release();
    if (!this.#isFinished) this.#parts.onGone?.();
  }

  #finish(): void {
    this.#isFinished = true;
    this.#held?.release();
  }
}
