import type { JSX } from 'preact';
import type { StatsBody } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { Chart } from '../../components/chart.tsx';
import { Section } from '../../components/pane.tsx';
import { StateView } from '../../components/state-view.tsx';
import { DECISION_CLASSES, DECISION_ORDER, DECISION_WORDS, countOf, formatCount, formatSeconds } from '../../format.ts';
import type { DecisionSearch } from '../../decision-search.ts';
import { sumStats, toPeriods } from '../../stats-sums.ts';
import { useLive } from '../../use-live.ts';
import { useRange } from '../../use-range.ts';
import { visibleText } from '../../visible-text.ts';

const EVERY_MS = 10_000;

/** The filters that the statistics count: the decision, or a reason, or an event type. */
export function RangeHistogram({
  search,
  decision,
}: {
  readonly search: DecisionSearch;
  readonly decision: string;
}): JSX.Element {
  const { range, zoom } = useRange();
  const { from, to, step } = range;
  const stats = useLive<StatsBody>(v1('/stats', { from, to, step }), { everyMs: EVERY_MS });
  const { reason, event_type: eventType } = search.filters;
  return (
    <Section title="In this range" headless>
      <StateView of={stats} skeleton="chart">
        {({ points }) => {
          const { periods, seconds } = toPeriods(points, { from, to, step });
          const times = periods.map(({ at }) => at);
          const columns = `columns of ${formatSeconds(seconds)}`;
          const one = reason ?? eventType;
          if (one !== undefined) {
            const values = periods.map(({ points }) =>
              points.reduce(
                (sum, { reasons, event_types: types }) => sum + ((reason === undefined ? types : reasons)[one] ?? 0),
                0,
              ),
            );
            const total = values.reduce((sum, value) => sum + value, 0);
            const name = visibleText(one);
            return (
              <Chart
                title={`Decisions with ${name}`}
                height={120}
                summary={`${formatCount(total)} with ${name}; ${columns}; other filters are not applied here`}
                times={times}
                seconds={seconds}
                series={[{ name, class: 'c-1', values }]}
                onZoom={zoom}
              />
            );
          }
          const shown = DECISION_ORDER.filter((name) => decision === '' || decision === name);
          const each = periods.map(({ points }) => sumStats(points).decisions);
          const total = each.reduce((sum, counts) => sum + shown.reduce((all, name) => all + counts[name], 0), 0);
          const others = search.terms.length > 0 ? '; filters do not count here' : '';
          return (
            <Chart
              title="Decisions over time"
              height={120}
              summary={`${countOf(total, 'decision')}; ${columns}${others}`}
              times={times}
              seconds={seconds}
              series={shown.map((name) => ({
                name: DECISION_WORDS[name],
                class: DECISION_CLASSES[name],
                values: each.map((counts) => counts[name]),
              }))}
              onZoom={zoom}
            />
          );
        }}
      </StateView>
    </Section>
  );
}
