import type { JSX } from 'preact';
import { formatCount } from '../format.ts';

/** Small pictures of fewer than 100 numbers. Each has a sentence that says what it shows. */

const WIDTH = 100;
const HEIGHT = 24;

/** A line from the oldest to the newest value. `label`: what the values are; the sentence adds the last and the largest. */
export function Sparkline({
  values,
  label,
  format = formatCount,
}: {
  readonly values: readonly number[];
  readonly label: string;
  readonly format?: (value: number) => string;
}): JSX.Element | null {
  if (values.length < 2) return null;
  const largest = Math.max(...values);
  const scale = largest === 0 ? 0 : (HEIGHT - 3) / largest;
  const step = WIDTH / (values.length - 1);
  const points = values.map((value, n) => `${(n * step).toFixed(2)} ${(HEIGHT - 1.5 - value * scale).toFixed(2)}`);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: ${format(values.at(-1) ?? 0)} now, at most ${format(largest)}`}
    >
      <path class="sparkline-area" d={`M0 ${HEIGHT} L${points.join(' L')} L${WIDTH} ${HEIGHT}Z`} />
      <path class="sparkline-line" d={`M${points.join(' L')}`} />
    </svg>
  );
}

export interface Bar {
  readonly title: string;
  readonly value: number;
  /** A class that sets `--c`, for example of a decision. */
  readonly class?: string;
}

/** Columns side by side, for example scores in 20 buckets. */
export function Bars({
  bars,
  label,
  height = 64,
  isRoot = false,
}: {
  readonly bars: readonly Bar[];
  readonly label: string;
  readonly height?: number;
  /** Heights are square roots, so that small counts can be seen beside large ones. */
  readonly isRoot?: boolean;
}): JSX.Element {
  const largest = Math.max(1, ...bars.map(({ value }) => value));
  const shareOf = (value: number): number => (isRoot ? Math.sqrt(value / largest) : value / largest);
  const width = 100 / Math.max(1, bars.length);
  return (
    <svg class="bars" height={height} viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={label}>
      {bars.map((bar, n) => {
        const tall = bar.value === 0 ? 0 : Math.max(1.5, shareOf(bar.value) * 98);
        return (
          <g key={bar.title} class={bar.class}>
            <title>{`${bar.title}: ${formatCount(bar.value)}`}</title>
            <rect class="bars-track" x={n * width} y="0" width={width} height="100" />
            <rect class="bars-bar" x={n * width + width * 0.1} y={100 - tall} width={width * 0.8} height={tall} />
          </g>
        );
      })}
    </svg>
  );
}
