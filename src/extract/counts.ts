/** What extraction counts, for the metrics, since the start. */
export class ExtractionCounts {
  /** By connector. */
  readonly pages = new Map<string, number>();
  readonly records = new Map<string, number>();
  readonly errors = new Map<string, number>();
  /** Of bodies, over the wire. */
  readonly bytes = new Map<string, number>();
  /** By how jobs ended: `succeeded`, or the reason of the failure. */
  readonly ends = new Map<string, number>();
  workersLost = 0;

  count(what: 'pages' | 'records' | 'errors' | 'bytes', connector: string, by: number): void {
    this[what].set(connector, (this[what].get(connector) ?? 0) + by);
  }

  ended(how: string): void {
    this.ends.set(how, (this.ends.get(how) ?? 0) + 1);
  }
}
