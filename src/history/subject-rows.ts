import type { RowPlace, RowSource } from './decision-log/scan.ts';

/** Counts of one subject, in the order of its words in a chunk. */
export const WORD = { decisions: 0, flagged: 1, challenged: 2, blocked: 3, worst: 4, distinct: 5 } as const;
const BLOCK = 6;
const AT = 7;
const END = 8;
const HIGH = 9;
const LOW = 10;
const GROUPS_AT = 11;
/** Source: a decision keeps its first 8 identities (contract, 9.4). Names beyond the first 8 of a subject are not counted. */
const GROUPS = 8;
const WORDS = GROUPS_AT + GROUPS;
/** A group's word: its number above, its count in the lower 24 bits; 0 marks an unused one. */
const COUNT_BITS = 24;
const COUNT_MASK = 2 ** COUNT_BITS - 1;
/** Highest number of a group. */
export const GROUP_MAX = 2 ** (32 - COUNT_BITS) - 1;
/** Choice: 172 KB, so that making room for more takes some 20 µs. */
const CHUNK_ROWS = 2_048;

interface Chunk {
  readonly words: Uint32Array;
  readonly lastSeenMs: Float64Array;
}

/** Counts of numbered subjects, in chunks outside of the heap: 160,000 objects would be copied by the garbage collector as they grow. */
export class SubjectRows {
  readonly #chunks: Chunk[] = [];
  readonly #blocks: RowSource[] = [];

  /** Forgets all subjects and keeps the memory. */
  reset(): void {
    this.#blocks.length = 0;
  }

  /** Makes room for the next subject; keeps the place of one of its decisions, and the halves of its hash. Numbers must come in order. */
  add(subject: number, { block, at, end }: RowPlace, high: number, low: number): void {
    if (Math.floor(subject / CHUNK_ROWS) === this.#chunks.length) {
      const words = new Uint32Array(CHUNK_ROWS * WORDS);
      this.#chunks.push({ words, lastSeenMs: new Float64Array(CHUNK_ROWS) });
    }
    if (this.#blocks.at(-1) !== block) this.#blocks.push(block);
    const { words, start } = this.of(subject);
    words.fill(0, start, start + WORDS);
    this.#chunks[Math.floor(subject / CHUNK_ROWS)]?.lastSeenMs.fill(
      0,
      subject % CHUNK_ROWS,
      (subject % CHUNK_ROWS) + 1,
    );
    words[start + BLOCK] = this.#blocks.length - 1;
    words[start + AT] = at;
    words[start + END] = end;
    words[start + HIGH] = high;
    words[start + LOW] = low;
  }

  /** Returns the words that hold the subject's counts, which begin at `start`. */
  of(subject: number): { readonly words: Uint32Array; readonly start: number } {
    const { words } = this.#chunks[Math.floor(subject / CHUNK_ROWS)] ?? NO_CHUNK;
    return { words, start: (subject % CHUNK_ROWS) * WORDS };
  }

  /** Counts one more distinct value of a group, 1 to `GROUP_MAX`; `WORD.distinct` is the largest of the groups' counts. */
  countDistinct(subject: number, group: number): void {
    const { words, start } = this.of(subject);
    const end = start + WORDS;
    let at = start + GROUPS_AT;
    while (at < end && words[at] !== 0 && (words[at] ?? 0) >>> COUNT_BITS !== group) at++;
    if (at === end) return;
    const count = ((words[at] ?? 0) & COUNT_MASK) + 1;
    words[at] = (group << COUNT_BITS) | count;
    if (count > (words[start + WORD.distinct] ?? 0)) words[start + WORD.distinct] = count;
  }

  saw(subject: number, atMs: number): void {
    const { lastSeenMs } = this.#chunks[Math.floor(subject / CHUNK_ROWS)] ?? NO_CHUNK;
    const row = subject % CHUNK_ROWS;
    if (atMs > (lastSeenMs[row] ?? 0)) lastSeenMs[row] = atMs;
  }

  lastSeenMsOf(subject: number): number {
    const { lastSeenMs } = this.#chunks[Math.floor(subject / CHUNK_ROWS)] ?? NO_CHUNK;
    return lastSeenMs[subject % CHUNK_ROWS] ?? 0;
  }

  /** Returns the subject's hash as 16 lower-case hex digits. */
  hashOf(subject: number): string {
    const { words, start } = this.of(subject);
    return `${hex(words[start + HIGH] ?? 0)}${hex(words[start + LOW] ?? 0)}`;
  }

  placeOf(subject: number): RowPlace | null {
    const { words, start } = this.of(subject);
    const block = this.#blocks[words[start + BLOCK] ?? 0];
    return block === undefined ? null : { block, at: words[start + AT] ?? 0, end: words[start + END] ?? 0 };
  }
}

const NO_CHUNK: Chunk = { words: new Uint32Array(0), lastSeenMs: new Float64Array(0) };

function hex(half: number): string {
  return half.toString(16).padStart(8, '0');
}
