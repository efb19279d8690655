import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { formatClock, formatCompact } from '../format.ts';
import { theme } from '../theme.ts';
import type { ChartData, ChartSeries } from './chart-series.ts';

/** The only file that knows uPlot: it draws the values of a `Chart` on a canvas. */

export interface PlotProps extends ChartData {
  readonly height: number;
  /** Index of the period under the cursor; null: none. */
  readonly cursor: number | null;
  readonly onCursor: (index: number | null) => void;
  readonly onZoom: ((from: number, to: number) => void) | undefined;
}

const MINIMUM_DRAG_PX = 8;
/** Choice: longer ranges of time have dates below them instead of the clock. */
const CLOCK_SECONDS_MAX = 2 * 86_400;

/** Returns the series as uPlot draws them: sums from the bottom, the highest first, so that lower ones cover it. */
function toData(times: readonly number[], series: readonly ChartSeries[]): uPlot.AlignedData {
  const sums = times.map(() => 0);
  const stacked = series.map(({ values }) => values.map((value, n) => (sums[n] = (sums[n] ?? 0) + (value ?? 0))));
  return [[...times], ...stacked.map((values) => [...values]).reverse()] as uPlot.AlignedData;
}

/** Reads colours from the style sheet: a canvas has no classes. */
function colourOf(host: Element, className: string): string {
  const probe = document.createElement('span');
  probe.className = `${className} colour-probe`;
  host.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

export function PlotCanvas(props: PlotProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const { times, series, height, cursor } = props;
  const names = series.map(({ name, class: className }) => `${name}/${className}`).join(',');
  const themeNow = theme.value;

  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const draw = (): void => {
      plot.current?.destroy();
      const { width } = element.getBoundingClientRect();
      if (width === 0) return;
      const { times, series } = latest.current;
      plot.current = new uPlot(optionsOf(element, latest, Math.floor(width)), toData(times, series), element);
    };
    draw();
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry?.contentRect.width ?? 0);
      if (width === 0) return;
      if (plot.current === null) draw();
      else if (plot.current.width !== width) plot.current.setSize({ width, height: latest.current.height });
    });
    observer.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => {
      observer.disconnect();
      scheme.removeEventListener('change', draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [names, height, themeNow]);

  useEffect(() => {
    plot.current?.setData(toData(times, series));
  }, [times, series]);

  useEffect(() => {
    const current = plot.current;
    if (current === null || periodAtCursor(current, latest.current) === cursor) return;
    const time = cursor === null ? undefined : times[cursor];
    const middle = latest.current.seconds / 2;
    current.setCursor({ left: time === undefined ? -10 : current.valToPos(time + middle, 'x'), top: 0 }, false);
  }, [cursor]);

  return <div class="plot" ref={host} aria-hidden="true" />;
}

/** Returns the index of the period under the cursor; uPlot's own is that of the nearest beginning. */
function periodAtCursor(plot: uPlot, { times, seconds }: PlotProps): number | null {
  const { left = -1 } = plot.cursor;
  if (left < 0) return null;
  const at = Math.floor((plot.posToVal(left, 'x') - (times[0] ?? 0)) / seconds);
  return Math.min(times.length - 1, Math.max(0, at));
}

/** Props of the newest rendering: uPlot's callbacks outlive one. */
interface LatestProps {
  readonly current: PlotProps;
}

function optionsOf(host: Element, latest: LatestProps, width: number): uPlot.Options {
  const { times, series, height, onZoom } = latest.current;
  const bars = uPlot.paths.bars?.({ size: [0.82, 28], align: 1 });
  const ordered = [...series].reverse();
  const isLong = (times.at(-1) ?? 0) - (times[0] ?? 0) > CLOCK_SECONDS_MAX;
  return {
    width,
    height,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: onZoom !== undefined, y: false, dist: MINIMUM_DRAG_PX, setScale: false },
    },
    scales: {
      // The columns of a period begin at its time: without the period's length the newest one would lie outside.
      x: {
        range: () => {
          const { times, seconds } = latest.current;
          return [times[0] ?? 0, (times.at(-1) ?? 0) + seconds];
        },
      },
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.06 : 1] },
    },
    series: [
      {},
      ...ordered.map(({ class: className }): uPlot.Series => {
        const colour = colourOf(host, className);
        return { points: { show: false }, fill: colour, width: 0, ...(bars !== undefined && { paths: bars }) };
      }),
    ],
    axes: axesOf(host, isLong),
    hooks: hooksOf(latest),
  };
}

/** Returns the axes of time and counts. `isLong`: time is shown as dates, without the clock. */
function axesOf(host: Element, isLong: boolean): uPlot.Axis[] {
  const line = colourOf(host, 'c-line');
  const text = { stroke: colourOf(host, 'c-muted'), font: `11px ${getComputedStyle(host).fontFamily}` };
  const timeText = (at: number): string =>
    isLong
      ? new Date(at * 1_000).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
      : formatClock(at, true);
  return [
    {
      ...text,
      grid: { show: false },
      ticks: { stroke: line, width: 1, size: 4 },
      space: 72,
      size: 30,
      values: (_plot, splits) => splits.map(timeText),
    },
    {
      ...text,
      size: 46,
      grid: { stroke: line, width: 1 },
      ticks: { show: false },
      // Counts are whole numbers.
      values: (_plot, splits) => splits.map((value) => (Number.isInteger(value) ? formatCompact(value) : '')),
    },
  ];
}

/** Reports the period under the cursor, and the range that was dragged. */
function hooksOf(latest: LatestProps): uPlot.Hooks.Arrays {
  return {
    setCursor: [
      (plot) => {
        const index = periodAtCursor(plot, latest.current);
        if (index !== latest.current.cursor) latest.current.onCursor(index);
      },
    ],
    setSelect: [
      (plot) => {
        const { left, width } = plot.select;
        if (width < MINIMUM_DRAG_PX) return;
        const from = plot.posToVal(left, 'x');
        const to = plot.posToVal(left + width, 'x');
        plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        latest.current.onZoom?.(from, to);
      },
    ],
  };
}
