import { BATCH_BODY_BYTES_MAX, BATCH_REQUESTS_MAX } from '../kernel/limits.ts';

/**
 * A batch buffer carries one batch from the main thread to a score worker and its answers back, in two parts of shared memory that is
 * allocated once and reused: nothing is cloned, and only three numbers pass through the pool.
 *
 * The main thread writes `input` and then hands the buffer over. Until the answer to that task returns, only the worker accesses either
 * part. So no word needs to be atomic.
 *
 *   input   BATCH_REQUESTS_MAX × 8 words of 4 bytes, then the concatenated bodies
 *           0 body offset (bytes)   1 body length (bytes)   2 customer number   3 flags   4-5 now, ms (float64)
 *           6-7 hash of the page's origin, 0 without one (float64)
 *   output  BATCH_REQUESTS_MAX × 9 words of 4 bytes, then the texts
 *           0 text offset (bytes)   1 text length (bytes)   2 status | decision << 16 | (wouldBe + 1) << 20 | flags << 24
 *           3 score × 10
 *           4-5 rules that fired (a bit each)               6 record offset (bytes)   7 record length (bytes)
 *           8 rules that fired, from the 65th on
 */
export interface BatchBuffer {
  /** Shared by all batch buffers of a pool. */
  readonly memory: SharedArrayBuffer;
  /** Byte offset of `input`; `output` follows it. */
  readonly at: number;
}

const WORDS = 8;
const HEAD_BYTES = BATCH_REQUESTS_MAX * WORDS * 4;
const ANSWER_WORDS = 9;
const ANSWER_HEAD_BYTES = BATCH_REQUESTS_MAX * ANSWER_WORDS * 4;
/** Choice: 60 reasons of 30 characters, the hint and the other fields are under 3 KiB; a record of 20 reasons is under 5 KiB. */
const OUTPUT_BYTES_PER_REQUEST = 8_192;
const INPUT_BYTES = HEAD_BYTES + BATCH_BODY_BYTES_MAX;
const OUTPUT_BYTES = ANSWER_HEAD_BYTES + BATCH_REQUESTS_MAX * OUTPUT_BYTES_PER_REQUEST;
/** Views of words need offsets that are multiples of 8; whole cache lines are never shared by two threads. */
const ALIGNMENT_BYTES = 64;
const OUTPUT_AT = aligned(INPUT_BYTES);
const BUFFER_BYTES = aligned(OUTPUT_AT + OUTPUT_BYTES);

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
}

/** Flags of a request. */
export const REQUEST_PUBLIC_KEY = 1;
/** A synthetic warm-up request: it is counted in a velocity store that is discarded. */
export const REQUEST_WARM_UP = 2;
/** A simulation: it sees the history of its subjects and adds nothing to it. */
export const REQUEST_SIMULATION = 4;
/** It was admitted without the store that the nodes of a cluster share. */
export const REQUEST_DEGRADED = 8;

/** Position of the flags above: the number of the decision that a request of a test key asks for, from 1. */
export const REQUEST_ASKED_SHIFT = 4;

/** Flags of an answer. */
export const ANSWER_SHADOW_ROUTED = 1;
export const ANSWER_DEGRADED = 2;
/** The store could not be read; the rules that need it did not fire. */
export const ANSWER_STORE_FAILED = 4;
/** A BLOCK based on this customer's own evidence, which counts for the shared registry. */
export const ANSWER_SIGHTING = 8;
/** The customer has seen the fingerprint on several days. */
export const ANSWER_FAMILIAR = 16;
/** A REVIEW, which is work for a person. */
export const ANSWER_REVIEW = 32;
/** Observe mode answered ALLOW instead of another decision. */
export const ANSWER_OBSERVED = 64;
/** The policy trusts the request's source, which the record names. */
export const ANSWER_TRUSTED = 128;

/** Number of bits of the decision below those of `wouldBe`. */
const DECISION_BITS = 4;
const DECISION_MASK = 2 ** DECISION_BITS - 1;

export function createBatchBuffer(): BatchBuffer {
  return { memory: new SharedArrayBuffer(BUFFER_BYTES), at: 0 };
}

/**
 * Creates the batch buffers of a pool in one piece of memory, of which the system provides only the pages that are used. The C library
 * would take smaller pieces from its heap and fill them with zeros.
 */
export function createBatchBuffers(count: number): readonly BatchBuffer[] {
  const memory = new SharedArrayBuffer(count * BUFFER_BYTES);
  return Array.from({ length: count }, (_none, n) => ({ memory, at: n * BUFFER_BYTES }));
}

export interface RequestMeta {
  readonly customerNumber: number;
  readonly flags: number;
  readonly nowMs: number;
  /** 48 bits of the hash of the page's origin, for a request that a script has sent with a public key; else 0. */
  readonly originHash: number;
}

