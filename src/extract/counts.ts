/** What extraction counts, for the metrics, since the start. */
export class ExtractionCounts {
  /** By connector. */
  readonly pages = new Map<string, number>();
  readonly records = new Map<string, number>();
  readonly errors = new Map<string, number>();
  /** Of bodies, over the wire. */
  readonly bytes = new Map<string, number>();
  /** Of jobs: by connector, and by how they ended: `succeeded`, or the reason of the failure. */
  readonly ends: { readonly labels: readonly [connector: string, result: string]; count: number }[] = [];
  workersLost = 0;

  count(what: 'pages' | 'records' | 'errors' | 'bytes', connector: string, by: number): void {
    this[what].set(connector, (this[what].get(connector) ?? 0) + by);
  }

  ended(connector: string, how: string): void {
    const known = this.ends.find(({ labels }) => labels[0] === connector && labels[1] === how);
    if (known === undefined) this.ends.push({ labels: [connector, how], count: 1 });
    else known.count++;
  }
}
