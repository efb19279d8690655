import { type Eraser, eraseInParts } from '../erasing.ts';

/** Entries of the audit log about list entries of the person. The entry stays, without what it is about. */
export const eraseAuditTargets: Eraser = async ({ store, customer, isMarked, isShared, slices, eraseRows }) => {
  if (!isShared) return { erased: 0 };
  const keys: Buffer[] = [];
  await store.audit.eachTarget(customer, slices, (key, target) => {
    if (isMarked('list', target)) keys.push(key);
  });
  return { erased: await eraseInParts(keys, slices, (audit) => eraseRows({ audit })) };
};
