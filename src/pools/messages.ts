import type { MessagePort } from 'node:worker_threads';
import type { Frame } from './frame.ts';
import type { LayerSet } from './layer-messages.ts';
import type { VelocityMemory } from '../velocity/memory.ts';
import type { PolicySeed } from './policy-messages.ts';

/**
 * Everything that crosses between the main thread and score workers, beside the frames' own bytes (`frame.ts`), the words that
 * hand frames over (`frame-queue.ts`) and the layers (`layer-messages.ts`).
 */

/** What every score worker is given when it starts. */
export interface ScoreWorkerData {
  readonly dataDir: string;
  readonly frames: readonly Frame[];
  readonly layers: LayerSet;
  readonly policies: PolicySeed;
  /** Shared by all workers. */
  readonly velocity: VelocityMemory;
}

/** The one task of a worker: serve frames until the end. */
export interface ScorePost {
  /** The frame queue's words. */
  readonly memory: SharedArrayBuffer;
  /** Names this worker in the queue; never used again. */
  readonly owner: number;
  /** Worker → main thread: `ScoreSignal`. */
  readonly port: MessagePort;
}

export type ScoreSignal =
  /** The worker is up. */
  | { readonly kind: 'ready'; readonly threadId: number }
  /** A frame came back while the main thread slept. */
  | { readonly kind: 'wake' }
  /** Why a frame came back as failed; internal text. */
  | { readonly kind: 'failed'; readonly frame: number; readonly detail: string };

/** Score these requests of that frame. */
export interface ScoreTask {
  readonly frame: number;
  readonly from: number;
  readonly count: number;
}
