import type { LoggedDecisionRow } from '../../../../contract/wire-types.ts';

/** Decisions that are alike: the same decision for the same reasons about one network. */
export interface Incident {
  /** The newest one. */
  readonly row: LoggedDecisionRow;
  readonly count: number;
  /** Time of the oldest one, Unix seconds. */
  readonly since: number;
}

/** Groups decisions, newest first, so that one attack of many requests is one row. The order is that of the newest ones. */
export function toIncidents(rows: readonly LoggedDecisionRow[]): Incident[] {
  const found = new Map<string, Incident>();
  for (const row of rows) {
    const { decision, would_be: wouldBe, event_type: event, network, ip, reasons, occurred_at: at } = row;
    const key = JSON.stringify([decision, wouldBe, event, network ?? ip, reasons]);
    const known = found.get(key);
    found.set(
      key,
      known === undefined ? { row, count: 1, since: at } : { ...known, count: known.count + 1, since: at },
    );
  }
  return [...found.values()];
}
