import type { StoreFault, StoreWrite } from '../store/durable.ts';
import type { Applied } from '../store/extractions.ts';
import { rowsOf, type SentResult } from './result-parts.ts';

export interface ResultWriterParts {
  apply(results: readonly SentResult[]): Promise<StoreWrite<readonly Applied[]>>;
  onApplied(result: SentResult, applied: Applied): void;
  /** After each transaction. */
  onWritten(): void;
  onFault(fault: StoreFault): void;
  /** One result that the store refuses again and again, although it takes others. */
  onRefused(result: SentResult): void;
  after(ms: number, then: () => void): () => void;
}

/** Measured: so many rows hold the main thread for some 4 ms. */
const ROWS_PER_WRITE = 500;
const BYTES_PER_WRITE = 4 * 1_048_576;
/** Choice: past them no step is begun until some are written. */
const WAITING_ROWS_MAX = 50_000;
const WAITING_BYTES_MAX = 64 * 1_048_576;
/** Choice: a full disk seldom passes sooner. */
const RETRY_MS = 1_000;
/** Choice: refusals of one result alone before it is given up. */
const REFUSALS_MAX = 3;

/** Writes what steps found, in the order of its arrival, as much at a time as there is and no transaction may be longer. */
export class ResultWriter {
  readonly #parts: ResultWriterParts;
  #waiting: SentResult[] = [];
  #rows = 0;
  #bytes = 0;
  #isWriting = false;
  #isStopped = false;
  /** Since the last write that was taken. After one, results are tried one by one. */
  #refusals = 0;
  #idle: (() => void)[] = [];

  constructor(parts: ResultWriterParts) {
    this.#parts = parts;
  }

  get hasRoom(): boolean {
    return this.#rows < WAITING_ROWS_MAX && this.#bytes < WAITING_BYTES_MAX && this.#refusals === 0;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  add(results: readonly SentResult[]): void {
    for (const result of results) {
      this.#waiting.push(result);
      this.#rows += rowsOf(result);
      this.#bytes += bytesOf(result);
    }
    this.#go();
  }

  /** Resolves when all that was added is written; what the store refuses until then is left. */
  async stop(): Promise<void> {
    if (this.#isWriting || this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        this.#idle.push(resolve);
      });
    }
    this.#isStopped = true;
  }

  #go(): void {
    if (this.#isWriting || this.#isStopped || this.#waiting.length === 0) return;
    this.#isWriting = true;
    // Later in this turn, so that what arrives together is written together.
    queueMicrotask(() => void this.#write());
  }

  async #write(): Promise<void> {
    const batch = this.#take();
    const written = await this.#parts.apply(batch);
    this.#isWriting = false;
    if (written.kind === 'fault') {
      this.#refused(batch, written);
      return;
    }
    this.#refusals = 0;
    for (const [i, result] of batch.entries()) {
      const applied = written.value[i];
      if (applied !== undefined) this.#parts.onApplied(result, applied);
    }
    this.#parts.onWritten();
    this.#go();
    this.#tellIdle();
  }

  #take(): readonly SentResult[] {
    let rows = 0;
    let bytes = 0;
    let count = 0;
    for (const result of this.#waiting) {
      rows += rowsOf(result);
      bytes += bytesOf(result);
      if (count > 0 && (rows > ROWS_PER_WRITE || bytes > BYTES_PER_WRITE || this.#refusals > 0)) break;
      count++;
    }
    const batch = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    for (const result of batch) {
      this.#rows -= rowsOf(result);
      this.#bytes -= bytesOf(result);
    }
    return batch;
  }

  #refused(batch: readonly SentResult[], fault: StoreFault): void {
    this.#parts.onFault(fault);
    this.#refusals++;
    const [only, ...others] = batch;
    if (this.#refusals > REFUSALS_MAX && only !== undefined && others.length === 0) this.#giveUp(only);
    else this.#putBack(batch);
    this.#tellIdle(true);
    this.#isWriting = true;
    this.#parts.after(RETRY_MS, () => {
      this.#isWriting = false;
      if (this.#waiting.length > 0) this.#go();
      else this.#tryAnew();
    });
  }

  /** All that was refused is given up: only what steps find next can tell whether the store takes it. */
  #tryAnew(): void {
    this.#refusals = 0;
    this.#parts.onWritten();
  }

  #putBack(batch: readonly SentResult[]): void {
    this.#waiting = [...batch, ...this.#waiting];
    for (const result of batch) {
      this.#rows += rowsOf(result);
      this.#bytes += bytesOf(result);
    }
  }

  /** With the other parts of the same step: its last part alone would end the step without what it found. */
  #giveUp(refused: SentResult): void {
    const isSame = ({ job, step }: SentResult): boolean => job.number === refused.job.number && step === refused.step;
    for (const result of this.#waiting.filter(isSame)) {
      this.#rows -= rowsOf(result);
      this.#bytes -= bytesOf(result);
    }
    this.#waiting = this.#waiting.filter((result) => !isSame(result));
    this.#parts.onRefused(refused);
  }

  #tellIdle(always = false): void {
    if (!always && (this.#isWriting || this.#waiting.length > 0)) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

function bytesOf({ records }: SentResult): number {
  if (records === null) return 0;
  const { found, range } = records;
  return range.to - range.from === found.lineBytes.length
    ? found.ndjson.length
    : Math.ceil((found.ndjson.length * (range.to - range.from)) / found.lineBytes.length);
}
