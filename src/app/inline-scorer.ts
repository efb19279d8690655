import type { ScoreTask, ScoreWorkerData } from '../frames/score-messages.ts';
import type { ScorePool } from '../frames/score-pool.ts';
import { WITHOUT_MODEL } from '../score/model.ts';
import { openOwnLane } from './own-lane.ts';

/** Choice: handing over takes a fifth of a decision, so beyond four the second thread gains more than it costs. */
const INLINE_REQUESTS_MAX = 4;
/** Choice: ten usual bodies. A larger one takes longer to read, and the main thread would serve no other request meanwhile. */
const INLINE_BODY_BYTES_MAX = 4_096;
/** Choice: five turns of a busy worker. While there is work for it, two threads decide more than one. */
const WORKERS_QUIET_MS = 5;

/**
 * Lets the main thread score small batches itself while the workers sleep: at low load, waking a worker and the main thread again
 * costs a fifth of a decision. At most `INLINE_REQUESTS_MAX` bodies of at most `INLINE_BODY_BYTES_MAX` bytes; all others go to `pool`. So
 * do simulations, and everything while there is a model, because a run of it would stop the main thread.
 *
 * A batch is scored within the call of `run` and the microtasks after it: a later batch counts in the velocity store after it. A batch that
 * throws is rejected like that of a worker.
 *
 * Not for a node of a cluster: its velocity store answers after a round trip, during which a worker scores other batches.
 * Measured: docs/performance.md, "Small batches".
 */
export async function scoreSmallBatches(
  pool: ScorePool,
  data: Omit<ScoreWorkerData, 'frames' | 'exchange'>,
): Promise<ScorePool> {
  const { layers: set, policies } = data;
  // Both are cleared when they were read, so these are copies of what the main thread keeps for workers that start later.
  const copies = { ...data, layers: { ...set, geo: { ...set.geo } }, policies: { ...policies } };
  const lane = await openOwnLane(copies, pool.frames, () => Promise.resolve(WITHOUT_MODEL));
  const { simulationBatches = 0, warmUpBatches = 0 } = pool;
  const warmUpFrom = pool.frames.length - warmUpBatches;
  const simulationsFrom = warmUpFrom - simulationBatches;
  let isScoring = false;
  let handedOverMs = Number.NEGATIVE_INFINITY;
  let batches = 0;

  function isInline({ frame, from, count }: ScoreTask): boolean {
    if (isScoring || count > INLINE_REQUESTS_MAX || pool.isIdle?.() !== true) return false;
    if (set.model.kind !== 'absent' || set.challenger.kind !== 'absent') return false;
    if (frame >= simulationsFrom && frame < warmUpFrom) return false;
    if (performance.now() - handedOverMs < WORKERS_QUIET_MS) return false;
    const requests = lane.sides[frame]?.requests;
    for (let at = from; at < from + count; at++) {
      if ((requests?.bodyBytes(at) ?? Infinity) > INLINE_BODY_BYTES_MAX) return false;
    }
    return true;
  }

  async function scoreInline(task: ScoreTask): Promise<void> {
    isScoring = true;
    batches++;
    try {
      await lane.score(task);
    } finally {
      isScoring = false;
    }
  }

  return {
    ...pool,
    inlineBatches: () => batches,
    run(task) {
      if (isInline(task)) return scoreInline(task);
      handedOverMs = performance.now();
      return pool.run(task);
    },
    async close() {
      await pool.close();
      await lane.close();
    },
  };
}
