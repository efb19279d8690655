export interface ChartSeries {
  readonly name: string;
  /** A class that sets `--c`: of a decision (`DECISION_CLASSES`), or `c-1` to `c-4`. */
  readonly class: string;
  /** One for each time; null: nothing was measured. */
  readonly values: readonly (number | null)[];
}

export interface ChartData {
  /** Unix seconds, ascending, at equal distances. */
  readonly times: readonly number[];
  /** Length of a period: the last one ends this long after its time. */
  readonly seconds: number;
  readonly series: readonly ChartSeries[];
}
