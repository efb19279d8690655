import type { Policy } from '../core/policy.ts';
import type { Frame } from './frame.ts';
import type { LayerSet } from './layer-messages.ts';

/** Everything that crosses into a score worker, beside the frames' own bytes (`frame.ts`) and the layers (`layer-messages.ts`). */

/** What every score worker is given when it starts. */
export interface ScoreWorkerData {
  readonly dataDir: string;
  readonly frames: readonly Frame[];
  readonly layers: LayerSet;
  readonly policy: Policy;
}

/** Score these requests of that frame. `count` 0 only waits until the worker is ready. */
export interface ScoreTask {
  readonly frame: number;
  readonly from: number;
  readonly count: number;
}
