import { createHmac, hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** Choice: room for any event of a decision. Longer messages, which extractions send, are rare, and copying them would cost more. */
const MESSAGE_BYTES_MAX = 16_384;

const scratch = Buffer.alloc(BLOCK_BYTES + MESSAGE_BYTES_MAX);

/**
 * HMAC-SHA256 under a key that is used often, prepared as its two padded blocks. Key material; never logged.
 * Measured: the two signatures of a delivery cost 2.6 to 4.1 µs of processor time, 7.1 to 9 µs by `createHmac` and 4.3 to 7 µs by
 * `createHmac` with a `KeyObject` (event of 230 bytes, alternating).
 */
export class SigningKey {
  readonly #key: Buffer;
  readonly #inner = Buffer.alloc(BLOCK_BYTES, 0x36);
  /** With room for the inner digest behind it. */
  readonly #outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, 0x5c);

  constructor(key: Buffer) {
    this.#key = key;
    const block = key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key;
    for (const [i, byte] of block.entries()) {
      this.#inner[i] = byte ^ 0x36;
      this.#outer[i] = byte ^ 0x5c;
    }
  }

  /** Signs `prefix` (ASCII) followed by `body`. */
  sign(prefix: string, body: Uint8Array, encoding: 'hex' | 'base64'): string {
    const bytes = prefix.length + body.length;
    if (bytes > MESSAGE_BYTES_MAX) return createHmac('sha256', this.#key).update(prefix).update(body).digest(encoding);
    scratch.set(this.#inner, 0);
    scratch.latin1Write(prefix, BLOCK_BYTES);
    scratch.set(body, BLOCK_BYTES + prefix.length);
    this.#outer.latin1Write(hash('sha256', scratch.subarray(0, BLOCK_BYTES + bytes), 'binary'), BLOCK_BYTES);
    return hash('sha256', this.#outer, encoding);
  }
}
