import { threadId, workerData } from 'node:worker_threads';
import { AnswerWriter, FrameReader } from '../src/pools/frame.ts';
import type { ScorePost, ScoreTask, ScoreWorkerData } from '../src/pools/messages.ts';
import { serveFrames } from '../src/pools/score-loop.ts';
import { Engine } from '../src/score/engine.ts';
import { openWorkerLayers } from '../src/score/layers.ts';
import { openWorkerPolicies } from '../src/score/policies.ts';
import { createSources } from '../src/score/sources.ts';
import { openStore } from '../src/store/open-store.ts';
import { LocalVelocity } from '../src/velocity/local-velocity.ts';
import { createVelocityMemory } from '../src/velocity/memory.ts';

/** A score worker: opens what scoring reads, then scores frames until the end. The work itself is in `src/score`. */

/** Choice: room for the subjects of the warm-up, which are some hundred. */
const WARM_UP_VELOCITY_BYTES = 1_048_576;

const data = workerData as ScoreWorkerData;

const opened = openStore({ dataDir: data.dataDir, readOnly: true });
if (opened.kind === 'fault') throw new Error(opened.detail);
const { store } = opened;
const layers = await openWorkerLayers(data.layers, threadId);
const policies = openWorkerPolicies(data.policies);
const velocity = new LocalVelocity(data.velocity);
const worker = createSources(store, layers.geo);
const engine = new Engine({
  sources: worker.sources,
  model: layers.model,
  policies,
  velocity,
  warmUpVelocity: new LocalVelocity(createVelocityMemory(WARM_UP_VELOCITY_BYTES, data.velocity.hashKey)),
  isDegraded: () => layers.degraded(),
  takeStoreFailure: () => worker.takeStoreFailure(),
  onMemoryFailed: warnOnce,
});
const frames = data.frames.map((frame) => ({ requests: new FrameReader(frame), answers: new AnswerWriter(frame) }));

let warned = false;
/** To standard error, where the process' log goes too; the answers themselves say that they are degraded. */
function warnOnce(error: unknown): void {
  if (!warned) process.emitWarning(error instanceof Error ? error : String(error), 'MemoryWarning');
  warned = true;
}

async function score(task: ScoreTask): Promise<void> {
  const frame = frames[task.frame];
  if (frame === undefined) throw new Error(`there is no frame ${task.frame}`);
  worker.begin();
  await engine.scoreBatch(frame.requests, frame.answers, task.from, task.count);
}

export default async function post(given: ScorePost): Promise<void> {
  await serveFrames(given, threadId, score);
  policies.close();
  await layers.close();
  await store.close();
}
