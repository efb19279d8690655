import { threadId } from 'node:worker_threads';
import type { BatchBuffer } from '../frames/batch-buffer.ts';
import type { Score } from '../frames/score-loop.ts';
import type { ScoreWorkerData } from '../frames/score-messages.ts';
import { openWorkerAssets } from '../score/asset-slots.ts';
import { type BatchSides, openLane, openSides, WARM_UP_VELOCITY_BYTES } from '../score/lane.ts';
import type { createModelAsset } from '../score/model.ts';
import { openWorkerPolicies } from '../score/policies.ts';
import { openStore } from '../state/feed/open-store.ts';
import { LocalVelocity } from '../velocity/local-velocity.ts';
import { createVelocityMemory } from '../velocity/memory.ts';

/** What a thread scores with that is no score worker. */
export interface OwnLane {
  readonly score: Score;
  readonly sides: readonly BatchSides[];
  close(): Promise<void>;
}

/**
 * Opens what a score worker opens, read-only, on the calling thread, which gets the same changes of lists, rules, policies and databases.
 * Runs no model, and takes no simulations. Clears `layers` and `policies`, as a worker does.
 */
export async function openOwnLane(
  {
    dataDir,
    layers: set,
    policies: seed,
    velocity: memory,
    keys,
    lookUps,
  }: Omit<ScoreWorkerData, 'frames' | 'exchange'>,
  frames: readonly BatchBuffer[],
  openModel: typeof createModelAsset,
): Promise<OwnLane> {
  const opened = openStore({ dataDir, readOnly: true });
  if (opened.kind === 'fault') throw new Error(opened.detail);
  const { store } = opened;
  const layers = await openWorkerAssets(set, threadId, openModel);
  const policies = openWorkerPolicies(seed);
  const sides = openSides(frames);
  const velocity = new LocalVelocity(memory);
  const score = openLane({
    sides,
    store,
    layers,
    policies,
    keys,
    lookUps,
    velocity,
    warmUpVelocity: new LocalVelocity(createVelocityMemory(WARM_UP_VELOCITY_BYTES, memory.hashKey)),
    simulatedVelocity: velocity,
  });
  return {
    score,
    sides,
    async close() {
      policies.close();
      await layers.close();
      await store.close();
    },
  };
}
