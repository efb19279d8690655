import type { Delivery } from '../work/webhook.ts';
import type { DeliveryUpdate } from '../state/tables/deliveries/row.ts';
import { type ArrivedAttempt, type Result, resultOf } from './attempt-writer.ts';

interface Early {
  readonly results: Result[];
  /** Number of results that the write under way contains; null while no write contains the row. */
  written: number | null;
}

/** Rows that are stored now. */
export interface StoredRows {
  /** Without those that have ended: the worker may still have to get them. */
  readonly open: readonly Delivery[];
  /** Results that the stored rows contain. */
  readonly applied: readonly ArrivedAttempt[];
  /** Results that arrived while the rows were being written; to be stored now. */
  readonly late: readonly Result[];
}

/**
 * Deliveries that were handed out before their rows are in the store. A result that arrives meanwhile is kept here, and the row is then
 * written once, with that result, instead of as pending and a second time when it ends.
 */
export class EarlyDeliveries {
  readonly #byId = new Map<string, Early>();

  /** Call when a row was handed out that is not stored. */
  add(deliveryId: string): void {
    this.#byId.set(deliveryId, { results: [], written: null });
  }

  /**
   * Keeps the result if the delivery's row is not stored yet. Returns `unwritten` if the row will be written with it, `writing` if it must
   * be stored after the row, and `stored` if it is not kept here.
   */
  keep(arrived: ArrivedAttempt): 'unwritten' | 'writing' | 'stored' {
    const early = this.#byId.get(arrived.delivery.id);
    if (early === undefined) return 'stored';
    early.results.push(resultOf(arrived));
    return early.written === null ? 'unwritten' : 'writing';
  }

  /** Call before rows are written; returns them with the results so far. */
  begin(rows: readonly Delivery[]): readonly Delivery[] {
    if (this.#byId.size === 0) return rows;
    return rows.map((row) => {
      const early = this.#byId.get(row.id);
      if (early === undefined) return row;
      early.written = early.results.length;
      return early.results.reduce((latest, { update }) => updated(latest, update), row);
    });
  }

  /** Call when the store refused the rows: the next write contains the results that arrived meanwhile. */
  refused(rows: readonly Delivery[]): void {
    for (const { id } of rows) {
      const early = this.#byId.get(id);
      if (early !== undefined) early.written = null;
    }
  }

  /** Call when the rows are stored, as `begin` returned them. */
  stored(rows: readonly Delivery[]): StoredRows {
    const open: Delivery[] = [];
    const applied: ArrivedAttempt[] = [];
    const late: Result[] = [];
    for (const row of rows) {
      const early = this.#byId.get(row.id);
      if (early === undefined) {
        open.push(row);
        continue;
      }
      this.#byId.delete(row.id);
      const written = early.written ?? 0;
      for (const result of early.results.slice(0, written)) applied.push(result.arrived);
      for (const result of early.results.slice(written)) late.push(result);
      if ((early.results.at(-1)?.update.status ?? 'pending') === 'pending') open.push(row);
    }
    return { open, applied, late };
  }
}

function updated(
  row: Delivery,
  { attempt, status, error, elapsedMs, completedAtMs, nextAttemptAtMs }: DeliveryUpdate,
): Delivery {
  const attempts = attempt === null ? row.attempts : [...row.attempts, attempt];
  return { ...row, status, attempts, error, elapsedMs, completedAtMs, nextAttemptAtMs };
}
