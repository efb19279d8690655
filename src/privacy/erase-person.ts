import type { CustomerNumber } from '../kernel/brand.ts';
import { decrypt, encrypt } from '../kernel/encryption.ts';
import type { Committer, ErasedRows } from '../state/feed/changes.ts';
import type { Erasure, ErasureFinish } from '../state/tables/erasure-table.ts';
import type { PersonPlace } from '../state/tables/table-names.ts';
import { eraseAuditTargets } from './erasers/audit-eraser.ts';
import { eraseDeliveries } from './erasers/delivery-eraser.ts';
import { eraseLearningRows } from './erasers/learning-row-eraser.ts';
import { eraseListEntries } from './erasers/list-eraser.ts';
import { eraseNamedItems } from './erasers/named-list-eraser.ts';
import { eraseNotes } from './erasers/note-eraser.ts';
import { eraseLoggedPerson } from './erasers/request-eraser.ts';
import { eraseHistory } from './erasers/velocity-eraser.ts';
import { type Eraser, type Erasing, writtenValue } from './erasing.ts';
import type { Traces } from './leave-no-trace.ts';
import { type FindParts, findPerson } from './find-person.ts';
import { ERASURES_PURPOSE, type Person } from './person.ts';

/**
 * All places that hold something about a person, with what erases it there. Decisions come last and apart: their rows lose the links by
 * which the others find what is about them.
 */
const ERASERS = {
  velocity: eraseHistory,
  learning_rows: eraseLearningRows,
  requests: eraseLoggedPerson,
  deliveries: eraseDeliveries,
  notes: eraseNotes,
  lists: eraseListEntries,
  named_lists: eraseNamedItems,
  audit: eraseAuditTargets,
} satisfies Readonly<Record<Exclude<PersonPlace, 'decisions' | 'exports'>, Eraser>>;

export interface EraseParts extends FindParts {
  readonly changes: Committer;
  /** Saves the velocity store; a save that has begun may have copied the person. */
  readonly saveHistory: () => Promise<void>;
  /** Exports of people that are kept to be fetched. */
  readonly exports: { forget(customer: CustomerNumber): number };
}

/** Every place that holds people. */
export const PLACES: readonly PersonPlace[] = [
  ...(Object.keys(ERASERS) as (keyof typeof ERASERS)[]),
  'decisions',
  'exports',
];

/**
 * Erases a person on this node, place by place, in slices of the main thread. `isShared`: also in the tables that all nodes share. May be
 * repeated at any time: what a kill interrupted is done by the next call. Throws if a place cannot be written, or if the slices are
 * aborted. The erasure is complete after `completeErasures`.
 */
export async function erasePerson(
  parts: EraseParts,
  {
    customer,
    erasure,
    isShared,
  }: { readonly customer: CustomerNumber; readonly erasure: Erasure; readonly isShared: boolean },
  nowMs: number,
): Promise<ErasureFinish> {
  const { changes, decisions, keyFor } = parts;
  const { subject, marks, requestedAtMs: untilMs } = erasure;
  const sought = { customer, subject, marks, untilMs, person: personOf(erasure, customer, keyFor) };
  const finding = await findPerson(parts, sought, nowMs);
  const erasing: Erasing = {
    ...finding,
    erasure,
    isShared,
    async eraseRows(some) {
      const change = { kind: 'erasure.rows', customer, rows: { ...NO_ROWS, ...some } } as const;
      return writtenValue(await changes.commit(change, { by: 'service', nowMs }));
    },
  };
  const erased: Record<string, number> = {};
  const kept: Record<string, number> = {};
  for (const [place, eraser] of Object.entries<Eraser>(ERASERS)) {
    const found = await eraser(erasing);
    erased[place] = found.erased;
    if ((found.kept ?? 0) > 0) kept[place] = found.kept ?? 0;
  }
  const { rows, slices } = finding;
  erased['decisions'] = rows === null ? 0 : await decisions.erase(customer, rows, slices);
  // Last: an export that is made meanwhile has what was not erased yet.
  erased['exports'] = parts.exports.forget(customer);
  return { atMs: nowMs, erased, kept };
}

/**
 * Completes erasures on this node, all at once: what they removed leaves the files, which takes far longer than to remove it. `noted` are
 * not repeated by the next start. Throws as `erasePerson` does.
 */
export async function completeErasures(
  parts: EraseParts,
  traces: Traces,
  noted: readonly { readonly customer: CustomerNumber; readonly erasure: Erasure }[],
): Promise<void> {
  const { store, slicesOf, saveHistory } = parts;
  // A killed server reads the last snapshot, which would have the person again.
  if (traces.has('velocity')) await saveHistory();
  await traces.remove(store, slicesOf);
  for (const { customer, erasure } of noted) {
    const fault = await store.erased?.note(customer, erasure.id);
    if (fault !== undefined && fault !== null) throw new Error(fault.detail);
  }
}

const NO_ROWS: ErasedRows = { lists: [], namedItems: [], versions: [], notes: [], audit: [] };

/** Encrypts a person for the time of the erasure. */
export function encryptPerson(
  person: Person,
  customer: CustomerNumber,
  id: string,
  keyFor: EraseParts['keyFor'],
): Buffer {
  return encrypt(
    keyFor(`${ERASURES_PURPOSE}/person`),
    Buffer.from(JSON.stringify(person)),
    `erasure/${customer}/${id}`,
  );
}

function personOf({ encrypted, id }: Erasure, customer: CustomerNumber, keyFor: EraseParts['keyFor']): Person | null {
  if (encrypted === null) return null;
  const plain = decrypt(keyFor(`${ERASURES_PURPOSE}/person`), encrypted, `erasure/${customer}/${id}`);
  return plain === null ? null : (JSON.parse(plain.toString()) as Person);
}
