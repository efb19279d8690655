import { type AnswerMemory, createAnswerMemory } from './shared-answers.ts';
import { createTextMemory } from './shared-text.ts';

/** What the threads that score share of look-ups beside the decisions. */
export interface LookUpMemory {
  readonly answers: AnswerMemory;
  /** The keys of signers, a `SharedText`. */
  readonly keys: SharedArrayBuffer;
  /** The nonces of signatures that were used. */
  readonly nonces: AnswerMemory;
}

/** Choice: 16,384 answers, 200 KB: more than 3 h of the most look-ups that are made. */
const ANSWERS = 16_384;
/** Choice: a day of signed requests with a lasting signature; most are valid for minutes. 800 KB. */
const NONCES = 65_536;
/** Choice: ten times the keys of all signers that are known. */
const KEY_BYTES = 65_536;

export function createLookUpMemory(): LookUpMemory {
  return {
    answers: createAnswerMemory(ANSWERS),
    keys: createTextMemory(KEY_BYTES),
    nonces: createAnswerMemory(NONCES),
  };
}
