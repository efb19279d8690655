import { afterAll, afterEach, beforeAll, vi } from 'vitest';
import { ClusterAdmission } from '../../../src/cluster/admission/cluster-admission.ts';
import type { MeasuredLink } from '../../../src/cluster/store/link.ts';
import { openLink } from '../../../src/cluster/store/redis-link.ts';
import { LocalAdmission } from '../../../src/local/local-admission.ts';
import { ReplayGuard } from '../../../src/local/replay-guard.ts';
import type { AdmittedId } from '../../../src/ports/admission.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import { type AdmissionSubject, describeAdmission } from './admission.ts';

/** Number of `sweep` calls that cover the whole table. */
const WHOLE_SWEEP = 1_024;
/** Well beyond a stall of a busy machine: the suite is about verdicts, not about deadlines. */
const DEADLINE_MS = 10_000;
const HASH_KEY = Buffer.alloc(16, 7);

let redis: RedisServer;
let link: MeasuredLink;
const opened: ClusterAdmission[] = [];

beforeAll(async () => {
  redis = await startRedis();
  link = openLink({ urls: [redis.url], user: null, password: null });
  await vi.waitFor(() => {
    if (!link.isUp) throw new Error('not connected');
  }, 20_000);
});

afterEach(async () => {
  for (const admission of opened.splice(0)) {
    // The store has given all verdicts, none was made without it.
    if (admission.counts.alone > 0) throw new Error('the node decided alone');
    await admission.close();
  }
});

afterAll(async () => {
  await link.close();
  await redis.stop();
});

/** `journalled` is what a journal on the disk would give back. */
function openNode(idsMax: number, journalled: readonly AdmittedId[]): AdmissionSubject {
  const ids = new ReplayGuard(idsMax, HASH_KEY);
  for (const id of journalled) ids.restore(id);
  const written = [...journalled];
  let staged: AdmittedId[] = [];
  const local = new LocalAdmission(ids, { stage: (id) => void staged.push(id) });
  const parts = { link, local, hashKey: HASH_KEY, nodeId: 'a', isStrict: false, deadlineMs: DEADLINE_MS };
  const admission = new ClusterAdmission(parts);
  opened.push(admission);
  return {
    admission,
    advanceTo(nowSeconds) {
      for (let n = 0; n < WHOLE_SWEEP; n++) ids.sweep(nowSeconds);
    },
    commit() {
      written.push(...staged);
      staged = [];
    },
    restart: () => openNode(idsMax, written),
  };
}

describeAdmission('a store that several nodes share', async (idsMax) => {
  await link.send([{ key: '', args: ['FLUSHALL'] }], DEADLINE_MS);
  return openNode(idsMax, []);
});
