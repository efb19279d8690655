import { LocalAdmission } from '../../src/local/local-admission.ts';
import { ReplayGuard } from '../../src/local/replay-guard.ts';
import type { AdmissionRequest } from '../../src/ports/admission.ts';
import { BATCH_EAGER_REQUESTS, REPLAY_IDS_DEFAULT, REPLAY_KEEP_SECONDS } from '../../src/kernel/limits.ts';
import { fresh, NOW_SECONDS } from './fixtures.ts';
import type { Stage } from './stage.ts';

const HASH_KEY = Buffer.alloc(16, 7);
const TURNS = 256;
/** Number of `sweep` calls that cover the whole table. */
const WHOLE_SWEEP = 1_024;

/** Rate and request id of the requests of one turn, as `Batcher` admits them. */
export const admission: Stage = {
  name: 'admission',
  add(tasks) {
    for (const size of [1, BATCH_EAGER_REQUESTS]) {
      const ids = new ReplayGuard(REPLAY_IDS_DEFAULT, HASH_KEY);
      const local = new LocalAdmission(ids, { stage: () => {} });
      let nowSeconds = NOW_SECONDS;
      let turns: readonly (readonly AdmissionRequest[])[] = [];
      tasks.add(`admit a turn of ${size}`, {
        perSample: TURNS,
        // All ids of the previous sample have expired.
        prepare() {
          nowSeconds += REPLAY_KEEP_SECONDS;
          for (let n = 0; n < WHOLE_SWEEP; n++) ids.sweep(nowSeconds);
          turns = Array.from({ length: TURNS }, (_turn, at) =>
            Array.from({ length: size }, (_request, n) => requestOf(at * size + n, nowSeconds)),
          );
        },
        run: (n) => local.admit(turns[n % TURNS] ?? []),
        isSane: (verdicts) => verdicts.length === size && verdicts.every(({ outcome }) => outcome === 'admitted'),
      });
    }
    return {};
  },
};

function requestOf(n: number, nowSeconds: number): AdmissionRequest {
  return {
    window: 'decide',
    keyNumber: 1 + (n & 31),
    allowance: 2 ** 31,
    source: null,
    requestId: fresh(`5f0c4a52-1f1f-4b0f-9c8e-${String(n).padStart(12, '0')}`),
    timestampSeconds: nowSeconds,
    nowSeconds,
  };
}