/** The main thread's side of a batch buffer's input. */
export class BatchWriter {
  readonly #words: Uint32Array;
  readonly #floats: Float64Array;
  readonly #bytes: Uint8Array;
  #count = 0;
  #end = HEAD_BYTES;

  constructor(frame: BatchBuffer) {
    this.#words = new Uint32Array(frame.memory, frame.at, HEAD_BYTES / 4);
    this.#floats = new Float64Array(frame.memory, frame.at, HEAD_BYTES / 8);
    this.#bytes = new Uint8Array(frame.memory, frame.at, INPUT_BYTES);
  }

  get count(): number {
    return this.#count;
  }

  /** Returns how full the buffer is, by requests or by bytes; `BATCH_REQUESTS_MAX` is full. */
  get fill(): number {
    return Math.max(this.#count, ((this.#end - HEAD_BYTES) / BATCH_BODY_BYTES_MAX) * BATCH_REQUESTS_MAX);
  }

  hasRoom(bodyBytes: number): boolean {
    return this.#count < BATCH_REQUESTS_MAX && this.#end + bodyBytes <= INPUT_BYTES;
  }

  /** Copies the body; the caller must have checked `hasRoom`. Returns the request's index in the buffer. */
  add(body: Uint8Array, customerNumber: number, flags: number, nowMs: number, originHash = 0): number {
    const at = this.#count++;
    const word = at * WORDS;
    this.#bytes.set(body, this.#end);
    this.#words[word] = this.#end;
    this.#words[word + 1] = body.length;
    this.#words[word + 2] = customerNumber;
    this.#words[word + 3] = flags;
    this.#floats[word / 2 + 2] = nowMs;
    this.#floats[word / 2 + 3] = originHash;
    this.#end += body.length;
    return at;
  }

  reset(): void {
    this.#count = 0;
    this.#end = HEAD_BYTES;
  }
}

/** The worker's side of a batch buffer's input. */
export class BatchReader {
  readonly #words: Uint32Array;
  readonly #floats: Float64Array;
  readonly #bytes: Buffer;

  constructor(frame: BatchBuffer) {
    this.#words = new Uint32Array(frame.memory, frame.at, HEAD_BYTES / 4);
    this.#floats = new Float64Array(frame.memory, frame.at, HEAD_BYTES / 8);
    this.#bytes = Buffer.from(frame.memory, frame.at, INPUT_BYTES);
  }

  /** Returns a view of shared memory, valid until the batch is answered. */
  body(at: number): Buffer {
    const from = this.#word(at, 0);
    return this.#bytes.subarray(from, from + this.#word(at, 1));
  }

  bodyBytes(at: number): number {
    return this.#word(at, 1);
  }

  meta(at: number): RequestMeta {
    return {
      customerNumber: this.#word(at, 2),
      flags: this.#word(at, 3),
      nowMs: this.#floats[at * (WORDS / 2) + 2] ?? 0,
      originHash: this.#floats[at * (WORDS / 2) + 3] ?? 0,
    };
  }

  #word(at: number, word: number): number {
    return this.#words[at * WORDS + word] ?? 0;
  }
}

/** One answer, as the worker writes it. */
export interface Answer {
  readonly status: number;
  /** Index in DECISIONS; 0 unless `status` is 200. */
  readonly decision: number;
  /** Index in DECISIONS of the decision that observe mode replaced by ALLOW; null or absent outside of it. */
  readonly wouldBe?: number | null;
  readonly flags: number;
  /** 0 to 100, one decimal. */
  readonly score: number;
  readonly rulesLow: number;
  readonly rulesHigh: number;
  /** Rules from the 65th on; 0 when absent. */
  readonly rulesTop?: number;
  /**
   * ASCII, pieces of one text in this order. For a 200: the JSON up to and without the value of `latency_ms`. For any other status: the
   * problem as JSON.
   */
  readonly text: string;
  readonly id?: string;
  readonly link?: string;
  readonly fingerprint?: string;
  readonly tail?: string;
  /** For a 200: the decision record. For a 500: the reason, internal text in UTF-8. Otherwise empty. */
  readonly record: Uint8Array;
  /** Number of valid bytes of `record`; all of it when absent. */
  readonly recordBytes?: number;
}

/** The worker's side of a batch buffer's output. */
export class AnswerWriter {
  readonly #words: Uint32Array;
  readonly #bytes: Buffer;
  #end = ANSWER_HEAD_BYTES;

