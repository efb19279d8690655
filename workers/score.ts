import { threadId, workerData } from 'node:worker_threads';
import { EncryptedValues } from '../src/cluster/store/encrypted-values.ts';
import { openLink } from '../src/cluster/store/redis-link.ts';
import { ClusterVelocity } from '../src/cluster/velocity/cluster-velocity.ts';
import { VelocityExchange } from '../src/cluster/velocity/velocity-exchange.ts';
import { isVelocityDegraded } from '../src/cluster/velocity/velocity-state.ts';
import type { ScorePost, ScoreWorkerData } from '../src/frames/score-messages.ts';
import { type Score, serveBatches } from '../src/frames/score-loop.ts';
import { openWorkerAssets, type WorkerAssets } from '../src/score/asset-slots.ts';
import { openLane, openSides, WARM_UP_VELOCITY_BYTES } from '../src/score/lane.ts';
import { openWorkerPolicies } from '../src/score/policies.ts';
import { openStore } from '../src/state/feed/open-store.ts';
import { LocalVelocity } from '../src/velocity/local-velocity.ts';
import { createVelocityMemory, type ExchangeSeed } from '../src/velocity/memory.ts';
import { SimulatedVelocity } from '../src/velocity/simulated-velocity.ts';
import { StreamMarks } from '../src/velocity/stream-marks.ts';
import { SIMULATION_VELOCITY_BYTES } from '../src/kernel/limits.ts';

/**
 * A score worker: opens the data that scoring reads, then scores batch buffers until the queue is stopped. The work itself is in
 * `src/score`.
 */

/** Choice: as many batches as a worker may have in flight. */
const LANES_OF_CLUSTER = 2;

const data = workerData as ScoreWorkerData;

const opened = openStore({ dataDir: data.dataDir, readOnly: true });
if (opened.kind === 'fault') throw new Error(opened.detail);
const { store } = opened;
// Awaited by the task: a program of the bundle is a CommonJS file, which cannot wait at its top level.
const opening = openWorkerAssets(data.layers, threadId);
const policies = openWorkerPolicies(data.policies);
const shared = data.exchange === null ? null : openShared(data.exchange);
const sides = openSides(data.frames);

interface SharedVelocity {
  readonly exchange: VelocityExchange;
  isDegraded(): boolean;
  close(): Promise<void>;
}

/** The exchange of events with other nodes, over a link of this worker. */
function openShared({ address, valuesKey }: ExchangeSeed): SharedVelocity {
  const link = openLink(address);
  const marks = new StreamMarks(data.velocity.marks);
  const exchange = new VelocityExchange({ memory: data.velocity, values: new EncryptedValues(valuesKey), link });
  return {
    exchange,
    isDegraded: () => isVelocityDegraded(marks),
    async close() {
      await exchange.flush();
      exchange.close();
      await link.close();
    },
  };
}

function openVelocity(): LocalVelocity | ClusterVelocity {
  const local = new LocalVelocity(data.velocity);
  return shared === null ? local : new ClusterVelocity(data.velocity, local, shared.exchange);
}

/** Everything that belongs to one batch at a time. */
function openOwnLane(layers: WorkerAssets): Score {
  return openLane({
    sides,
    store,
    layers,
    policies,
    keys: data.keys,
    lookUps: data.lookUps,
    velocity: openVelocity(),
    warmUpVelocity: new LocalVelocity(createVelocityMemory(WARM_UP_VELOCITY_BYTES, data.velocity.hashKey)),
    simulatedVelocity: new SimulatedVelocity(data.velocity, SIMULATION_VELOCITY_BYTES),
    isVelocityDegraded: () => shared?.isDegraded() === true,
  });
}

export default async function post(given: ScorePost): Promise<void> {
  const layers = await opening;
  const lanes = Array.from({ length: shared === null ? 1 : LANES_OF_CLUSTER }, () => openOwnLane(layers));
  await serveBatches(given, threadId, lanes);
  await shared?.close();
  policies.close();
  await layers.close();
  await store.close();
}
