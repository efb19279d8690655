/** Wall time and processor time of an operation that yields, ms: the wall time alone depends on what else the machine does. */
export class Spent {
  readonly #wallMs: number[] = [];
  readonly #processorMs: number[] = [];

  async measure<T>(run: () => Promise<T>): Promise<T> {
    const usedBefore = process.cpuUsage();
    const startedAtMs = performance.now();
    const result = await run();
    const used = process.cpuUsage(usedBefore);
    this.#wallMs.push(performance.now() - startedAtMs);
    this.#processorMs.push((used.user + used.system) / 1_000);
    return result;
  }

  toString(): string {
    return `${spread(this.#wallMs, 'wall')}; ${spread(this.#processorMs, 'processor time')}`;
  }
}

function spread(values: readonly number[], name: string): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(2);
  return `${name} median ${at(0.5)}, p99 ${at(0.99)} of ${sorted.length}`;
}
