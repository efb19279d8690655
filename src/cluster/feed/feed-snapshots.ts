import { WANTED_MS } from './snapshot-chunks.ts';
import type { ChainPosition } from './change-chain.ts';
import { giveSnapshot, type SnapshotParts, takeSnapshot, type TakenSnapshot } from './data-snapshot.ts';
import type { WantedSnapshot } from './replicas.ts';

export interface FeedSnapshotParts extends SnapshotParts {
  readonly node: string;
}

/** Snapshots of the tables that this node gives to others and takes from them. */
export class FeedSnapshots {
  readonly #parts: FeedSnapshotParts;
  #isGiving = false;
  #isClosed = false;

  constructor(parts: FeedSnapshotParts) {
    this.#parts = parts;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Takes a snapshot that is not earlier than `atLeast`; tries again until the time is over. */
  async take(cluster: string, timeMs: number, atLeast: Pick<ChainPosition, 'term' | 'number'>): Promise<TakenSnapshot> {
    const deadline = performance.now() + timeMs;
    for (;;) {
      const taken = await takeSnapshot(this.#parts, this.#parts.node, cluster, atLeast);
      if (taken.kind === 'ok' || taken.code !== 'cluster_unavailable') return taken;
      if (this.#isClosed || performance.now() > deadline) return taken;
    }
  }

  /** Gives snapshots to those that have asked for one lately. `nowMs` is on the store's clock. */
  async give(wanted: readonly WantedSnapshot[], nowMs: number): Promise<void> {
    if (this.#isGiving) return;
    this.#isGiving = true;
    for (const one of wanted) {
      if (Math.abs(nowMs - one.atMs) < WANTED_MS) await giveSnapshot(this.#parts, this.#parts.node, one);
    }
    this.#isGiving = false;
  }
}
