import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { decrypt, encrypt } from '../kernel/encryption.ts';
import { ENVIRONMENT_FORMATS } from '../kernel/formats.ts';
import { pack, unpack } from '../kernel/pack.ts';
import { committed, type StoreFault } from '../state/durable.ts';
import { type ExtractStore, openJobTables } from '../state/extract-store.ts';
import { ask, listOf, textOf } from './feed/feed-store.ts';
import type { Link } from './link.ts';
import {
  chunkContext,
  claimGiving,
  clearTables,
  POLL_MS,
  popChunk,
  pushChunk,
  readChunk,
  SILENT_MS,
  type SnapshotKeys,
  type Transaction,
  want,
  withdraw,
  writeChunk,
} from './snapshot-chunks.ts';
import { extractionKey } from './store-keys.ts';

const KEYS: SnapshotKeys = {
  wanted: extractionKey('', 'wanted'),
  giver: (id) => extractionKey('', `giver:${id}`),
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
  readonly lookMs?: number;
}

/** Choice: how soon a node that lacks jobs is noticed. */
const LOOK_MS = 1_000;
/** Choice: a wanted snapshot that nobody gave within this time is not wanted any more. */
const WANTED_MS = 60_000;
const RETRY_MS = 1_000;
/** Rows are copied as they are, so a node gives them only to nodes of its version. */
const TABLES = ENVIRONMENT_FORMATS.extract.version;

type Taken = number | 'none' | 'broken';

/**
 * All jobs with their records, from a node that has them to one that was away for longer than the log of jobs reaches back, or is new. The
 * giver reads its tables in one snapshot of LMDB. Its position may be lower than what the tables contain: entries are applied again.
 */
export class JobSnapshots {
  readonly #parts: JobSnapshotParts;
  readonly #tables: ReturnType<typeof openJobTables>;
  #timer: NodeJS.Timeout | null = null;
  #giving: Promise<void> | null = null;
  #isTaking = false;
  #isClosed = false;

  constructor(parts: JobSnapshotParts) {
    this.#parts = parts;
    this.#tables = openJobTables(parts.store.root);
  }

  /** Begins to give snapshots to other nodes. */
  start(): void {
    this.#timer ??= setInterval(() => {
      this.#giving ??= this.#look().finally(() => (this.#giving = null));
    }, this.#parts.lookMs ?? LOOK_MS).unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#giving;
  }

  /**
   * Replaces all jobs by those of a node that has applied the log up to `atLeast`. Resolves to the position that they contain; null if no
   * node gave them. `onBegin` is called before the first row changes. If the process ends meanwhile, the next start begins again, because
   * the stored position is 0.
   */
  async take(atLeast: number, onBegin: () => void): Promise<number | null> {
    this.#isTaking = true;
    try {
      for (;;) {
        const taken = await this.#takeOnce(atLeast, onBegin);
        if (taken !== 'broken') return taken === 'none' ? null : taken;
        if (this.#isClosed) return null;
        await sleep(RETRY_MS);
      }
    } finally {
      this.#isTaking = false;
    }
  }

  async #look(): Promise<void> {
    const { link, node, store } = this.#parts;
    if (this.#isTaking || this.#isClosed) return;
    const rows = await ask(link, { key: KEYS.wanted, args: ['HGETALL', KEYS.wanted] }, listOf);
    if (rows.kind === 'away') return;
    for (let at = 0; at + 1 < rows.value.length; at += 2) {
      if (textOf(rows.value[at]) === node) continue;
      const wanted = readWanted(textOf(rows.value[at + 1]));
      if (wanted === null || Date.now() - wanted.atMs > WANTED_MS || wanted.tables !== TABLES) continue;
      if (store.counters.get('jobLog') < wanted.atLeast) continue;
      await this.#give(wanted.id);
    }
  }

  async #give(id: string): Promise<void> {
    const { link, node, store } = this.#parts;
    const { root, counters } = store;
    if (!(await claimGiving(link, KEYS, node, id))) return;
    root.resetReadTxn();
    const numbers = [counters.get('jobLog'), counters.get('jobNumbers')];
    const transaction = root.useReadTransaction();
    try {
      const chunks = await this.#pushTables(id, transaction);
      if (chunks !== null) await this.#push(id, chunks, 'end', numbers);
    } finally {
      transaction.done();
    }
  }

  /** Returns the number of chunks; null if nobody takes them any more. */
  async #pushTables(id: string, transaction: Transaction): Promise<number | null> {
    let index = 0;
    for (const table of this.#tables) {
      for (let after: Buffer | null = null; ;) {
        if (this.#isClosed) return null;
        const { rows, last } = readChunk(table, transaction, after);
        if (rows.length > 0 && !(await this.#push(id, index++, table.name, rows))) return null;
        if (last === null) break;
        after = last;
      }
    }
    return index;
  }

  #push(id: string, index: number, name: string, rows: readonly unknown[]): Promise<boolean> {
    const { link, key } = this.#parts;
    return pushChunk(
      link,
      KEYS,
      id,
      encrypt(key, pack([index, name, rows]), chunkContext(KEYS, id, index)),
      () => this.#isClosed,
    );
  }

  async #takeOnce(atLeast: number, onBegin: () => void): Promise<Taken> {
    const { link, node } = this.#parts;
    const id = randomUUID();
    const request = { id, atLeast, tables: TABLES };
    await want(link, KEYS, node, request);
    try {
      let heardMs = performance.now();
      for (let index = 0; !this.#isClosed;) {
        const sealed = await popChunk(link, KEYS, id);
        if (sealed !== null) {
          heardMs = performance.now();
          if (index === 0) onBegin();
          const end = await this.#write(id, index++, sealed);
          if (end !== null) return end;
        } else if (performance.now() - heardMs > (index === 0 ? SILENT_MS : SILENT_MS * 2)) {
          return index === 0 ? 'none' : 'broken';
        } else await sleep(POLL_MS);
      }
      return 'broken';
    } finally {
      await withdraw(link, KEYS, node, id);
    }
  }

  /** Returns null until the last chunk. */
  async #write(id: string, index: number, sealed: Buffer): Promise<Taken | null> {
    const { store, key, onFault } = this.#parts;
    const tables = this.#tables;
    const plain = decrypt(key, sealed, chunkContext(KEYS, id, index));
    if (plain === null) return 'broken';
    const [, name, rows] = unpack(plain);
    const content: readonly unknown[] = Array.isArray(rows) ? rows : [];
    let failed: StoreFault | null = null;
    if (index === 0) failed = (await this.#setNumbers(0, 0)) ?? (await clearTables(store.root, tables));
    if (failed === null && name === 'end') {
      const [position, jobs] = content.map(Number);
      failed = await this.#setNumbers(position ?? 0, jobs ?? 0);
      if (failed === null) return position ?? 0;
    }
    const table = tables.find((one) => one.name === name);
    failed ??= await writeChunk(store.root, table, content);
    if (failed !== null) onFault(failed);
    return failed === null ? null : 'broken';
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

interface Wanted {
  readonly id: string;
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
