const VARINT = 0;
const BYTES = 2;
const FIXED_32 = 5;
const FIRST_BYTES = 256;

/** Writes one message of Protocol Buffers, field by field. Whole numbers from 0 to 2^53 - 1 only. */
export class ProtobufWriter {
  #buffer = Buffer.alloc(FIRST_BYTES);
  #length = 0;

  int(field: number, value: number): this {
    this.#varint(field * 8 + VARINT);
    return this.#varint(value);
  }

  float(field: number, value: number): this {
    this.#varint(field * 8 + FIXED_32);
    this.#reserve(4);
    this.#length = this.#buffer.writeFloatLE(value, this.#length);
    return this;
  }

  text(field: number, value: string): this {
    return this.#field(field, Buffer.from(value));
  }

  message(field: number, value: ProtobufWriter): this {
    return this.#field(field, value.bytes());
  }

  /** The message so far; valid until the next field. */
  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  #field(field: number, bytes: Uint8Array): this {
    this.#varint(field * 8 + BYTES)
      .#varint(bytes.length)
      .#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  #varint(value: number): this {
    this.#reserve(10);
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#buffer[this.#length++] = (rest % 128) + 128;
    this.#buffer[this.#length++] = rest;
    return this;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const larger = Buffer.alloc(Math.max(this.#buffer.length * 2, this.#length + more));
    larger.set(this.#buffer);
    this.#buffer = larger;
  }
}
