import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { programUrl } from '../kernel/programs.ts';
import { type ExchangeSeed, touchPages, type VelocityMemory } from './memory.ts';
import { type SnapshotSaved, SnapshotWriter } from './snapshot-writer.ts';

/**
 * Maintenance of the whole velocity table: touching all its pages after a start, and writing its snapshots. A table of 256 MB takes 0.7 s
 * to touch, and a million records 1 s to save. In slices on the main thread each slice would delay the decisions behind it, so a background
 * thread does both. On a node of a cluster it also follows the events of other nodes, from its first order on.
 */
export interface TableMaintenance {
  /** Touches every page once. Never rejects. */
  touch(): Promise<void>;
  /**
   * Reads what other nodes have sent so far, and follows them from then on. Never rejects; false if it could not read everything in time.
   */
  catchUp(): Promise<boolean>;
  /** Never rejects. */
  save(nowMs: number): Promise<SnapshotSaved>;
  /**
   * Ends all of this, then saves the table on the calling thread: the background thread gives way to every other process, so on a busy
   * machine it would not end before a supervisor kills. Never rejects.
   */
  finish(nowMs: number): Promise<SnapshotSaved>;
}

export interface TableThreadData {
  readonly folder: string;
  readonly memory: VelocityMemory;
  /** Null on a node that works alone. */
  readonly exchange: ExchangeSeed | null;
}

export type TableOrder =
  | { readonly kind: 'touch' | 'catch_up' | 'stop_following' }
  | { readonly kind: 'save'; readonly nowMs: number };
export type TableReply =
  | { readonly kind: 'touched' | 'stopped' }
  | { readonly kind: 'caught_up'; readonly isComplete: boolean }
  | { readonly kind: 'snapshot'; readonly saved: SnapshotSaved };

/**
 * Choice: usually some milliseconds. A thread that gets no processor for so long goes on until the process ends: after a restart some
 * events of other nodes may then be counted twice.
 */
const END_MS = 1_000;
/** Choice: a thread takes about 40 ms to start, as long as touching 16 MB. */
const THREAD_BYTES_MIN = 32 * 1_048_576;

export function openTableMaintenance(
  folder: string,
  memory: VelocityMemory,
  exchange: ExchangeSeed | null = null,
): TableMaintenance {
  return memory.words.byteLength < THREAD_BYTES_MIN && exchange === null
    ? maintenanceInTurns(folder, memory)
    : new TableThread({ folder, memory, exchange });
}

/** Runs on the calling thread, in slices of under a millisecond. */
function maintenanceInTurns(folder: string, memory: VelocityMemory): TableMaintenance {
  const writer = new SnapshotWriter(folder, memory);
  let isOpen = true;
  return {
    touch: () => touchPages(memory, () => isOpen),
    catchUp: () => Promise.resolve(true),
    save: (nowMs) => writer.save(nowMs),
    finish(nowMs) {
      isOpen = false;
      return writer.save(nowMs);
    },
  };
}

class TableThread implements TableMaintenance {
  readonly #data: TableThreadData;
  #running: RunningThread | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #isFinished = false;

  constructor(data: TableThreadData) {
    this.#data = data;
  }

  async catchUp(): Promise<boolean> {
    if (this.#data.exchange === null) return true;
    const reply = await this.#run({ kind: 'catch_up' });
    return reply.kind === 'caught_up' && reply.isComplete;
  }

  async touch(): Promise<void> {
    await this.#run({ kind: 'touch' });
  }

  async save(nowMs: number): Promise<SnapshotSaved> {
    const reply = await this.#run({ kind: 'save', nowMs });
    if (reply.kind === 'snapshot') return reply.saved;
    return { kind: 'failed', detail: reply.kind === 'ended' ? reply.detail : 'the thread sent an unexpected reply' };
  }

  async finish(nowMs: number): Promise<SnapshotSaved> {
    const followed = this.#data.exchange === null ? null : this.#run({ kind: 'stop_following' });
    const ended = Promise.resolve(followed).then(() => {
      this.#isFinished = true;
      return this.#running?.worker.terminate();
    });
    await Promise.race([ended, sleep(END_MS)]);
    this.#isFinished = true;
    return new SnapshotWriter(this.#data.folder, this.#data.memory, 'last').save(nowMs);
  }

  /** Runs one order at a time. If the thread ends, its order fails, and the next order starts another thread. */
  #run(order: TableOrder): Promise<TableReply | ThreadEnded> {
    const reply = this.#last.then(async () => {
      if (this.#isFinished) return FINISHED;
      const { worker, ended } = (this.#running ??= startThread(this.#data));
      const replied = new Promise<TableReply>((done) => worker.once('message', done));
      worker.postMessage(order);
      const first = await Promise.race([replied, ended]);
      if (first.kind === 'ended') this.#running = null;
      return first;
    });
    this.#last = reply;
    return reply;
  }
}

interface ThreadEnded {
  readonly kind: 'ended';
  readonly detail: string;
}

const FINISHED: ThreadEnded = { kind: 'ended', detail: 'the service stops' };

interface RunningThread {
  readonly worker: Worker;
  readonly ended: Promise<ThreadEnded>;
}

function startThread(workerData: TableThreadData): RunningThread {
  const worker = new Worker(programUrl('velocity'), { workerData });
  const ended = new Promise<ThreadEnded>((done) => {
    let detail = 'the thread ended';
    worker.once('error', (error) => (detail = error instanceof Error ? error.message : String(error)));
    worker.once('exit', () => done({ kind: 'ended', detail }));
  });
  return { worker, ended };
}
