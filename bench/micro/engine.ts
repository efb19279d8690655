import type { Velocity } from '../../src/ports/velocity.ts';
import { DEFAULT_POLICY_SET } from '../../src/risk/policy/policy-set.ts';
import { BATCH_REQUESTS_MAX } from '../../src/kernel/limits.ts';
import {
  ANSWER_DEGRADED,
  ANSWER_STORE_FAILED,
  AnswerReader,
  AnswerWriter,
  createBatchBuffer,
  BatchReader,
  BatchWriter,
} from '../../src/frames/batch-buffer.ts';
import { Engine } from '../../src/score/engine.ts';
import { createGeoIp } from '../../src/score/geoip.ts';
import { createSources } from '../../src/score/sources.ts';
import { LocalVelocity } from '../../src/velocity/local-velocity.ts';
import { createVelocityMemory, touchPages } from '../../src/velocity/memory.ts';
import { CUSTOMER, makeStore, NOW_SECONDS, trafficBodies } from './fixtures.ts';
import { loadPackages } from './geo.ts';
import { Ring, type Stage } from './stage.ts';

const SIZES = [16, 32, 64];
const FAILED = ANSWER_DEGRADED | ANSWER_STORE_FAILED;
/** Speed of the traffic's virtual clock. */
const REQUESTS_PER_MS = 20;
/** The default size of the service. */
const VELOCITY_BYTES = 256 * 1_048_576;

/**
 * Measures a worker's complete processing of a batch without the message hop to it: real store, installed databases, no model. Operations
 * are requests. A size that exceeds one batch buffer is scored as several batches.
 */
export const engine: Stage = {
  name: 'engine',
  async add(tasks, { smoke }) {
    const memory = createVelocityMemory(VELOCITY_BYTES, Buffer.alloc(16, 7));
    await touchPages(memory, () => true);
    const { scorer, begin, close } = await openEngine(smoke ? 1_000 : 100_000, new LocalVelocity(memory));
    const bodies = new Ring(trafficBodies(smoke ? 256 : 65_536));
    let next = 0;
    for (const size of SIZES) {
      const frames = framesFor(size);
      const fill = (): void => {
        for (const { writer, count } of frames) {
          writer.reset();
          for (let i = 0; i < count; i++)
            writer.add(bodies.at(next), CUSTOMER, 0, NOW_SECONDS * 1000 + next++ / REQUESTS_PER_MS);
        }
      };
      tasks.addAsync(frames.length === 1 ? `batch of ${size}` : `${size} in ${frames.length} batches`, {
        perSample: size,
        prepare: fill,
        async run() {
          for (const { reader, answers, count } of frames) {
            begin();
            await scorer.scoreBatch(reader, answers, 0, count);
          }
          return frames;
        },
        isSane: (scored) => scored.every(isAnswered),
      });
    }
    return { close };
  },
};

export interface OpenEngine {
  readonly scorer: Engine;
  /** Must be called before each batch. */
  readonly begin: () => void;
  readonly close: () => Promise<void>;
}

/** Opens an engine over a temporary store with `entries` entries, with the installed databases and without a model. */
export async function openEngine(entries: number, velocity: Velocity): Promise<OpenEngine> {
  const { store, close } = await makeStore(entries);
  const worker = createSources(store, createGeoIp(await loadPackages()));
  const scorer = new Engine({
    sources: worker.sources,
    model: { current: () => null },
    policies: { current: () => DEFAULT_POLICY_SET },
    velocity,
    keys: {
      links: Buffer.alloc(32, 7),
      requests: Buffer.alloc(32, 7),
      grants: Buffer.alloc(32, 7),
      lists: Buffer.alloc(32, 7),
    },
    warmUpVelocity: velocity,
    simulatedVelocity: velocity,
    onMemoryFailed: () => {},
    isDegraded: () => false,
    takeStoreFailure: () => worker.takeStoreFailure(),
  });
  return { scorer, begin: () => worker.begin(), close };
}

export interface BatchFrame {
  readonly count: number;
  readonly writer: BatchWriter;
  readonly reader: BatchReader;
  readonly answers: AnswerWriter;
  readonly answered: AnswerReader;
}

export function framesFor(size: number): readonly BatchFrame[] {
  const frames: BatchFrame[] = [];
  for (let left = size; left > 0; left -= BATCH_REQUESTS_MAX) {
    const shared = createBatchBuffer();
    frames.push({
      count: Math.min(left, BATCH_REQUESTS_MAX),
      writer: new BatchWriter(shared),
      reader: new BatchReader(shared),
      answers: new AnswerWriter(shared),
      answered: new AnswerReader(shared),
    });
  }
  return frames;
}

export function isAnswered({ answered, count }: BatchFrame): boolean {
  for (let at = 0; at < count; at++) {
    if (answered.status(at) !== 200 || (answered.flags(at) & FAILED) !== 0) return false;
    if (!answered.text(at).startsWith('{"request_id":"req_')) return false;
  }
  return true;
}
