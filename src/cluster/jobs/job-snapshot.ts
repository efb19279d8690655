import { setTimeout as sleep } from 'node:timers/promises';
import { ENVIRONMENT_FORMATS } from '../../kernel/formats.ts';
import { committed, type StoreFault } from '../../state/tables/durable.ts';
import { type ExtractStore, openJobTables } from '../../state/tables/extract-store.ts';
import { TableCopies } from '../log/table-copies.ts';
import type { Link } from '../store/link.ts';
import { extractionKey } from '../store/store-keys.ts';

export interface JobSnapshotParts {
  readonly link: Link;
  /** Encrypts the chunks. */
  readonly key: Uint8Array;
  readonly node: string;
  /** The tables of this node. */
  readonly store: ExtractStore;
  readonly onFault: (fault: StoreFault) => void;
  readonly pollMs?: number | undefined;
}

const RETRY_MS = 1_000;

/**
 * All jobs with their records, from a node that has them to one that was away for longer than the log of jobs reaches back, or is new. The
 * position of a copy may be lower than what its tables contain: entries are applied again.
 */
export class JobSnapshots {
  readonly copies: TableCopies;
  readonly #parts: JobSnapshotParts;

  constructor(parts: JobSnapshotParts) {
    const { link, key, node, store, pollMs } = parts;
    const { root, counters } = store;
    const tables = openJobTables(root);
    this.#parts = parts;
    this.copies = new TableCopies({
      link,
      key,
      node,
      keys: {
        wanted: extractionKey('', 'wanted'),
        sender: (id) => extractionKey('', `giver:${id}`),
        chunks: (id) => extractionKey('', `chunks:${id}`),
      },
      root,
      tables: () => tables,
      version: ENVIRONMENT_FORMATS.extract.version,
      pollMs,
      positionIn(_transaction, atLeast) {
        const position = counters.get('jobLog');
        return position < Number(atLeast) ? null : [position, counters.get('jobNumbers')];
      },
    });
  }

  /**
   * Replaces all jobs by those of a node that has applied the log up to `atLeast`. Resolves to the position that they contain; null if no
   * node sent them. `onBegin` is called before the first row changes. If the process ends meanwhile, the next start begins again, because
   * the stored position is 0.
   */
  async load(atLeast: number, onBegin: () => void): Promise<number | null> {
    for (;;) {
      const received = await this.copies.receive(atLeast, () => {
        onBegin();
        return this.#setNumbers(0, 0);
      });
      if (received.kind === 'ok') {
        const [position = 0, jobs = 0] = received.position.map(Number);
        const failed = await this.#setNumbers(position, jobs);
        if (failed === null) return position;
        this.#parts.onFault(failed);
      } else if (received.kind === 'fault') this.#parts.onFault(received);
      if (received.kind === 'none' || this.copies.isClosed) return null;
      await sleep(RETRY_MS);
    }
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
