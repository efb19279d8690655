import { CHALLENGER_CODE } from '../../risk/challenger-finding.ts';
import { LEARNING_CODE } from '../../risk/learning-note.ts';
import { arrayLength, headBytes, skipValue } from './raw-record.ts';

/**
 * Removes from a record what is about a person. Kept: id, time, decision, score, mode, event type, country, the codes and weights of the
 * reasons, outcome. Removed: fingerprint, address and its network, evidence, trace, path, class of the agent, features, identities, links.
 *
 * The record keeps its length, so that nothing that points into its block changes: the links become as many zeros as are missing, which
 * read as no link.
 */
const ARRAY_16 = 0xdc;
const FIELDS = 20;
const FINGERPRINT_AT = 55;
const NIL = 0xc0;
const EMPTY_TEXT = 0xa0;
const BINARY_8 = 0xc4;
const BINARY_16 = 0xc5;
/** Notes of the service beside the reasons: a model and a policy. */
const NOTES: ReadonlySet<string> = new Set([CHALLENGER_CODE, LEARNING_CODE]);
const scratch = Buffer.alloc(65_536);

/** Erases in place. Returns false for a record of an older build, which has no links by which it could be found. */
export function eraseRecord(bytes: Buffer, from: number, end: number): boolean {
  if (bytes[from] !== ARRAY_16 || bytes[from + 2] !== FIELDS) return false;
  const copy = new Copy(bytes, from);
  copy.keepBytes(FINGERPRINT_AT);
  copy.drop();
  copy.keep(2);
  copy.drop();
  copy.keep(1);
  copy.drop();
  const reasons = arrayLength(bytes, copy.at);
  copy.keepBytes(headBytes(bytes, copy.at));
  for (let n = 0; n + 2 < reasons; n += 3) {
    const code = copy.text();
    copy.keep(2);
    if (NOTES.has(code)) copy.keep(1);
    else copy.drop(EMPTY_TEXT);
  }
  copy.keep(1);
  for (let n = 0; n < 5; n++) copy.drop();
  copy.pad(end - from);
  scratch.copy(bytes, from, 0, end - from);
  return true;
}

/** Copies the values of a record, one after the other, into `scratch`. */
class Copy {
  /** Where the next value begins. */
  at: number;
  readonly #bytes: Buffer;
  #to = 0;

  constructor(bytes: Buffer, from: number) {
    this.#bytes = bytes;
    this.at = from;
  }

  keepBytes(count: number): void {
    this.#bytes.copy(scratch, this.#to, this.at, this.at + count);
    this.#to += count;
    this.at += count;
  }

  keep(values: number): void {
    for (let n = 0; n < values; n++) this.keepBytes(skipValue(this.#bytes, this.at) - this.at);
  }

  /** Replaces a value by one of a single byte. */
  drop(by = NIL): void {
    this.at = skipValue(this.#bytes, this.at);
    scratch[this.#to++] = by;
  }

  /** Returns the short text that comes next. */
  text(): string {
    const end = skipValue(this.#bytes, this.at);
    return this.#bytes.latin1Slice(this.at + 1, end);
  }

  /** Fills up to the length of the record with the binary data of its last field. */
  pad(length: number): void {
    const left = length - this.#to;
    const isShort = left - 2 <= 0xff;
    if (left < 2) {
      scratch[this.#to] = NIL;
      return;
    }
    scratch.fill(0, this.#to, length);
    if (isShort) {
      scratch[this.#to] = BINARY_8;
      scratch[this.#to + 1] = left - 2;
    } else {
      scratch[this.#to] = BINARY_16;
      scratch.writeUInt16BE(left - 3, this.#to + 1);
    }
  }
}