  constructor(frame: BatchBuffer) {
    this.#words = new Uint32Array(frame.memory, frame.at + OUTPUT_AT, ANSWER_HEAD_BYTES / 4);
    this.#bytes = Buffer.from(frame.memory, frame.at + OUTPUT_AT, OUTPUT_BYTES);
  }

  reset(): void {
    this.#end = ANSWER_HEAD_BYTES;
  }

  /** Returns a copy of everything written, for a reader whose buffer holds it: see `AnswerReader.fill`. */
  written(): Uint8Array {
    return new Uint8Array(this.#bytes.subarray(0, this.#end));
  }

  write(at: number, answer: Answer): void {
    const { text, id = '', link = '', fingerprint = '', tail = '' } = answer;
    if (this.#end + text.length + id.length + link.length + fingerprint.length + tail.length > OUTPUT_BYTES)
      throw new Error('an answer does not fit its batch buffer');
    const word = at * ANSWER_WORDS;
    // Choice: piece by piece, because joining them would create the text twice.
    let textBytes = this.#bytes.latin1Write(text, this.#end);
    if (id !== '') textBytes += this.#bytes.latin1Write(id, this.#end + textBytes);
    if (link !== '') textBytes += this.#bytes.latin1Write(link, this.#end + textBytes);
    if (fingerprint !== '') textBytes += this.#bytes.latin1Write(fingerprint, this.#end + textBytes);
    if (tail !== '') textBytes += this.#bytes.latin1Write(tail, this.#end + textBytes);
    this.#words[word] = this.#end;
    this.#words[word + 1] = textBytes;
    const decisions = answer.decision | (((answer.wouldBe ?? -1) + 1) << DECISION_BITS);
    this.#words[word + 2] = answer.status | (decisions << 16) | (answer.flags << 24);
    this.#words[word + 3] = Math.round(answer.score * 10);
    this.#words[word + 4] = answer.rulesLow;
    this.#words[word + 5] = answer.rulesHigh;
    this.#words[word + 8] = answer.rulesTop ?? 0;
    this.#end += textBytes;
    const { record, recordBytes = record.length } = answer;
    // The answer has priority over the record: a record that does not fit is omitted.
    const fits = this.#end + recordBytes <= OUTPUT_BYTES;
    this.#words[word + 6] = this.#end;
    this.#words[word + 7] = fits ? recordBytes : 0;
    if (!fits) return;
    // Measured: 0.11 µs for a record of 300 bytes, 0.30 µs in a loop.
    this.#bytes.set(record.subarray(0, recordBytes), this.#end);
    this.#end += recordBytes;
  }
}

const EMPTY = Buffer.alloc(0);

/** The main thread's side of a batch buffer's output. */
export class AnswerReader {
  readonly #words: Uint32Array;
  readonly #bytes: Buffer;
  /** The last view that `record` returned. */
  #record: Buffer = EMPTY;
  #recordFrom = 0;

  constructor(frame: BatchBuffer) {
    this.#words = new Uint32Array(frame.memory, frame.at + OUTPUT_AT, ANSWER_HEAD_BYTES / 4);
    this.#bytes = Buffer.from(frame.memory, frame.at + OUTPUT_AT, OUTPUT_BYTES);
  }

  /** Replaces the output by that of another buffer. */
  fill(written: Uint8Array): void {
    this.#bytes.set(written);
  }

  status(at: number): number {
    return this.#word(at, 2) & 0xffff;
  }

  decision(at: number): number {
    return (this.#word(at, 2) >>> 16) & DECISION_MASK;
  }

  /** Returns an index in DECISIONS; -1 outside observe mode. */
  wouldBe(at: number): number {
    return ((this.#word(at, 2) >>> (16 + DECISION_BITS)) & DECISION_MASK) - 1;
  }

  flags(at: number): number {
    return this.#word(at, 2) >>> 24;
  }

  score(at: number): number {
    return this.#word(at, 3) / 10;
  }

  rulesLow(at: number): number {
    return this.#word(at, 4);
  }

  rulesHigh(at: number): number {
    return this.#word(at, 5);
  }

  rulesTop(at: number): number {
    return this.#word(at, 8);
  }

  text(at: number): string {
    const from = this.#word(at, 0);
    return this.#bytes.latin1Slice(from, from + this.#word(at, 1));
  }

  /** Returns a view of shared memory, valid until the buffer is reused. Several consumers read the record of each decision in turn. */
  record(at: number): Buffer {
    const from = this.#word(at, 6);
    const length = this.#word(at, 7);
    if (from !== this.#recordFrom || length !== this.#record.length) {
      this.#record = this.#bytes.subarray(from, from + length);
      this.#recordFrom = from;
    }
    return this.#record;
  }

  #word(at: number, word: number): number {
    return this.#words[at * ANSWER_WORDS + word] ?? 0;
  }
}
