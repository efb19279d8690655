import type { JSX } from 'preact';
import type { StatsBody } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { Skeleton, StateView } from '../components/state-view.tsx';
import { toPeriods } from '../stats-sums.ts';
import { useLive } from '../use-live.ts';
import { useModule } from '../use-module.ts';
import { useRange } from '../use-range.ts';
import { DecisionsChart, ReasonsTable, RefusalsTable, ScoresFigure } from './overview/figures.tsx';
import { HealthStrip } from './overview/health-strip.tsx';
import { NewestFlagged } from './overview/newest-flagged.tsx';
import { OverviewTiles } from './overview/overview-tiles.tsx';
import { TopTens } from './overview/top-tens.tsx';
import { useSteps } from './overview/use-steps.ts';

const STATS_MS = 5_000;

const ADDRESS_WARNINGS: Readonly<Record<NonNullable<StatsBody['address_warning']>, string>> = {
  one_address:
    'Over 80 % of the decisions of the last hour carry the same address. Unless this is one visitor, your backend sends the address of its proxy: set the proxy as trusted in your framework.',
  no_public_address:
    'Over 80 % of the decisions of the last hour carry no public address, so rules about addresses do not work. Your backend may send the address of its proxy: set the proxy as trusted in your framework.',
};

/** Is it working, is it healthy, is it too hard, and what changed? */
export default function OverviewPage(): JSX.Element {
  const { range, zoom } = useRange();
  const { from, to, step } = range;
  const stats = useLive<StatsBody>(v1('/stats', { from, to, step }), { everyMs: STATS_MS });
  const before = useLive<StatsBody>(v1('/stats', { from: Math.max(0, from - range.seconds), to: from, step: 3_600 }));
  const steps = useSteps();
  const quickStart = useModule(steps.isNew, () => import('./overview/quick-start.tsx'));
  const { data } = stats;
  // Without any decision the page is a quick start.
  if (steps.isNew) return quickStart === null ? <Skeleton form="text" /> : <quickStart.QuickStart steps={steps} />;
  return (
    <div class="stack">
      <HealthStrip />
      {data?.address_warning !== undefined && (
        <p class="health health-warn">{ADDRESS_WARNINGS[data.address_warning]}</p>
      )}
      <OverviewTiles stats={stats} range={range} />
      <StateView of={stats} skeleton="chart">
        {({ points }) => {
          const { periods, seconds } = toPeriods(points, { from, to, step });
          return (
            <>
              <DecisionsChart periods={periods} seconds={seconds} onZoom={zoom} />
              <div class="columns">
                <ReasonsTable points={points} before={before.data?.points ?? null} />
                <ScoresFigure points={points} />
                <RefusalsTable points={points} />
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
