import type { Database, Transaction } from 'lmdb';
import { pack, unpack } from '../../kernel/pack.ts';
import { withoutSum, withSum } from '../tables/value.ts';

/** How far a node of a cluster has applied the changes of all nodes. */
export interface FeedPosition {
  /** The cluster that the data belongs to. */
  readonly cluster: string;
  /** Number of the last applied change. */
  readonly number: number;
  /** Token of that change; it distinguishes two changes that got the same number. Empty before the first one. */
  readonly last: string;
  /** How often the stream had been founded. 0 in rows of builds that did not count it. */
  readonly term: number;
  /** A snapshot is being loaded: the tables are incomplete, and the position is where the data was before. */
  readonly isLoading: boolean;
}

const KEY = Buffer.from([1]);

/** Row of table `feed`: the position of this data directory in the changes of a cluster. Absent in an installation that works alone. */
export class FeedPositions {
  readonly #table: Database<Buffer, Buffer>;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  /** `transaction`: reads in this snapshot. */
  read(transaction?: Transaction): FeedPosition | null {
    const stored = transaction === undefined ? this.#table.getBinary(KEY) : this.#table.get(KEY, { transaction });
    if (stored === undefined) return null;
    const [cluster, number, last, isLoading, term = 0] = unpack(withoutSum(stored));
    const place = { cluster: String(cluster), number: Number(number), last: String(last), term: Number(term) };
    return { ...place, isLoading: isLoading === true };
  }

  /** Must be called inside the transaction or batch of the change that it describes. */
  put({ cluster, number, last, term, isLoading }: FeedPosition): void {
    const value = withSum(KEY, pack([cluster, number, last, isLoading, term]));
    // Inside a batch, the promise rejects with the same error as the batch.
    Promise.resolve(this.#table.put(KEY, value)).catch(() => {});
  }

  /** Must be called inside a transaction. */
  remove(): void {
    void this.#table.remove(KEY);
  }
}
