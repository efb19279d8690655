import { init, type LineSeriesOption } from 'echarts';
import type { PhaseReport } from './report.ts';
import { CURVE_SHARES } from './summary.ts';

/** Percentile curves on the left, p99 over time on the right, one line per target and rate (the median of its rounds). */

const WIDTH = 1_400;
const HEIGHT = 620;
/** Ten colours that people with colour blindness can distinguish (Okabe and Ito, and two greys). */
const COLOURS = [
  '#0072B2',
  '#D55E00',
  '#009E73',
  '#CC79A7',
  '#E69F00',
  '#56B4E9',
  '#F0E442',
  '#000000',
  '#666666',
  '#aaaaaa',
];

export function drawPicture(phases: readonly PhaseReport[], title: string): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height: HEIGHT });
  const groups = groupBy(phases, ({ target, rate }) => `${target}, ${rate}/s`);
  const logAxis = {
    type: 'log' as const,
    min: 0.1,
    name: 'ms',
    axisLabel: { formatter: (value: number) => String(value) },
  };
  chart.setOption({
    animation: false,
    color: COLOURS,
    backgroundColor: '#fff',
    title: [
      { text: title, left: 'center', top: 8, textStyle: { fontSize: 15 } },
      {
        text: 'Latency by percentile',
        left: '25%',
        top: 34,
        textAlign: 'center',
        textStyle: { fontSize: 13, fontWeight: 'normal' },
      },
      {
        text: 'p99 of each half second',
        left: '75%',
        top: 34,
        textAlign: 'center',
        textStyle: { fontSize: 13, fontWeight: 'normal' },
      },
    ],
    legend: { bottom: 4, itemGap: 30, textStyle: { padding: [0, 12, 0, 0] } },
    grid: [
      { left: 70, right: '54%', top: 80, bottom: 90 },
      { left: '54%', right: 40, top: 80, bottom: 90 },
    ],
    xAxis: [
      {
        type: 'category',
        gridIndex: 0,
        data: CURVE_SHARES.map(percentOf),
        name: 'requests at most this slow',
        nameLocation: 'middle',
        nameGap: 30,
      },
      { type: 'value', gridIndex: 1, name: 's since the phase began', nameLocation: 'middle', nameGap: 30 },
    ],
    yAxis: [
      { ...logAxis, gridIndex: 0 },
      { ...logAxis, gridIndex: 1 },
    ],
    series: [...groups].flatMap(([name, group]) => [curveOf(name, group), timeLineOf(name, group)]),
  });
  const picture = chart.renderToSVGString();
  // The animation clock of the chart would keep the process alive.
  chart.dispose();
  return picture;
}

function curveOf(name: string, phases: readonly PhaseReport[]): LineSeriesOption {
  const data = CURVE_SHARES.map((_, n) => drawable(medianOf(phases.map((phase) => phase.curve[n] ?? Number.NaN))));
  return { type: 'line', name, xAxisIndex: 0, yAxisIndex: 0, symbolSize: 5, data };
}

function timeLineOf(name: string, phases: readonly PhaseReport[]): LineSeriesOption {
  const longest = phases.reduce((one, other) => (other.slices.length > one.slices.length ? other : one));
  const data = longest.slices.map(({ from_ms: fromMs }, n) => [
    fromMs / 1_000,
    drawable(medianOf(phases.map((phase) => phase.slices[n]?.p99_ms ?? Number.NaN))),
  ]);
  return { type: 'line', name, xAxisIndex: 1, yAxisIndex: 1, showSymbol: false, data };
}

/** A logarithmic axis can show neither 0 nor the infinite latency of a request without a response. */
function drawable(value: number): number | '-' {
  return Number.isFinite(value) ? Math.max(value, 0.1) : '-';
}

function medianOf(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

function percentOf(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`;
}

function groupBy<T>(rows: readonly T[], nameOf: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) groups.set(nameOf(row), [...(groups.get(nameOf(row)) ?? []), row]);
  return groups;
}
