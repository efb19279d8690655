import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { formatCount, formatTime } from '../format.ts';
import { now } from '../now.ts';
import type { ChartData } from './chart-series.ts';
import { Button } from './fields.tsx';
import { PlotCanvas } from './plot-canvas.tsx';

/** Choice: rows of the table of a chart; longer ones show the newest. */
const TABLE_ROWS_MAX = 200;

/**
 * A chart over time: a figure with a name and a sentence. Arrow keys move a cursor whose values are read out, "Table" shows the numbers,
 * dragging zooms (and the range picker does the same without dragging).
 */
export function Chart({
  title,
  summary,
  times,
  seconds,
  series,
  height = 200,
  onZoom,
}: ChartData & {
  readonly title: string;
  /** A sentence about the values: "12,400 decisions, 1.8 % blocked, up 0.3". */
  readonly summary: string;
  readonly height?: number;
  readonly onZoom?: (from: number, to: number) => void;
}): JSX.Element {
  const [cursor, setCursor] = useState<number | null>(null);
  const [isTable, setTable] = useState(false);
  const id = useId();
  const at = cursor ?? times.length - 1;
  const time = times[at];
  const values = series.map(({ name, values }) => `${name} ${valueText(values[at])}`).join(', ');
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = indexByKey(event.key, at, times.length - 1);
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    setCursor(to);
  };
  return (
    <figure class="chart" aria-labelledby={`${id}-title`} aria-describedby={`${id}-summary`}>
      <figcaption class="chart-head">
        <span id={`${id}-title`} class="chart-title">
          {title}
        </span>
        <span id={`${id}-summary`} class="chart-summary">
          {summary}
        </span>
        <Button
          kind="quiet"
          small
          icon="table"
          aria-expanded={isTable}
          aria-controls={`${id}-table`}
          onClick={() => setTable(!isTable)}
        >
          Table
        </Button>
      </figcaption>
      <div
        class="chart-plot"
        role="slider"
        tabIndex={0}
        aria-label={`Cursor on ${title}`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={Math.max(0, at)}
        aria-valuetext={time === undefined ? 'No data' : `${formatTime(time, now.peek())}: ${values}`}
        onKeyDown={onKeyDown}
        onBlur={() => setCursor(null)}
      >
        <PlotCanvas
          times={times}
          seconds={seconds}
          series={series}
          height={height}
          cursor={cursor}
          onCursor={setCursor}
          onZoom={onZoom}
        />
      </div>
      <Legend times={times} series={series} cursor={cursor} />
      <div
        id={`${id}-table`}
        class="chart-table"
        hidden={!isTable}
        role="region"
        tabIndex={0}
        aria-label={`Numbers of ${title}`}
      >
        {isTable && <NumberTable title={title} times={times} series={series} />}
      </div>
    </figure>
  );
}

/** Returns the index to which a key moves the cursor, from 0 to `last`; null for other keys. */
function indexByKey(key: string, at: number, last: number): number | null {
  const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[key];
  const to = key === 'Home' ? 0 : key === 'End' ? last : by === undefined ? null : at + by;
  return to === null ? null : Math.min(last, Math.max(0, to));
}

/** Names of the series, with their values at the cursor. */
function Legend({
  times,
  series,
  cursor,
}: Pick<ChartData, 'times' | 'series'> & { readonly cursor: number | null }): JSX.Element {
  const time = cursor === null ? undefined : times[cursor];
  return (
    <ul class="legend" aria-hidden="true">
      {series.map(({ name, class: className, values }) => (
        <li key={name} class={className}>
          <span class="legend-mark" />
          {name}
          {cursor !== null && <span class="legend-value num">{valueText(values[cursor])}</span>}
        </li>
      ))}
      <li class="legend-time num">{time === undefined ? '' : formatTime(time, now.peek())}</li>
    </ul>
  );
}

function NumberTable({
  title,
  times,
  series,
}: Pick<ChartData, 'times' | 'series'> & { readonly title: string }): JSX.Element {
  return (
    <table class="table table-plain">
      <caption class="hidden-text">{title}</caption>
      <thead>
        <tr>
          <th scope="col">Time</th>
          {series.map(({ name }) => (
            <th key={name} scope="col" class="right">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {times
          .map((time, n) => (
            <tr key={time}>
              <th scope="row" class="num">
                {formatTime(time, now.peek())}
              </th>
              {series.map(({ name, values }) => (
                <td key={name} class="right num">
                  {valueText(values[n])}
                </td>
              ))}
            </tr>
          ))
          .slice(-TABLE_ROWS_MAX)
          .reverse()}
      </tbody>
    </table>
  );
}

function valueText(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : formatCount(value);
}
