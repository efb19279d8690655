import type { PackWriter } from '../../kernel/pack-writer.ts';
import { COUNTER_KINDS, COUNTER_WINDOWS, type EventCounter, NO_COUNTERS } from '../../risk/history.ts';
import { type Fields, itemOf, numberAt, readText, writeText } from './event-fields.ts';

/** The counters of a customer's own in the events that nodes exchange. */

/** Everything of a counter but its texts. */
export const COUNTER_FIXED_BYTES = 40;
const FIELDS = 4;
const KIND_SHIFT = 3;
const WINDOW_MASK = 7;

/** Another node only counts them: it does not need those that are only read. */
export function writeCounters(writer: PackWriter, counters: readonly EventCounter[]): void {
  writer.array(counters.length);
  for (const { id, kind, window, subject, member, value } of counters) {
    writer.array(FIELDS);
    writer.compact(id);
    writer.small((COUNTER_KINDS.indexOf(kind) << KIND_SHIFT) | COUNTER_WINDOWS.indexOf(window));
    writeText(writer, subject);
    if (kind === 'sum') writer.compact(value);
    else writeText(writer, member);
  }
}

export function countersOf(value: unknown): readonly EventCounter[] {
  if (!Array.isArray(value)) return NO_COUNTERS;
  return value.map((one): EventCounter => {
    const fields = one as Fields;
    const shape = numberAt(fields, 1);
    const kind = itemOf(COUNTER_KINDS, shape >> KIND_SHIFT);
    return {
      id: numberAt(fields, 0),
      kind,
      window: itemOf(COUNTER_WINDOWS, shape & WINDOW_MASK),
      subject: readText(fields[2]),
      counts: true,
      member: kind === 'sum' ? '' : readText(fields[3]),
      value: kind === 'sum' ? numberAt(fields, 3) : 0,
    };
  });
}
