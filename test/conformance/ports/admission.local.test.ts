import { LocalAdmission } from '../../../src/local/local-admission.ts';
import { ReplayGuard } from '../../../src/local/replay-guard.ts';
import type { AdmittedId } from '../../../src/ports/admission.ts';
import { type AdmissionSubject, describeAdmission } from './admission.ts';

/** Number of `sweep` calls that cover the whole table. */
const WHOLE_SWEEP = 1_024;

/** `journalled` is what a journal on the disk would give back. */
function open(idsMax: number, journalled: readonly AdmittedId[] = []): AdmissionSubject {
  const ids = new ReplayGuard(idsMax, Buffer.alloc(16, 7));
  for (const id of journalled) ids.restore(id);
  const written = [...journalled];
  let staged: AdmittedId[] = [];
  return {
    admission: new LocalAdmission(ids, { stage: (id) => void staged.push(id) }),
    advanceTo(nowSeconds) {
      for (let n = 0; n < WHOLE_SWEEP; n++) ids.sweep(nowSeconds);
    },
    commit() {
      written.push(...staged);
      staged = [];
    },
    restart: () => open(idsMax, written),
  };
}

describeAdmission('the memory of one node', (idsMax) => open(idsMax));
