/** Options and output format of all webhook benches. */
export interface BenchOptions {
  /** Duration of a phase. */
  readonly seconds: number;
  readonly rounds: number;
  readonly endpoints: number;
  /** Deliveries started per second, in total. */
  readonly rate: number;
  /** Number of deliveries in the backlog. */
  readonly deliveries: number;
  /** Parent of the data directories; removed at the end. */
  readonly folder: string;
  /** Nobody reads the figures: phases that only make them steady are left out. */
  readonly isSmoke: boolean;
  /** Passed to the server's Node.js, for example --cpu-prof. */
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
