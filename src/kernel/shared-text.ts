/** Version: odd while a text is written. Length in bytes. */
const HEAD_WORDS = 2;

export function createTextMemory(bytesMax: number): SharedArrayBuffer {
  return new SharedArrayBuffer(HEAD_WORDS * 4 + bytesMax);
}

/** A text that one thread writes and all threads of the process read. */
export class SharedText {
  readonly #head: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Uint8Array<SharedArrayBuffer>;

  constructor(memory: SharedArrayBuffer) {
    this.#head = new Int32Array(memory, 0, HEAD_WORDS);
    this.#bytes = new Uint8Array(memory, HEAD_WORDS * 4);
  }

  /** Changes with every text. */
  version(): number {
    return Atomics.load(this.#head, 0);
  }

  /** Returns false, and changes nothing, for a text that is too long. */
  write(text: string): boolean {
    const bytes = Buffer.from(text);
    if (bytes.length > this.#bytes.length) return false;
    Atomics.add(this.#head, 0, 1);
    this.#bytes.set(bytes);
    Atomics.store(this.#head, 1, bytes.length);
    Atomics.add(this.#head, 0, 1);
    return true;
  }

  /** Returns the text with its version; null while another one is written. */
  read(): { readonly version: number; readonly text: string } | null {
    const version = this.version();
    const text = Buffer.from(this.#bytes.subarray(0, Atomics.load(this.#head, 1))).toString();
    return version % 2 === 0 && this.version() === version ? { version, text } : null;
  }
}
