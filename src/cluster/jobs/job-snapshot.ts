import { setTimeout as sleep } from 'node:timers/promises';
import { ENVIRONMENT_FORMATS } from '../../kernel/formats.ts';
import { committed, type StoreFault } from '../../state/tables/durable.ts';
import { type ExtractStore, openJobTables } from '../../state/tables/extract-store.ts';
import { readWantedCopies, TableCopies } from '../log/table-copies.ts';
import type { Link } from '../store/link.ts';
import { callStore, readStoreTime } from '../store/store-calls.ts';
import { extractionKey } from '../store/store-keys.ts';

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

const WANTED = extractionKey('', 'wanted');
/** Choice: how soon the request of a node that lacks jobs is noticed. */
const REQUESTS_POLL_MS = 1_000;
const RETRY_MS = 1_000;

/**
 * All jobs with their records, from a node that has them to one that was away for longer than the log of jobs reaches back, or is new. The
 * position of a copy may be lower than what its tables contain: entries are applied again.
 */
export class JobSnapshots {
  readonly #parts: JobSnapshotParts;
  readonly #copies: TableCopies;
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: JobSnapshotParts) {
    const { link, key, node, store } = parts;
    const { root, counters } = store;
    const tables = openJobTables(root);
    this.#parts = parts;
    this.#copies = new TableCopies({
      link,
      key,
      node,
      keys: {
        wanted: WANTED,
        sender: (id) => extractionKey('', `giver:${id}`),
        chunks: (id) => extractionKey('', `chunks:${id}`),
      },
      root,
      tables: () => tables,
      version: ENVIRONMENT_FORMATS.extract.version,
      positionIn(_transaction, atLeast) {
        const position = counters.get('jobLog');
        return position < Number(atLeast) ? null : [position, counters.get('jobNumbers')];
      },
    });
  }

  /** Begins to send snapshots to other nodes. */
  start(): void {
    this.#timer ??= setInterval(() => void this.#serveRequests(), this.#parts.pollMs ?? REQUESTS_POLL_MS).unref();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#copies.close();
  }

  /**
   * Replaces all jobs by those of a node that has applied the log up to `atLeast`. Resolves to the position that they contain; null if no
   * node sent them. `onBegin` is called before the first row changes. If the process ends meanwhile, the next start begins again, because
   * the stored position is 0.
   */
  async load(atLeast: number, onBegin: () => void): Promise<number | null> {
    for (;;) {
      const received = await this.#copies.receive(atLeast, () => {
        onBegin();
        return this.#setNumbers(0, 0);
      });
      if (received.kind === 'ok') {
        const [position = 0, jobs = 0] = received.position.map(Number);
        const failed = await this.#setNumbers(position, jobs);
        if (failed === null) return position;
        this.#parts.onFault(failed);
      } else if (received.kind === 'fault') this.#parts.onFault(received);
      if (received.kind === 'none' || this.#copies.isClosed) return null;
      await sleep(RETRY_MS);
    }
  }

  async #serveRequests(): Promise<void> {
    const { link, key } = this.#parts;
    const request = { key: WANTED, args: ['HGETALL', WANTED] };
    const wanted = await callStore(link, request, (reply) => readWantedCopies(key, WANTED, reply));
    if (wanted.kind === 'away' || wanted.value.length === 0) return;
    const time = await readStoreTime(link, WANTED);
    if (time.kind === 'ok') await this.#copies.serve(wanted.value, time.value);
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
