import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../kernel/brand.ts';
import { tally } from '../kernel/tally.ts';
import { Counters } from './counters.ts';
import { isPending, pendingKeyOf } from './deliveries/row.ts';
import { committed, durably, type StoreWrite } from './durable.ts';
import { openEnvironment, table } from './environment.ts';
import { RowCounters } from './row-counters.ts';
import { COUNTERS, TALLIES } from './table-names.ts';
import { sumFits, u32Key, withSum } from './value.ts';

/**
 * Moves deliveries from `state`, where they were up to its version 2, to their own environment: copies them, and then drops the tables in
 * the transaction that raises the version of `state`. A start that is killed in between copies again; rows that are there stay.
 */

/** Choice: rows and bytes per transaction. A body has up to 1 MiB, so rows alone would not bound the memory. */
const ROWS_MAX = 1_000;
const BYTES_MAX = 8_388_608;

type Rows = readonly { readonly key: Buffer; readonly value: Buffer }[];

/** Resolves when all rows are on the disk. Throws if the store refuses them. A row whose check sum is wrong is left behind. */
export async function copyDeliveries(state: RootDatabase<Buffer, Buffer>, dataDir: string): Promise<void> {
  const root = openEnvironment(dataDir, 'deliveries', false);
  try {
    const old = table(state, 'deliveries');
    const copy = copierTo(root);
    let rows: Rows = [];
    do {
      rows = nextRows(old, rows.at(-1)?.key ?? null);
      valueOf(await committed(root, () => copy(rows)));
    } while (rows.length > 0);
    const counters = new Counters(table(root, 'deliveries-meta'));
    const stored = new Counters(table(state, 'meta')).get('dueStored');
    const flushed = durably(root, () => {
      const rise = stored - counters.get('dueStored');
      if (rise > 0) counters.rise('dueStored', rise);
    });
    valueOf(await flushed);
  } finally {
    await root.close();
  }
}

/** Must be called inside a write transaction of `state`. */
export function dropDeliveries(state: RootDatabase<Buffer, Buffer>): void {
  table(state, 'deliveries').dropSync();
  table(state, 'deliveries-pending').dropSync();
  const tallies = table(state, 'tallies');
  const [start, end] = [Buffer.from([TALLIES.deliveries]), Buffer.from([TALLIES.deliveries + 1])];
  const counted = Array.from(tallies.getKeys({ start, end }), (key) => Buffer.from(key));
  for (const key of counted) void tallies.remove(key);
  void table(state, 'meta').remove(Buffer.from([COUNTERS.dueStored]));
}

function copierTo(root: RootDatabase<Buffer, Buffer>): (rows: Rows) => void {
  const [target, index] = [table(root, 'deliveries'), table(root, 'deliveries-pending')];
  const rowCounters = new RowCounters(table(root, 'deliveries-tallies'));
  return (rows) => {
    const ended = new Map<CustomerNumber, number>();
    for (const { key, value } of rows) {
      if (!sumFits(key, value) || target.doesExist(key)) continue;
      void target.put(key, value);
      const customer = key.readUInt32BE(0) as CustomerNumber;
      if (isPending(value)) {
        const place = pendingKeyOf(key, value);
        void index.put(place, withSum(place, u32Key(customer)));
      } else tally(ended, customer, 1);
    }
    for (const [customer, count] of ended) rowCounters.add('deliveries', customer, count);
  };
}

function nextRows(from: Database<Buffer, Buffer>, after: Buffer | null): Rows {
  const rows: { key: Buffer; value: Buffer }[] = [];
  let bytes = 0;
  for (const { key, value } of from.getRange(after === null ? {} : { start: after, exclusiveStart: true })) {
    rows.push({ key: Buffer.from(key), value: Buffer.from(value) });
    bytes += value.length;
    if (rows.length === ROWS_MAX || bytes >= BYTES_MAX) break;
  }
  return rows;
}

function valueOf<T>(written: StoreWrite<T>): T {
  if (written.kind === 'fault') throw new Error(written.detail);
  return written.value;
}
