import { init, type BarSeriesOption, type LineSeriesOption } from 'echarts';
import { fractionOf, type AttackRow, type HonestRow, type Report } from './report.ts';
import type { RocPoint } from './roc.ts';

/** The ROC curve and honest kinds on the left, the detection rate of each kind of attack on the right. */

const WIDTH = 1_400;
const ROW_HEIGHT = 15;
const HEIGHT_MIN = 900;
const CURVE_HEIGHT = 420;
/** Blue, orange and grey that people with colour blindness can distinguish (Okabe and Ito). */
const CHALLENGED = '#56B4E9';
const HELD_BACK = '#0072B2';
const HONEST = '#D55E00';
const CHANCE = '#999999';
/** Lower bounds of the default bands of most event types: watch, soft challenge, block. */
const BANDS = [30, 50, 80];

export function drawPicture(report: Report, title: string): string {
  const attacks = [...report.attackKinds].sort((a, b) => fractionOf(a.challenged) - fractionOf(b.challenged));
  const honest = [...report.honestKinds].sort((a, b) => fractionOf(a.sessions) - fractionOf(b.sessions));
  const height = Math.max(HEIGHT_MIN, 150 + ROW_HEIGHT * attacks.length);
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  const area = Number.isNaN(report.roc.area) ? '' : `, area ${report.roc.area.toFixed(3)}`;
  const honestTop = CURVE_HEIGHT + 170;
  chart.setOption({
    animation: false,
    backgroundColor: '#fff',
    title: [
      { text: title, left: 'center', top: 8, textStyle: { fontSize: 15 } },
      heading(`ROC by session${area}; dots: scores from ${BANDS.join(', ')} on`, '26%', 40),
      heading('Honest sessions challenged or worse', '26%', honestTop - 28),
      heading('Sessions of attackers', '76%', 40),
    ],
    legend: { bottom: 4, itemGap: 30, data: ['challenged or worse', 'held back', 'honest, challenged or worse'] },
    grid: [
      { left: 80, width: 560, top: 70, height: CURVE_HEIGHT },
      { left: 160, width: 480, top: honestTop, bottom: 80 },
      { left: 930, right: 40, top: 70, bottom: 80 },
    ],
    xAxis: [
      { ...percentAxis('honest sessions'), gridIndex: 0 },
      { ...percentAxis('of the kind’s sessions'), gridIndex: 1 },
      { ...percentAxis('of the kind’s sessions'), gridIndex: 2 },
    ],
    yAxis: [
      { ...percentAxis('attack sessions'), gridIndex: 0, nameGap: 45 },
      { ...kindAxis(honest.map(({ kind }) => kind)), gridIndex: 1 },
      { ...kindAxis(attacks.map(({ kind }) => kind)), gridIndex: 2 },
    ],
    series: [...curve(report.roc.points), honestBars(honest), ...attackBars(attacks)],
  });
  const picture = chart.renderToSVGString();
  // The animation clock of the chart would keep the process alive.
  chart.dispose();
  return picture;
}

function heading(text: string, left: string, top: number): object {
  return { text, left, top, textAlign: 'center', textStyle: { fontSize: 13, fontWeight: 'normal' } };
}

function percentAxis(name: string): object {
  return {
    type: 'value',
    min: 0,
    max: 100,
    name: `% of ${name}`.replace('of of', 'of'),
    nameLocation: 'middle',
    nameGap: 28,
  };
}

function kindAxis(kinds: readonly string[]): object {
  return {
    type: 'category',
    data: kinds.map((kind) => kind.replaceAll('_', ' ')),
    axisTick: { show: false },
    axisLabel: { interval: 0, fontSize: 11 },
  };
}

function curve(points: readonly RocPoint[]): LineSeriesOption[] {
  const atScore = (score: number): RocPoint | undefined => points.findLast((point) => point.score >= score);
  return [
    {
      type: 'line',
      xAxisIndex: 0,
      yAxisIndex: 0,
      showSymbol: false,
      lineStyle: { color: HELD_BACK, width: 2 },
      data: points.map(inPercent),
      markPoint: {
        symbol: 'circle',
        symbolSize: 7,
        itemStyle: { color: HELD_BACK },
        label: { show: true, color: '#333' },
        data: BANDS.flatMap((score) => {
          const point = atScore(score);
          return point === undefined
            ? []
            : [
                {
                  name: String(score),
                  coord: inPercent(point),
                  value: String(score),
                  // The points of the first two bands lie close together.
                  label: { position: score === BANDS[0] ? ('top' as const) : ('right' as const) },
                },
              ];
        }),
      },
    },
    {
      type: 'line',
      xAxisIndex: 0,
      yAxisIndex: 0,
      showSymbol: false,
      lineStyle: { color: CHANCE, type: 'dashed', width: 1 },
      data: [
        [0, 0],
        [100, 100],
      ],
    },
  ];
}

function inPercent({ falseAlarms, catch: caught }: RocPoint): [number, number] {
  return [falseAlarms * 100, caught * 100];
}

function honestBars(kinds: readonly HonestRow[]): BarSeriesOption {
  const data = kinds.map(({ sessions }) => fractionOf(sessions) * 100);
  return {
    type: 'bar',
    name: 'honest, challenged or worse',
    xAxisIndex: 1,
    yAxisIndex: 1,
    color: HONEST,
    barCategoryGap: '30%',
    data,
  };
}

/** Draws one bar over the other: sessions that are held back are a subset of those that are challenged. */
function attackBars(kinds: readonly AttackRow[]): BarSeriesOption[] {
  const both = { type: 'bar' as const, xAxisIndex: 2, yAxisIndex: 2, barCategoryGap: '30%' };
  return [
    {
      ...both,
      name: 'challenged or worse',
      color: CHALLENGED,
      data: kinds.map((row) => fractionOf(row.challenged) * 100),
    },
    {
      ...both,
      name: 'held back',
      color: HELD_BACK,
      barGap: '-100%',
      data: kinds.map((row) => fractionOf(row.heldBack) * 100),
    },
  ];
}
