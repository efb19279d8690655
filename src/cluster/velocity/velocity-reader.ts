import { setTimeout as pause } from 'node:timers/promises';
import type { VelocityMemory } from '../../velocity/memory.ts';
import { STREAMS, StreamMarks } from '../../velocity/stream-marks.ts';
import type { Link } from '../store/link.ts';
import { trimStreams } from './stream-functions.ts';
import type { VelocityExchange } from './velocity-exchange.ts';

/**
 * Milliseconds between two reads of the streams to which this node sends nothing. Choice: up to 600 entries a second in a stream, another
 * node sends fewer within this time than one decision reads.
 */
const READ_MS = 50;
/** Choice: streams without any entry are read in every tenth turn. */
const QUIET_TURNS = 10;
/** Entries read from each stream in one turn. Choice: few, because the store serves no other client during a read. */
const ENTRIES_PER_TURN = 8;
/** Choice: 0.3 ms of the store for a stream that has more, one at a time. */
const ENTRIES_PER_READ = 64;
/** Turns between two trims; one stream each, so that every stream is trimmed about once a minute by each node. */
const TRIM_TURNS = 20;

/**
 * Follows the streams in the background, so that the first decision of an idle customer finds little to read, and takes what a decision
 * leaves because it is too much. Polls: the streams are in different slots of a Cluster, where no command can wait for several.
 */
export class VelocityReader {
  readonly #exchange: VelocityExchange;
  readonly #link: Link;
  readonly #marks: StreamMarks;
  readonly #seen = new BigUint64Array(STREAMS);
  #more: readonly number[] = [];
  #turn = 0;
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor(memory: VelocityMemory, exchange: VelocityExchange, link: Link) {
    this.#exchange = exchange;
    this.#link = link;
    this.#marks = new StreamMarks(memory.marks);
  }

  /** Reads all streams up to their ends. False if that takes longer, or the store does not answer. */
  async catchUp(limitMs: number): Promise<boolean> {
    const endMs = performance.now() + limitMs;
    const isNew = this.#marks.isEmpty;
    let isAtEnd = false;
    while (!isAtEnd && performance.now() < endMs) {
      isAtEnd = await this.#read(ALL, endMs);
      if (!isAtEnd) await pause(READ_MS);
    }
    // The others have counted for longer than the streams reach back.
    if (isNew && !this.#marks.isEmpty) this.#marks.happens('beganThin');
    return isAtEnd;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      if (this.#link.isUp) await this.#read(this.#due(), performance.now() + READ_MS);
      if (++this.#turn % TRIM_TURNS === 0 && this.#link.isUp)
        await trimStreams(this.#link, Math.floor(this.#turn / TRIM_TURNS) % STREAMS);
      await pause(READ_MS);
    }
  }

  /** Returns true if it has reached the ends of these streams in time. */
  async #read(streams: readonly number[], endMs: number): Promise<boolean> {
    let more = await this.#exchange.read(streams, ENTRIES_PER_TURN);
    while (more !== null && more.length > 0 && performance.now() < endMs) {
      const still: number[] = [];
      for (const stream of more) still.push(...((await this.#exchange.read([stream], ENTRIES_PER_READ)) ?? [stream]));
      more = still;
    }
    this.#more = more ?? streams;
    this.#marks.set('unread', this.#more.length);
    return more?.length === 0;
  }

  /** Skips streams that a worker has just read, and in most turns those without entries. */
  #due(): readonly number[] {
    const due: number[] = [];
    const isFull = this.#turn % QUIET_TURNS === 0;
    for (let stream = 0; stream < STREAMS; stream++) {
      const mark = this.#marks.read(stream);
      const hasMoved = mark !== this.#seen[stream];
      this.#seen[stream] = mark;
      if (this.#more.includes(stream) || isFull || (mark !== 0n && !hasMoved)) due.push(stream);
    }
    return due;
  }
}

const ALL = Array.from({ length: STREAMS }, (_none, stream) => stream);
