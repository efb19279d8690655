import type { JSX } from 'preact';
import type { StatsBody } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { StateView } from '../components/state-view.tsx';
import { toPeriods } from '../stats-sums.ts';
import { useLive } from '../use-live.ts';
import { useRange } from '../use-range.ts';
import { DecisionsChart, ReasonsTable, RefusalsTable, ScoresFigure } from './overview/figures.tsx';
import { HealthStrip } from './overview/health-strip.tsx';
import { NewestFlagged } from './overview/newest-flagged.tsx';
import { QuickStart, useSteps } from './overview/quick-start.tsx';
import { OverviewTiles } from './overview/overview-tiles.tsx';
import { TopTens } from './overview/top-tens.tsx';

const STATS_MS = 5_000;

/** Is it working, is it healthy, is it too hard, and what changed? */
export default function OverviewPage(): JSX.Element {
  const { range, zoom } = useRange();
  const { from, to, step } = range;
  const stats = useLive<StatsBody>(v1('/stats', { from, to, step }), { everyMs: STATS_MS });
  const before = useLive<StatsBody>(v1('/stats', { from: Math.max(0, from - range.seconds), to: from, step: 3_600 }));
  const steps = useSteps();
  const { data } = stats;
  // Without any decision the page is a quick start.
  if (steps.isNew) return <QuickStart steps={steps} />;
  return (
    <div class="stack">
      <HealthStrip />
      <OverviewTiles stats={stats} range={range} />
      <StateView of={stats} skeleton="chart">
        {() => {
          if (data === undefined) return null;
          const { periods, seconds } = toPeriods(data.points, { from, to, step });
          return (
            <>
              <DecisionsChart periods={periods} seconds={seconds} onZoom={zoom} />
              <div class="columns">
                <ReasonsTable points={data.points} before={before.data?.points ?? null} />
                <ScoresFigure points={data.points} />
                <RefusalsTable points={data.points} />
              </div>
            </>
          );
        }}
      </StateView>
      <NewestFlagged />
      <TopTens from={from} to={to} />
    </div>
  );
}
