import { openChangeTables } from '../../state/tables/change-tables.ts';
import { durably, fault, type StoreFault } from '../../state/tables/durable.ts';
import type { Environment } from '../../state/tables/environment.ts';
import type { FeedPosition, FeedPositions } from '../../state/feed/feed-position.ts';
import { Slices, type Turns } from '../../state/tables/turns.ts';
import type { Link } from '../store/link.ts';
import { TableCopies } from '../log/table-copies.ts';
import { type ChainPosition, isLater } from './change-chain.ts';
import { chunksKey, snapshotSenderKey, WANTED_KEY } from './feed-keys.ts';

export interface SnapshotParts {
  readonly link: Link;
  readonly key: Buffer;
  readonly node: string;
  readonly root: Environment;
  readonly positions: FeedPositions;
  readonly turns: Turns;
  /** Version of the tables of this build. */
  readonly tables: number;
  readonly canServe?: () => boolean;
}

export type LoadedSnapshot = { readonly kind: 'ok'; readonly position: FeedPosition } | StoreFault;

type AtLeast = Pick<ChainPosition, 'term' | 'number'>;

/** The tables of all changes, for a node without data, or whose position is no longer in the stream, from a live one. */
export class FeedSnapshots {
  readonly copies: TableCopies;
  readonly #parts: SnapshotParts;

  constructor(parts: SnapshotParts) {
    const { link, key, node, root, positions, turns, tables, canServe } = parts;
    const slices = new Slices(turns);
    this.#parts = parts;
    this.copies = new TableCopies({
      link,
      key,
      node,
      keys: { wanted: WANTED_KEY, sender: snapshotSenderKey, chunks: chunksKey },
      root,
      tables: () => openChangeTables(root),
      version: tables,
      canServe,
      positionIn(transaction, atLeast) {
        const position = positions.read(transaction);
        if (position === null || position.isLoading || isLater(atLeast as AtLeast, position)) return null;
        const { cluster, number, last, term } = position;
        return [cluster, number, last, term];
      },
      beforeChunk: () => slices.begin(),
    });
  }

  /** Loads a snapshot that is not earlier than `atLeast`; tries again until the time is over. */
  async load(cluster: string, timeMs: number, atLeast: AtLeast): Promise<LoadedSnapshot> {
    const deadline = performance.now() + timeMs;
    for (;;) {
      const loaded = await this.receive(cluster, atLeast);
      if (loaded.kind === 'ok' || loaded.code !== 'cluster_unavailable') return loaded;
      if (this.copies.isClosed || performance.now() > deadline) return loaded;
    }
  }

  /**
   * Replaces the tables by a snapshot that is not earlier than `atLeast`. As long as none has arrived the tables stay as they are. If it
   * fails or the process ends within it, the position says that the tables are incomplete, and the next call starts again.
   */
  async receive(cluster: string, atLeast: AtLeast): Promise<LoadedSnapshot> {
    const { root, positions, tables } = this.#parts;
    const request = { term: atLeast.term, number: atLeast.number };
    const received = await this.copies.receive(request, async (fields) => {
      const { cluster: from, term, number } = positionOf(fields);
      if (from !== cluster || isLater(atLeast, { term, number })) return EARLIER;
      const loading = { cluster, term: 0, number: 0, last: '', isLoading: true };
      const begun = await durably(root, () => positions.put(loading));
      return begun.kind === 'fault' ? begun : null;
    });
    if (received.kind === 'fault') return received;
    if (received.kind !== 'ok') return fault('cluster_unavailable', noSender(tables));
    const position = positionOf(received.position);
    const written = await durably(root, () => positions.put(position));
    return written.kind === 'fault' ? written : { kind: 'ok', position };
  }
}

const EARLIER = fault('cluster_unavailable', 'a node gave a snapshot that is earlier than the data of this one');

function positionOf([cluster, number, last, term]: readonly unknown[]): FeedPosition {
  return {
    cluster: String(cluster),
    number: Number(number),
    last: String(last),
    term: Number(term),
    isLoading: false,
  };
}

function noSender(tables: number): string {
  return `no live node gave a snapshot of the data; one must run that has it, in the version of this build's tables (${tables})`;
}
