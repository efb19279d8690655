import { randomBytes } from 'node:crypto';
import { KeyedHash } from './keyed-hash.ts';
import { lockWord, unlockWord } from './shared-words.ts';

/** What the threads of a process share: the memory, and the secret key of its hashes. */
export interface AnswerMemory {
  readonly memory: SharedArrayBuffer;
  readonly hashKey: Uint8Array;
}

/** A question that waits, with what limits how often is asked. */
export interface WaitingQuestion {
  readonly question: string;
  /** Number of the customer. */
  readonly customer: number;
  /** The source network of the request that asks. */
  readonly source: string;
}

const WAYS = 4;
/** Hash low, hash high, expiry and answer. */
const ENTRY_WORDS = 3;
const ANSWER_BITS = 4;
/** An answer is 1 to this. */
const ANSWER_MAX = 2 ** ANSWER_BITS - 1;
/** Choice: questions that may wait; they are taken several times a second, and few of them are looked up. */
const QUESTIONS = 256;
const PROBES = 4;
/** Longer questions are never asked: a domain has at most 253 characters. */
const QUESTION_BYTES = 288;
const SOURCE_BYTES = 48;
/** State, hash low, hash high, customer, length of the question, length of the source. */
const QUESTION_HEAD = 6;
const FREE = 0;
const WRITING = 1;
const READY = 2;
const QUESTION_WORDS = QUESTION_HEAD + (QUESTION_BYTES + SOURCE_BYTES) / 4;
/** 0: questions that wait   1: lock of `takeOnce`   16: the questions, then the answers */
const LOCK_AT = 1;
const QUESTIONS_AT = 16;
const ANSWERS_AT = QUESTIONS_AT + QUESTIONS * QUESTION_WORDS;

/** `answersMax`: a multiple of 4. Each takes 12 bytes. */
export function createAnswerMemory(answersMax: number): AnswerMemory {
  return { memory: new SharedArrayBuffer((ANSWERS_AT + answersMax * ENTRY_WORDS) * 4), hashKey: randomBytes(16) };
}

/**
 * Answers to questions that a decision does not wait for, in memory that the threads of the process share. A decision reads the answer; if
 * there is none it leaves the question and goes on without. One thread takes the questions, looks them up, and writes the answers.
 *
 * Bounded: a full set of answers loses the one that expires first, and a question that finds no free place is dropped. Answers are
 * represented by a keyed 64-bit hash of their question, so that nobody can choose a question with the answer of another.
 */
export class SharedAnswers {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Uint8Array<SharedArrayBuffer>;
  readonly #hash: KeyedHash;
  readonly #sets: number;

  constructor({ memory, hashKey }: AnswerMemory) {
    this.#words = new Int32Array(memory);
    this.#bytes = new Uint8Array(memory);
    this.#hash = new KeyedHash(Buffer.from(hashKey));
    this.#sets = Math.floor((this.#words.length - ANSWERS_AT) / (WAYS * ENTRY_WORDS));
  }

  /** Returns the answer, 1 to 15; 0 without one, and once it has expired. */
  find(question: string, nowSeconds: number): number {
    const words = this.#words;
    const { low, high, set } = this.#setOf(question);
    for (let way = 0; way < WAYS; way++) {
      const at = set + way * ENTRY_WORDS;
      // The writer clears the last word first and sets it last: an entry that changes meanwhile counts as none.
      const word = Atomics.load(words, at + 2);
      if (word === 0 || Atomics.load(words, at) !== low || Atomics.load(words, at + 1) !== high) continue;
      if (Atomics.load(words, at + 2) !== word) return 0;
      return expiryMinute(word) * 60 > nowSeconds ? word & ANSWER_MAX : 0;
    }
    return 0;
  }

