import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { formatCount, formatTime } from '../format.ts';
import { now } from '../now.ts';
import type { ChartSeries } from './chart-series.ts';
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
  hideTitle = false,
}: {
  readonly title: string;
  /** What the chart shows, in a sentence: "12,400 decisions, 1.8 % blocked, up 0.3". */
  readonly summary: string;
  /** Unix seconds, ascending, at equal distances. */
  readonly times: readonly number[];
  /** Length of a period. */
  readonly seconds: number;
  readonly series: readonly ChartSeries[];
  readonly height?: number;
  readonly onZoom?: (from: number, to: number) => void;
  readonly hideTitle?: boolean;
}): JSX.Element {
  const [cursor, setCursor] = useState<number | null>(null);
  const [isTable, setTable] = useState(false);
  const id = useId();
  const at = cursor ?? times.length - 1;
  const time = times[at];
  const read = series.map(({ name, values }) => `${name} ${valueText(values[at])}`).join(', ');
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? times.length - 1 : by === undefined ? null : at + by;
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    setCursor(Math.min(times.length - 1, Math.max(0, to)));
  };
  return (
    <figure class="chart" aria-labelledby={`${id}-title`} aria-describedby={`${id}-summary`}>
      <figcaption class="chart-head">
        <span id={`${id}-title`} class={hideTitle ? 'hidden-text' : 'chart-title'}>
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
        aria-valuetext={time === undefined ? 'No data' : `${formatTime(time, now.peek())}: ${read}`}
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
      <ul class="legend" aria-hidden="true">
        {series.map(({ name, class: className, values }) => (
          <li key={name} class={className}>
            <span class="legend-mark" />
            {name}
            {cursor !== null && <span class="legend-value num">{valueText(values[cursor])}</span>}
          </li>
        ))}
        <li class="legend-time num">{cursor === null || time === undefined ? '' : formatTime(time, now.peek())}</li>
      </ul>
      <div
        id={`${id}-table`}
        class="chart-table"
        hidden={!isTable}
        role="region"
        tabIndex={0}
        aria-label={`Numbers of ${title}`}
      >
        {isTable && (
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
        )}
      </div>
    </figure>
  );
}

function valueText(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : formatCount(value);
}
