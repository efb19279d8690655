/** What all benches of webhooks are told, and how they print. */
export interface BenchOptions {
  /** Of a phase. */
  readonly seconds: number;
  readonly rounds: number;
  readonly endpoints: number;
  /** Deliveries a second that are begun in all. */
  readonly rate: number;
  /** In the backlog. */
  readonly deliveries: number;
  /** For data directories; removed in the end. */
  readonly folder: string;
  /** For the server, for example --cpu-prof. */
  readonly nodeFlags: readonly string[];
}

export function print(name: string, ...figures: readonly string[]): void {
  console.log([name.padEnd(22), ...figures.map((text) => text.padStart(10))].join(' '));
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
