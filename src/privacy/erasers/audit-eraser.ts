import type { AuditHead } from '../../state/tables/audit-table.ts';
import { type Eraser, eraseInParts } from '../erasing.ts';
import type { FoundPerson } from '../find-person.ts';

/** Passes the entries of the audit log about list entries of the person. */
export async function eachAuditEntryAbout(
  { store, customer, isMarked, slices }: FoundPerson,
  visit: (key: Buffer, entry: AuditHead) => void,
): Promise<void> {
  await store.audit.eachTarget(customer, slices, (key, target, entry) => {
    if (isMarked('list', target)) visit(key, entry);
  });
}

/** The entry stays, without what it is about. */
export const eraseAuditTargets: Eraser = async (erasing) => {
  if (!erasing.isShared) return { erased: 0 };
  const keys: Buffer[] = [];
  await eachAuditEntryAbout(erasing, (key) => keys.push(key));
  return { erased: await eraseInParts(keys, erasing.slices, (audit) => erasing.eraseRows({ audit })) };
};
