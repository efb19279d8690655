import type { MessagePort } from 'node:worker_threads';
import type { BatchBuffer } from './batch-buffer.ts';
import type { LookUpMemory } from '../kernel/look-up-memory.ts';
import type { AssetSet } from '../assets/asset-messages.ts';
import type { ExchangeSeed, VelocityMemory } from '../velocity/memory.ts';
import type { PolicySeed } from '../assets/policy-messages.ts';

/**
 * All messages between the main thread and score workers, except the bytes of batch buffers (`batch-buffer.ts`), the words that pass them
 * on (`batch-queue.ts`) and the assets (`asset-messages.ts`).
 */

/** Data passed to every score worker at its start. */
export interface ScoreWorkerData {
  readonly dataDir: string;
  readonly frames: readonly BatchBuffer[];
  readonly layers: AssetSet;
  readonly policies: PolicySeed;
  /** Shared by all workers. */
  readonly velocity: VelocityMemory;
  /** Null on a node that works alone. */
  readonly exchange: ExchangeSeed | null;
  readonly keys: RecordKeys;
  /** What is looked up beside the decisions; null if nothing is. */
  readonly lookUps: LookUpMemory | null;
}

/** Keys that a worker needs; derived from the master key, each for this purpose only. */
export interface RecordKeys {
  /** For the hashes of links. */
  readonly links: Uint8Array;
  /** For the proofs in request ids. */
  readonly requests: Uint8Array;
  /** For the grants of collector tokens. */
  readonly grants: Uint8Array;
  /** For the keys of listed values. */
  readonly lists: Uint8Array;
}

/** The only task of a worker: processes batch buffers until the queue is stopped. */
export interface ScorePost {
  /** Memory of the batch queue. */
  readonly memory: SharedArrayBuffer;
  /** Identifies this worker in the queue; never reused. */
  readonly owner: number;
  /** Worker → main thread: `ScoreSignal`. */
  readonly port: MessagePort;
}

export type ScoreSignal =
  /** The worker is up. */
  | { readonly kind: 'ready'; readonly threadId: number }
  /** A batch buffer came back while the main thread slept. */
  | { readonly kind: 'wake' }
  /** Why a batch buffer came back as failed; internal text. */
  | { readonly kind: 'failed'; readonly frame: number; readonly detail: string };

/** Scores these requests of that batch buffer. */
export interface ScoreTask {
  readonly frame: number;
  readonly from: number;
  readonly count: number;
}