  /** Leaves a question, unless it waits already. ASCII only. */
  ask({ question, customer, source }: WaitingQuestion): void {
    if (question.length > QUESTION_BYTES || source.length > SOURCE_BYTES) return;
    const words = this.#words;
    const { low, high } = this.#setOf(question);
    for (let probe = 0; probe < PROBES; probe++) {
      const at = QUESTIONS_AT + (((high >>> 16) + probe) % QUESTIONS) * QUESTION_WORDS;
      if (Atomics.load(words, at) === READY && words[at + 1] === low && words[at + 2] === high) return;
      if (Atomics.compareExchange(words, at, FREE, WRITING) !== FREE) continue;
      words[at + 1] = low;
      words[at + 2] = high;
      words[at + 3] = customer;
      words[at + 4] = this.#writeText(at, 0, question);
      words[at + 5] = this.#writeText(at, QUESTION_BYTES, source);
      Atomics.store(words, at, READY);
      Atomics.add(words, 0, 1);
      return;
    }
  }

  /** Takes all questions that wait. For one thread only. */
  take(): readonly WaitingQuestion[] {
    const words = this.#words;
    if (Atomics.exchange(words, 0, 0) === 0) return [];
    const taken: WaitingQuestion[] = [];
    for (let at = QUESTIONS_AT; at < ANSWERS_AT; at += QUESTION_WORDS) {
      if (Atomics.load(words, at) !== READY) continue;
      const question = this.#readText(at, 0, words[at + 4] ?? 0);
      const source = this.#readText(at, QUESTION_BYTES, words[at + 5] ?? 0);
      taken.push({ question, customer: words[at + 3] ?? 0, source });
      Atomics.store(words, at, FREE);
    }
    return taken;
  }

  /** Writes an answer, 1 to 15, for `keepSeconds`, rounded up to minutes. For the thread that takes the questions. */
  put(question: string, answer: number, keepSeconds: number, nowSeconds: number): void {
    const words = this.#words;
    const { low, high, set } = this.#setOf(question);
    let chosen = set;
    for (let way = 0; way < WAYS; way++) {
      const at = set + way * ENTRY_WORDS;
      if (words[at] === low && words[at + 1] === high) {
        chosen = at;
        break;
      }
      if (expiryMinute(words[at + 2] ?? 0) < expiryMinute(words[chosen + 2] ?? 0)) chosen = at;
    }
    Atomics.store(words, chosen + 2, 0);
    Atomics.store(words, chosen, low);
    Atomics.store(words, chosen + 1, high);
    const untilMinute = Math.ceil((nowSeconds + keepSeconds) / 60);
    Atomics.store(words, chosen + 2, (untilMinute << ANSWER_BITS) | answer);
  }

  /**
   * Returns whether this is the first time that the text is seen until `untilSeconds`, in any thread: for one of several callers. False
   * also where there is no room to remember it. Not for memory that `put` writes.
   */
  takeOnce(text: string, untilSeconds: number, nowSeconds: number): boolean {
    const words = this.#words;
    lockWord(words, LOCK_AT);
    const { set } = this.#setOf(text);
    let hasRoom = false;
    for (let way = 0; way < WAYS; way++)
      hasRoom ||= expiryMinute(words[set + way * ENTRY_WORDS + 2] ?? 0) * 60 <= nowSeconds;
    const isFirst = hasRoom && this.find(text, nowSeconds) === 0;
    if (isFirst) this.put(text, 1, untilSeconds - nowSeconds, nowSeconds);
    unlockWord(words, LOCK_AT);
    return isFirst;
  }

  #setOf(question: string): { readonly low: number; readonly high: number; readonly set: number } {
    this.#hash.update(0, question);
    const { low, high } = this.#hash;
    return { low: low | 0, high: high | 0, set: ANSWERS_AT + (high % this.#sets) * WAYS * ENTRY_WORDS };
  }

  #writeText(at: number, from: number, text: string): number {
    const first = (at + QUESTION_HEAD) * 4 + from;
    for (let n = 0; n < text.length; n++) this.#bytes[first + n] = text.charCodeAt(n);
    return text.length;
  }

  #readText(at: number, from: number, length: number): string {
    const first = (at + QUESTION_HEAD) * 4 + from;
    return Buffer.from(this.#bytes.subarray(first, first + length)).toString('latin1');
  }
}

function expiryMinute(word: number): number {
  return word >>> ANSWER_BITS;
}
