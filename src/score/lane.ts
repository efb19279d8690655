import { AnswerWriter, type BatchBuffer, BatchReader } from '../frames/batch-buffer.ts';
import type { Score } from '../frames/score-loop.ts';
import type { ScoreTask } from '../frames/score-messages.ts';
import type { LookUpMemory } from '../kernel/look-up-memory.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { WorkerAssets } from './asset-slots.ts';
import { Engine, type EngineParts } from './engine.ts';
import type { WorkerPolicies } from './policies.ts';
import { openProofs } from './agent-prover.ts';
import { createSources } from './sources.ts';

/** Choice: room for the subjects of the warm-up, some hundred. */
export const WARM_UP_VELOCITY_BYTES = 1_048_576;

/** Opens both sides of each batch buffer, for the thread that scores. */
export function openSides(frames: readonly BatchBuffer[]): readonly BatchSides[] {
  return frames.map((frame) => ({ requests: new BatchReader(frame), answers: new AnswerWriter(frame) }));
}

export interface BatchSides {
  readonly requests: BatchReader;
  readonly answers: AnswerWriter;
}

type Velocities = Pick<EngineParts, 'velocity' | 'warmUpVelocity' | 'simulatedVelocity'>;

export interface LaneParts extends Velocities, Pick<EngineParts, 'keys'> {
  readonly sides: readonly BatchSides[];
  /** Opened read-only by this thread. */
  readonly store: Store;
  readonly layers: WorkerAssets;
  readonly policies: WorkerPolicies;
  /** Null without look-ups. */
  readonly lookUps: LookUpMemory | null;
  /** Whether the velocity store lacks what other nodes have; default: it has no other nodes. */
  readonly isVelocityDegraded?: () => boolean;
}

let warned = false;
/** Warns once, on standard error (the log is written to standard output). The affected responses report `degraded`. */
function warnOnce(error: unknown): void {
  if (!warned) process.emitWarning(error instanceof Error ? error : String(error), 'MemoryWarning');
  warned = true;
}

/** Opens all that belongs to one batch at a time. Rejects when the batch as a whole cannot be scored. */
export function openLane(parts: LaneParts): Score {
  const { sides, store, layers, policies, isVelocityDegraded = () => false } = parts;
  const worker = createSources(store, layers.geo, parts.lookUps && openProofs(parts.lookUps));
  const engine = new Engine({
    ...parts,
    sources: worker.sources,
    model: layers.model,
    challengerModel: layers.challenger,
    isDegraded: () => layers.degraded() || isVelocityDegraded(),
    takeStoreFailure: () => worker.takeStoreFailure(),
    onMemoryFailed: warnOnce,
  });
  return async ({ frame, from, count }: ScoreTask): Promise<void> => {
    const side = sides[frame];
    if (side === undefined) throw new Error(`there is no batch buffer ${frame}`);
    worker.begin();
    policies.refresh();
    await engine.scoreBatch(side.requests, side.answers, from, count);
  };
}
