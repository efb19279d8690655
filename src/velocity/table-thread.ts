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
  /** Ends following, so that nothing changes the table while its last snapshot is saved. */
  stopFollowing(): Promise<void>;
  /** Never rejects. */
  save(nowMs: number): Promise<SnapshotSaved>;
  close(): Promise<void>;
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
    stopFollowing: () => Promise.resolve(),
    save: (nowMs) => writer.save(nowMs),
    close() {
      isOpen = false;
      return Promise.resolve();
    },
  };
}

class TableThread implements TableMaintenance {
  readonly #data: TableThreadData;
  #running: RunningThread | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(data: TableThreadData) {
    this.#data = data;
  }

  async catchUp(): Promise<boolean> {
    if (this.#data.exchange === null) return true;
    const reply = await this.#run({ kind: 'catch_up' });
    return reply.kind === 'caught_up' && reply.isComplete;
  }

  async stopFollowing(): Promise<void> {
    if (this.#data.exchange !== null) await this.#run({ kind: 'stop_following' });
  }

  async touch(): Promise<void> {
    await this.#run({ kind: 'touch' });
  }

  async save(nowMs: number): Promise<SnapshotSaved> {
    const reply = await this.#run({ kind: 'save', nowMs });
    if (reply.kind === 'snapshot') return reply.saved;
    return { kind: 'failed', detail: reply.kind === 'ended' ? reply.detail : 'the thread sent an unexpected reply' };
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#running?.worker.terminate();
    this.#running = null;
  }

  /** Runs one order at a time. If the thread ends, its order fails, and the next order starts another thread. */
  #run(order: TableOrder): Promise<TableReply | ThreadEnded> {
    const reply = this.#last.then(async () => {
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
