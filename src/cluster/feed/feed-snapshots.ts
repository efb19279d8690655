import { WANTED_MS } from './snapshot-chunks.ts';
import type { ChainPosition } from './change-chain.ts';
import { sendSnapshot, type SnapshotParts, receiveSnapshot, type LoadedSnapshot } from './data-snapshot.ts';
import type { WantedSnapshot } from './replicas.ts';

export interface FeedSnapshotParts extends SnapshotParts {
  readonly node: string;
}

/** Snapshots of the tables that this node sends to others and loads from them. */
export class FeedSnapshots {
  readonly #parts: FeedSnapshotParts;
  #isServing = false;
  #isClosed = false;

  constructor(parts: FeedSnapshotParts) {
    this.#parts = parts;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Loads a snapshot that is not earlier than `atLeast`; tries again until the time is over. */
  async load(
    cluster: string,
    timeMs: number,
    atLeast: Pick<ChainPosition, 'term' | 'number'>,
  ): Promise<LoadedSnapshot> {
    const deadline = performance.now() + timeMs;
    for (;;) {
      const loaded = await receiveSnapshot(this.#parts, this.#parts.node, cluster, atLeast);
      if (loaded.kind === 'ok' || loaded.code !== 'cluster_unavailable') return loaded;
      if (this.#isClosed || performance.now() > deadline) return loaded;
    }
  }

  /** Sends snapshots to nodes that have requested one lately. `nowMs` is on the store's clock. */
  async serve(wanted: readonly WantedSnapshot[], nowMs: number): Promise<void> {
    if (this.#isServing) return;
    this.#isServing = true;
    for (const one of wanted) {
      if (Math.abs(nowMs - one.atMs) < WANTED_MS) await sendSnapshot(this.#parts, this.#parts.node, one);
    }
    this.#isServing = false;
  }
}
