/** Counters of extraction since the start, for the metrics. */
export class ExtractionCounts {
  /** By connector. */
  readonly pages = new Map<string, number>();
  readonly records = new Map<string, number>();
  readonly errors = new Map<string, number>();
  /** Bytes of bodies on the wire. */
  readonly bytes = new Map<string, number>();
  /** Ended jobs by connector and result: `succeeded`, or the failure reason. */
  readonly ends: { readonly labels: readonly [connector: string, result: string]; count: number }[] = [];
  workersLost = 0;
  /** Jobs of other nodes that are continued here. */
  takenOver = 0;

  count(what: 'pages' | 'records' | 'errors' | 'bytes', connector: string, by: number): void {
    this[what].set(connector, (this[what].get(connector) ?? 0) + by);
  }

  ended(connector: string, how: string): void {
    const known = this.ends.find(({ labels }) => labels[0] === connector && labels[1] === how);
    if (known === undefined) this.ends.push({ labels: [connector, how], count: 1 });
    else known.count++;
  }
}
