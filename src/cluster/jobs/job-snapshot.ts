import { setTimeout as sleep } from 'node:timers/promises';
import { ENVIRONMENT_FORMATS } from '../../kernel/formats.ts';
import { committed, type StoreFault } from '../../state/tables/durable.ts';
import { type ExtractStore, openJobTables } from '../../state/tables/extract-store.ts';
import { callStore, readStoreTime, replyList, replyText } from '../feed/feed-store.ts';
import type { Link } from '../store/link.ts';
import {
  claimTransfer,
  sendTables,
  type SnapshotChannel,
  type SnapshotKeys,
  type ReceivedTables,
  receiveTables,
  WANTED_MS,
} from '../feed/snapshot-chunks.ts';
import { readSigned, recordPlace } from '../feed/signed-record.ts';
import { extractionKey } from '../store/store-keys.ts';

const KEYS: SnapshotKeys = {
  wanted: extractionKey('', 'wanted'),
  sender: (id) => extractionKey('', `giver:${id}`),
  chunks: (id) => extractionKey('', `chunks:${id}`),
};

export interface JobSnapshotParts {
  readonly link: Link;
  /** Encrypts the chunks. */
  readonly key: Uint8Array;
  readonly node: string;
  /** The tables of this node. */
  readonly store: ExtractStore;
  readonly onFault: (fault: StoreFault) => void;
  readonly pollMs?: number;
}

/** Choice: how soon the request of a node that lacks jobs is noticed. */
const REQUESTS_POLL_MS = 1_000;
const RETRY_MS = 1_000;
/** Rows are copied as they are, so a node sends them only to nodes of its version. */
const TABLES = ENVIRONMENT_FORMATS.extract.version;

/**
 * All jobs with their records, from a node that has them to one that was away for longer than the log of jobs reaches back, or is new. The
 * sender reads its tables in one snapshot of LMDB. Its position may be lower than what the tables contain: entries are applied again.
 */
export class JobSnapshots {
  readonly #parts: JobSnapshotParts;
  readonly #channel: SnapshotChannel;
  readonly #tables: ReturnType<typeof openJobTables>;
  #timer: NodeJS.Timeout | null = null;
  #serving: Promise<void> | null = null;
  #isLoading = false;
  #isClosed = false;

  constructor(parts: JobSnapshotParts) {
    this.#parts = parts;
    this.#channel = { link: parts.link, key: parts.key, keys: KEYS, isStopping: () => this.#isClosed };
    this.#tables = openJobTables(parts.store.root);
  }

  /** Begins to send snapshots to other nodes. */
  start(): void {
    this.#timer ??= setInterval(() => {
      this.#serving ??= this.#serveRequests().finally(() => (this.#serving = null));
    }, this.#parts.pollMs ?? REQUESTS_POLL_MS).unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#serving;
  }

  /**
   * Replaces all jobs by those of a node that has applied the log up to `atLeast`. Resolves to the position that they contain; null if no
   * node sent them. `onBegin` is called before the first row changes. If the process ends meanwhile, the next start begins again, because
   * the stored position is 0.
   */
  async load(atLeast: number, onBegin: () => void): Promise<number | null> {
    this.#isLoading = true;
    try {
      for (;;) {
        const received = await this.#loadOnce(atLeast, onBegin);
        if (received.kind === 'ok') return received.position;
        if (received.kind === 'fault') this.#parts.onFault(received);
        if (received.kind === 'none' || this.#isClosed) return null;
        await sleep(RETRY_MS);
      }
    } finally {
      this.#isLoading = false;
    }
  }

  async #serveRequests(): Promise<void> {
    const { link, key, node, store } = this.#parts;
    if (this.#isLoading || this.#isClosed) return;
    const rows = await callStore(link, { key: KEYS.wanted, args: ['HGETALL', KEYS.wanted] }, replyList);
    if (rows.kind === 'away' || rows.value.length === 0) return;
    const time = await readStoreTime(link, KEYS.wanted);
    if (time.kind === 'away') return;
    for (let at = 0; at + 1 < rows.value.length; at += 2) {
      const asking = replyText(rows.value[at]);
      if (asking === node) continue;
      const text = readSigned(key, recordPlace(KEYS.wanted, asking), replyText(rows.value[at + 1]));
      const wanted = text === null ? null : readWanted(text);
      if (wanted === null || time.value - wanted.atMs > WANTED_MS || wanted.tables !== TABLES) continue;
      if (store.counters.get('jobLog') < wanted.atLeast) continue;
      await this.#send(wanted.id);
    }
  }

  async #send(id: string): Promise<void> {
    const { node, store } = this.#parts;
    const { root, counters } = store;
    if (!(await claimTransfer(this.#channel, node, id))) return;
    root.resetReadTxn();
    const about = [counters.get('jobLog'), counters.get('jobNumbers')];
    const transaction = root.useReadTransaction();
    try {
      await sendTables(this.#channel, id, { tables: this.#tables, transaction, about });
    } finally {
      transaction.done();
    }
  }

  async #loadOnce(atLeast: number, onBegin: () => void): Promise<Exclude<ReceivedTables, { kind: 'ok' }> | LoadedJobs> {
    const { node, store } = this.#parts;
    const into = { root: store.root, tables: this.#tables };
    const received = await receiveTables(this.#channel, node, { atLeast, tables: TABLES }, into, () => {
      onBegin();
      return this.#setNumbers(0, 0);
    });
    if (received.kind !== 'ok') return received;
    const [position = 0, jobs = 0] = received.about.map(Number);
    return (await this.#setNumbers(position, jobs)) ?? { kind: 'ok', position };
  }

  async #setNumbers(position: number, jobs: number): Promise<StoreFault | null> {
    const { root, counters, extractions } = this.#parts.store;
    const written = await committed(root, () => {
      counters.set('jobLog', position);
      if (jobs > counters.get('jobNumbers')) counters.set('jobNumbers', jobs);
    });
    extractions.recount();
    return written.kind === 'fault' ? written : null;
  }
}

interface LoadedJobs {
  readonly kind: 'ok';
  /** The tables contain the log of jobs up to this number. */
  readonly position: number;
}

interface Wanted {
  readonly id: string;
  /** On the store's clock, Unix ms. */
  readonly atMs: number;
  readonly atLeast: number;
  /** Version of the tables that the node reads. */
  readonly tables: number;
}

/** Returns null for a text that no node writes. */
function readWanted(text: string): Wanted | null {
  try {
    const { id, atMs, atLeast, tables } = JSON.parse(text) as Partial<Wanted>;
    const isWhole = typeof atMs === 'number' && typeof atLeast === 'number' && typeof tables === 'number';
    return typeof id === 'string' && isWhole ? { id, atMs, atLeast, tables } : null;
  } catch {
    return null;
  }
}
