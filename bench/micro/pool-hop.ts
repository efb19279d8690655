import { join } from 'node:path';
import { DEFAULT_DOCUMENT } from '../../src/risk/policy/policy-set.ts';
import { openAssets } from '../../src/assets/assets.ts';
import { createVelocityMemory } from '../../src/velocity/memory.ts';
import { openScorePool, type ScorePool } from '../../src/frames/score-pool.ts';
import { makeStore } from './fixtures.ts';
import type { Stage } from './stage.ts';

const ROUND_TRIPS = 16;

/** Round trip to a worker that does no work. Runs only from `dist`, because the worker is a built file. */
export const poolHop: Stage = {
  name: 'pool hop',
  async add(tasks) {
    const { folder, close: removeStore } = await makeStore(1);
    const layers = await openAssets({
      geoipDir: join(folder, 'geoip'),
      modelsDir: join(folder, 'models'),
      pollMs: 0,
      packages: [],
      log: { info: () => {}, warn: () => {} },
    });
    const errors: unknown[] = [];
    const data = {
      dataDir: folder,
      layers: layers.initial(),
      policies: {
        channel: 'gatehouse-bench-policy',
        content: {
          generation: 0,
          document: DEFAULT_DOCUMENT,
          customerNumbers: new Map(),
          rules: new Map(),
          tripped: new Map(),
        },
        posted: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
      },
      exchange: null,
      lookUps: null,
      velocity: createVelocityMemory(1_048_576, Buffer.alloc(16, 7)),
      keys: {
        links: Buffer.alloc(32, 7),
        requests: Buffer.alloc(32, 7),
        grants: Buffer.alloc(32, 7),
        lists: Buffer.alloc(32, 7),
      },
    };
    const pool = await openScorePool(1, data, {
      onError: (error) => errors.push(error),
      onWorkerEnded: () => errors.push('a worker exited'),
    });
    const isSane = (done: number): boolean => done === ROUND_TRIPS && errors.length === 0;
    tasks.addAsync('sequential', {
      perSample: ROUND_TRIPS,
      run: () => goAndCome(pool, 0, ROUND_TRIPS),
      isSane,
    });
    tasks.addAsync('two in flight', {
      perSample: ROUND_TRIPS,
      async run() {
        const [a, b] = await Promise.all([goAndCome(pool, 0, ROUND_TRIPS / 2), goAndCome(pool, 1, ROUND_TRIPS / 2)]);
        return a + b;
      },
      isSane,
    });
    return {
      async close() {
        await pool.close();
        await layers.close();
        await removeStore();
      },
    };
  },
};

/** Only one worker at a time may use a batch buffer, so concurrent calls need different buffers. */
async function goAndCome(pool: ScorePool, frame: number, times: number): Promise<number> {
  let done = 0;
  for (; done < times; done++) await pool.run({ frame, from: 0, count: 0 });
  return done;
}
