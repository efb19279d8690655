import { threadId, workerData } from 'node:worker_threads';
import { AnswerWriter, BatchReader } from '../src/frames/batch-buffer.ts';
import type { ScorePost, ScoreTask, ScoreWorkerData } from '../src/frames/score-messages.ts';
import { serveBatches } from '../src/frames/score-loop.ts';
import { Engine } from '../src/score/engine.ts';
import { openWorkerAssets } from '../src/score/asset-slots.ts';
import { openWorkerPolicies } from '../src/score/policies.ts';
import { createSources } from '../src/score/sources.ts';
import { openStore } from '../src/state/open-store.ts';
import { LocalVelocity } from '../src/velocity/local-velocity.ts';
import { createVelocityMemory } from '../src/velocity/memory.ts';
import { SimulatedVelocity } from '../src/velocity/simulated-velocity.ts';
import { SIMULATION_VELOCITY_BYTES } from '../src/kernel/limits.ts';

/**
 * A score worker: opens the data that scoring reads, then scores batch buffers until the queue is stopped. The work itself is in
 * `src/score`.
 */

/** Choice: room for the subjects of the warm-up, some hundred. */
const WARM_UP_VELOCITY_BYTES = 1_048_576;

const data = workerData as ScoreWorkerData;

const opened = openStore({ dataDir: data.dataDir, readOnly: true });
if (opened.kind === 'fault') throw new Error(opened.detail);
const { store } = opened;
const layers = await openWorkerAssets(data.layers, threadId);
const policies = openWorkerPolicies(data.policies);
const velocity = new LocalVelocity(data.velocity);
const worker = createSources(store, layers.geo);
const engine = new Engine({
  sources: worker.sources,
  model: layers.model,
  policies,
  velocity,
  keys: data.keys,
  warmUpVelocity: new LocalVelocity(createVelocityMemory(WARM_UP_VELOCITY_BYTES, data.velocity.hashKey)),
  simulatedVelocity: new SimulatedVelocity(data.velocity, SIMULATION_VELOCITY_BYTES),
  isDegraded: () => layers.degraded(),
  takeStoreFailure: () => worker.takeStoreFailure(),
  onMemoryFailed: warnOnce,
});
const frames = data.frames.map((frame) => ({ requests: new BatchReader(frame), answers: new AnswerWriter(frame) }));

let warned = false;
/** Warns once, on standard error (the log is written to standard output). The affected responses report `degraded`. */
function warnOnce(error: unknown): void {
  if (!warned) process.emitWarning(error instanceof Error ? error : String(error), 'MemoryWarning');
  warned = true;
}

async function score(task: ScoreTask): Promise<void> {
  const frame = frames[task.frame];
  if (frame === undefined) throw new Error(`there is no batch buffer ${task.frame}`);
  worker.begin();
  await engine.scoreBatch(frame.requests, frame.answers, task.from, task.count);
}

export default async function post(given: ScorePost): Promise<void> {
  await serveBatches(given, threadId, score);
  policies.close();
  await layers.close();
  await store.close();
}
