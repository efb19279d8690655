import type { EgressFault } from './faults.ts';

/**
 * Reads the beginning of a response before undici's parser does, for two reasons: the parser ends the connection at an informational
 * response that it did not ask for (100), and it refuses heads that browsers and curl read. A head that it accepts is passed on unchanged.
 */

/** What to give to the parser after some bytes have arrived. */
export type HeadStep =
  | { readonly kind: 'incomplete' }
  /** The final head and what followed it. `isRepaired` if the head is not the one on the wire. */
  | { readonly kind: 'complete'; readonly bytes: Buffer; readonly isRepaired: boolean }
  | ({ readonly kind: 'fault' } & EgressFault);

const CR = 0x0d;
const LF = 0x0a;
const INCOMPLETE: HeadStep = { kind: 'incomplete' };

/** The head of one response: any number of informational responses, which are dropped, and the final one. */
export class ResponseHead {
  readonly #bytesMax: number;
  /** Bytes that have arrived and are not dropped; more than `#length` bytes are allocated. */
  #held = Buffer.alloc(0);
  #length = 0;
  #dropped = 0;

  /** `bytesMax` limits the final head and all informational responses together, on the wire. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Takes the next bytes from the wire. Not to be called again after another step than `incomplete`. */
  add(chunk: Buffer): HeadStep {
    const searched = this.#length;
    if (searched === 0 && isPlain(chunk.latin1Slice(0, Math.min(chunk.length, USUAL_BYTES)))) return complete(chunk);
    let bytes = searched === 0 ? chunk : this.#append(chunk);
    // The last two bytes of the part that was searched may belong to the empty line.
    for (let from = Math.max(0, searched - 2); ; from = 0) {
      const start = textStart(bytes);
      const end = headEnd(bytes, Math.max(start, from));
      if (this.#dropped + (end < 0 ? bytes.length : end) > this.#bytesMax) return tooLarge(this.#bytesMax);
      if (end < 0) {
        if (!mayBeHttp(bytes, start)) return complete(bytes.subarray(start));
        this.#hold(bytes);
        return INCOMPLETE;
      }
      const head = bytes.latin1Slice(start, end);
      const status = statusIn(head);
      if (status < 100 || status === 101) return bad(`status ${status}`);
      if (!(status < 200)) return isPlain(head) ? complete(bytes.subarray(start)) : repaired(head, bytes.subarray(end));
      this.#dropped += end;
      bytes = bytes.subarray(end);
    }
  }

  /** Grows by doubling, so that a head that arrives byte by byte is not copied for each of them. */
  #append(chunk: Buffer): Buffer {
    const length = this.#length + chunk.length;
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafe(2 * length);
      this.#held.copy(larger, 0, 0, this.#length);
      this.#held = larger;
    }
    chunk.copy(this.#held, this.#length);
    this.#length = length;
    return this.#held.subarray(0, length);
  }

  #hold(bytes: Buffer): void {
    // Nothing was dropped: all of it is held already.
    if (bytes.length === this.#length) return;
    this.#length = 0;
    this.#append(bytes);
  }
}

/** Source: RFC 9112, 2.2: empty lines before a message are ignored. */
function textStart(bytes: Buffer): number {
  let start = 0;
  while (bytes[start] === CR || bytes[start] === LF) start++;
  return start;
}

/** Returns the offset behind the empty line that ends the head; -1 if it has not arrived. A line may end with LF alone. */
function headEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

const PROTOCOL = 'HTTP/';

/** Returns false as soon as the parser would refuse the bytes, so that nobody waits for the rest of a head that is none. */
function mayBeHttp(bytes: Buffer, start: number): boolean {
  return PROTOCOL.startsWith(bytes.latin1Slice(start, Math.min(start + PROTOCOL.length, bytes.length)));
}

/** Returns NaN if there is none; the parser then refuses the head. */
function statusIn(head: string): number {
  return Number(/^HTTP\/\d\.\d (\d{3})(?!\d)/.exec(head)?.[1]);
}

/** Choice: longer heads are rare, and are searched for their end first. */
const USUAL_BYTES = 2_048;
/**
 * A final head that the parser accepts, in which at most one header says where the body ends.
 * Measured: 0.8 us for a head of 120 bytes, 3 us for one of 1,400; one expression costs less than half of a search and several tests.
 */
const PLAIN =
  /HTTP\/1\.[01] [2-9]\d\d[^\r\n]*\r\n(?:(?!content-length:|transfer-encoding:)[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*(?:(?:content-length:[\t ]*\d+[\t ]*|transfer-encoding:[\t\x20-\x7e]*)\r\n(?:(?!content-length:|transfer-encoding:)[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*)?\r\n/iy;

function isPlain(text: string): boolean {
  PLAIN.lastIndex = 0;
  return PLAIN.test(text);
}

function repaired(head: string, rest: Buffer): HeadStep {
  const [statusLine = '', ...lines] = head.replaceAll(FOLD, ' ').split(/\r?\n/);
  const fields = framedOnce(lines.flatMap((line) => readField(line) ?? []));
  if (fields === null) return bad('several values of Content-Length');
  const text = [statusLine, ...fields.map(({ name, value }) => `${name}: ${value}`), '', ''].join('\r\n');
  return { kind: 'complete', bytes: Buffer.concat([Buffer.from(text, 'latin1'), rest]), isRepaired: true };
}

/** Source: RFC 9112, 5.2: a line that begins with white space continues the header before it. */
const FOLD = /\r?\n[ \t]+/g;

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x1f\x7f]/g;

interface Field {
  readonly name: string;
  readonly value: string;
}

/**
 * Returns null for a line that is not a header; browsers skip it. Source: RFC 9110, 5.5: control characters in a value become spaces, and
 * RFC 9112, 5.1: white space before the colon is removed.
 */
function readField(line: string): Field | null {
  const [, name = '', value = ''] = /^([\w!#$%&'*+.^`|~-]+)[ \t]*:([^]*)$/.exec(line) ?? [];
  return name === '' ? null : { name, value: value.replaceAll(CONTROL, ' ').trim() };
}

/**
 * Leaves one header that says where the body ends; null if the lengths differ. Source: RFC 9110, 8.6: equal lengths count as one, and
 * RFC 9112, 6.3: Transfer-Encoding overrides Content-Length.
 */
function framedOnce(fields: readonly Field[]): readonly Field[] | null {
  const isLength = ({ name }: Field): boolean => name.toLowerCase() === 'content-length';
  const others = fields.filter((field) => !isLength(field));
  const lengths = new Set(fields.filter(isLength).flatMap(({ value }) => value.split(',').map((one) => one.trim())));
  if (lengths.size > 1) return null;
  if (others.some(({ name }) => name.toLowerCase() === 'transfer-encoding')) return others;
  return [...others, ...[...lengths].map((value) => ({ name: 'Content-Length', value }))];
}

function complete(bytes: Buffer): HeadStep {
  return { kind: 'complete', bytes, isRepaired: false };
}

function bad(detail: string): HeadStep {
  return { kind: 'fault', error: 'bad_response', detail };
}

function tooLarge(bytesMax: number): HeadStep {
  return { kind: 'fault', error: 'response_too_large', detail: `more than ${bytesMax} bytes before the body` };
}
