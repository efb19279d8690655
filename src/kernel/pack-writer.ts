const HASH_BYTES = 32;
const NO_DIGIT = 16;
/** Character code → digit. */
const HEX = new Uint8Array(128).fill(NO_DIGIT);
for (const [digit, code] of Buffer.from('0123456789abcdef').entries()) HEX[code] = digit;

/**
 * Writes msgpack into an existing buffer: for the hot path, where creating an array to pack and a buffer for the result would cost more
 * than writing. Read it back with `unpack`.
 * Measured: 0.5 µs for a decision record of 190 bytes, against 1.4 µs by the library, which also produces garbage.
 */
export class PackWriter {
  readonly bytes: Buffer;
  /** Offset of the next value. */
  end = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Begins an array of this many values, up to 65,535. */
  array(length: number): void {
    const { bytes } = this;
    if (length < 16) bytes[this.end++] = 0x90 | length;
    else {
      bytes[this.end++] = 0xdc;
      bytes[this.end++] = length >>> 8;
      bytes[this.end++] = length & 0xff;
    }
  }

  /** Writes a small integer, -32 to 127. */
  small(value: number): void {
    this.bytes[this.end++] = value & 0xff;
  }

  null(): void {
    this.bytes[this.end++] = 0xc0;
  }

  /** Writes an integer between -2^31 and 2^32 - 1 in up to 5 bytes, any other number in 9. */
  compact(value: number): void {
    const { bytes } = this;
    if (Object.is(value, -0) || !Number.isInteger(value) || value < -(2 ** 31) || value >= 2 ** 32)
      return this.number(value);
    if (value >= -32 && value < 128) return this.small(value);
    if (value >= 0 && value < 65_536) {
      bytes[this.end++] = 0xcd;
      bytes[this.end++] = value >>> 8;
      bytes[this.end++] = value & 0xff;
      return;
    }
    bytes[this.end++] = value < 0 ? 0xd2 : 0xce;
    this.end = bytes.writeInt32BE(value | 0, this.end);
  }

  /** Writes any number. */
  number(value: number): void {
    this.bytes[this.end++] = 0xcb;
    this.end = this.bytes.writeDoubleBE(value, this.end);
  }

  /** Writes a text of up to 65,535 bytes in UTF-8. */
  text(value: string): void {
    this.part(value, 0, value.length);
  }

  /** Writes the characters from `from` up to but excluding `to` as `text` does. */
  part(value: string, from: number, to: number): void {
    const { bytes } = this;
    const length = to - from;
    const head = this.#head(length);
    let at = this.end + head;
    for (let i = from; i < to; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) return this.#unicode(value.slice(from, to));
      bytes[at++] = code;
    }
    this.#writeHead(length);
    this.end = at;
  }

  /** Writes up to 65,535 bytes. */
  binary(from: Uint8Array, length: number): void {
    const { bytes } = this;
    if (length < 256) bytes[this.end++] = 0xc4;
    else {
      bytes[this.end++] = 0xc5;
      bytes[this.end++] = length >>> 8;
    }
    bytes[this.end++] = length & 0xff;
    let at = this.end;
    for (let i = 0; i < length; i++) bytes[at++] = from[i] ?? 0;
    this.end = at;
  }

  /** Offset at which bytes may be put that `placed` then makes a value. */
  get place(): number {
    return this.end + 2;
  }

  /** Writes the bytes, up to 65,535, that were put at `place`. */
  placed(length: number): void {
    const { bytes, end } = this;
    if (length < 256) {
      bytes[end] = 0xc4;
      bytes[end + 1] = length;
      this.end = end + 2 + length;
      return;
    }
    // A longer head: the bytes move behind it.
    bytes.copyWithin(end + 3, end + 2, end + 2 + length);
    bytes[end] = 0xc5;
    bytes[end + 1] = length >>> 8;
    bytes[end + 2] = length & 0xff;
    this.end = end + 3 + length;
  }

  /** Writes a text of 64 lower-case hex digits as the 32 bytes that it stands for, any other text as text. */
  hash(value: string): void {
    const { bytes } = this;
    if (value.length !== 2 * HASH_BYTES) return this.text(value);
    let at = this.end + 2;
    let seen = 0;
    for (let i = 0; i < 2 * HASH_BYTES; i += 2) {
      const high = HEX[value.charCodeAt(i) & 0x7f] ?? NO_DIGIT;
      const low = HEX[value.charCodeAt(i + 1) & 0x7f] ?? NO_DIGIT;
      seen |= high | low | ((value.charCodeAt(i) | value.charCodeAt(i + 1)) & ~0x7f);
      bytes[at++] = (high << 4) | low;
    }
    if (seen >= NO_DIGIT) return this.text(value);
    bytes[this.end] = 0xc4;
    bytes[this.end + 1] = HASH_BYTES;
    this.end = at;
  }

  textOrNull(value: string | null): void {
    if (value === null) this.null();
    else this.text(value);
  }

  #unicode(value: string): void {
    const length = Buffer.byteLength(value);
    this.#writeHead(length);
    this.end += this.bytes.utf8Write(value, this.end);
  }

  #head(length: number): number {
    return length < 32 ? 1 : length < 256 ? 2 : 3;
  }

  #writeHead(length: number): void {
    const { bytes } = this;
    if (length < 32) bytes[this.end++] = 0xa0 | length;
    else if (length < 256) {
      bytes[this.end++] = 0xd9;
      bytes[this.end++] = length;
    } else {
      bytes[this.end++] = 0xda;
      bytes[this.end++] = length >>> 8;
      bytes[this.end++] = length & 0xff;
    }
  }
}
