import type { StoreFault, StoreWrite } from '../../state/tables/durable.ts';
import type { AppliedResult } from '../../state/tables/extraction-table.ts';
import { rowsOf, type SentResult } from './result-parts.ts';

export interface StepWriterParts {
  apply(results: readonly SentResult[]): Promise<StoreWrite<readonly AppliedResult[]>>;
  onApplied(result: SentResult, applied: AppliedResult): void;
  /** Called after each transaction. */
  onWritten(): void;
  onFault(fault: StoreFault): void;
  /** Called for a single result that the store keeps rejecting while it accepts others. */
  onRefused(result: SentResult): void;
  after(ms: number, then: () => void): () => void;
}

/** Measured: this many rows block the extraction thread for about 4 ms. */
const ROWS_PER_WRITE = 500;
const BYTES_PER_WRITE = 4 * 1_048_576;
/** Choice: beyond these limits no step starts until some results are written. */
const WAITING_ROWS_MAX = 50_000;
const WAITING_BYTES_MAX = 64 * 1_048_576;
/** Choice: a full disk seldom recovers sooner. */
const RETRY_MS = 1_000;
/** Choice: rejections of a single result before it is dropped. */
const REFUSALS_MAX = 3;

/** Writes step results in order of arrival. Each transaction takes all that wait, up to the limits of a transaction. */
export class StepWriter {
  readonly #parts: StepWriterParts;
  #waiting: SentResult[] = [];
  #rows = 0;
  #bytes = 0;
  #isWriting = false;
  #isStopped = false;
  /** Rejections since the last successful write. After one, results are tried one by one. */
  #refusals = 0;
  #idle: (() => void)[] = [];

  constructor(parts: StepWriterParts) {
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

  /** Resolves when everything added so far is written. Results that the store rejects until then are not written. */
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
    // Deferred within this turn, so that results which arrive together are written together.
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
    // Results wait for a store that does not answer, however long: only one that rejects them while it accepts others drops them.
    this.#refusals = isAway(fault) ? Math.max(1, this.#refusals) : this.#refusals + 1;
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

  /** All rejected results have been dropped. Only new results can show whether the store accepts writes again. */
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

  /** Drops the result together with the other parts of the same step. Its last part alone would complete the step without what it found. */
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

function isAway({ code }: StoreFault): boolean {
  return code === 'cluster_unavailable' || code === 'change_unconfirmed';
}

function bytesOf({ records }: SentResult): number {
  if (records === null) return 0;
  const { found, range } = records;
  return range.to - range.from === found.lineBytes.length
    ? found.ndjson.length
    : Math.ceil((found.ndjson.length * (range.to - range.from)) / found.lineBytes.length);
}
