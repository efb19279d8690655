import type { ErasedRows } from '../state/feed/changes.ts';
import type { Erasure } from '../state/tables/erasure-table.ts';
import type { Slices } from '../state/tables/turns.ts';
import type { FoundPerson } from './find-person.ts';

/** What an eraser works on. */
export interface Erasing extends FoundPerson {
  readonly erasure: Erasure;
  /** Whether this node erases in the tables that all nodes share. */
  readonly isShared: boolean;
  /** Erases rows of `state`, on all nodes; returns how many there were. Throws if that fails. */
  readonly eraseRows: (rows: Partial<ErasedRows>) => Promise<number>;
}

/** What an eraser found. */
export interface Found {
  readonly erased: number;
  /** Rows about the person that stay. */
  readonly kept?: number;
}

/** Erases a person in one place. Throws if it cannot; it is then repeated, so it must do no harm twice. */
export type Eraser = (erasing: Erasing) => Promise<Found>;

/** Returns the erased rows, or throws the fault of a write. */
export function writtenValue<T>(
  written: { readonly kind: 'ok'; readonly value: T } | { readonly kind: 'fault'; readonly detail: string },
): T {
  if (written.kind === 'fault') throw new Error(written.detail);
  return written.value;
}

/** Choice: rows of one change; each takes some 6 µs of the main thread. */
const ROWS_AT_ONCE = 100;

/** Erases rows of one kind in changes of a bounded size, each in a slice; returns how many there were. */
export async function eraseInParts<T>(
  rows: readonly T[],
  slices: Slices,
  erase: (part: readonly T[]) => Promise<number>,
  rowsAtOnce = ROWS_AT_ONCE,
): Promise<number> {
  let erased = 0;
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    await slices.begin();
    erased += await erase(rows.slice(at, at + rowsAtOnce));
  }
  return erased;
}
