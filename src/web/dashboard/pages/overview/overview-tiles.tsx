import type { ComponentChildren, JSX } from 'preact';
import type { ShadowReviewRow, StatsBody, WebhookRow, WirePage } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { Sparkline } from '../../components/sparkline.tsx';
import { Skeleton } from '../../components/state-view.tsx';
import { Tile, Tiles } from '../../components/tile.tsx';
import {
  formatCompact,
  formatCount,
  formatMs,
  formatPercent,
  formatPoints,
  formatRate,
  formatShare,
} from '../../format.ts';
import { latencyOf, sumStats, toPeriods } from '../../stats-sums.ts';
import { type Live, useLive } from '../../use-live.ts';
import type { Range } from '../../use-range.ts';
import { useLink } from '../../url-state.ts';
import { decisionPath } from '../../link-path.ts';
import { QUEUE_PAGE_ROWS } from '../review/queue-page.ts';
import { useLabelled } from './use-labelled.ts';

const DAY = 86_400;
const WEEK = 7 * DAY;
const WEBHOOKS_MS = 15_000;
/** Choice: a response has up to 500 rows. */
const QUEUE_MS = 30_000;

/** Key figures, each beside what it compares with. */
export function OverviewTiles({
  stats,
  range,
}: {
  readonly stats: Live<StatsBody>;
  readonly range: Range;
}): JSX.Element | null {
  const link = useLink();
  const { from, to, step, seconds } = range;
  const isShort = seconds <= DAY;
  const yesterday = useLive<StatsBody>(isShort ? v1('/stats', { from: from - DAY, to: to - DAY, step: 3_600 }) : null);
  const lastWeek = useLive<StatsBody>(
    seconds <= WEEK ? v1('/stats', { from: from - WEEK, to: to - WEEK, step: 3_600 }) : null,
  );
  const webhooks = useLive<WirePage<WebhookRow>>(v1('/webhooks', { limit: 200 }), { everyMs: WEBHOOKS_MS });
  const queue = useLive<WirePage<ShadowReviewRow>>(
    v1('/shadow-reviews', { queue: 'review', state: 'open', limit: QUEUE_PAGE_ROWS }),
    {
      everyMs: QUEUE_MS,
    },
  );
  const labelled = useLabelled(from);
  const { data } = stats;
  // After a failure nothing is loading: the fault below says what is wrong.
  if (data === undefined) return stats.loading ? <Skeleton form="tiles" /> : null;

  const sums = sumStats(data.points);
  const { periods } = toPeriods(data.points, { from, to, step });
  const latency = latencyOf(data.points);
  const each = periods.map(({ points }) => sumStats(points));
  const elapsed = Math.max(60, Math.min(to, Math.floor(Date.now() / 1_000)) - from);
  const endpoints = webhooks.data?.data ?? [];
  const unhealthy = endpoints.filter(({ status, disabled }) => status === 'unhealthy' && !disabled);
  const waiting = queue.data?.data.length ?? 0;

  return (
    <Tiles label="Key figures">
      <Tile
        title="Decisions"
        value={formatCompact(sums.total)}
        note={formatRate(sums.total, elapsed)}
        href={link('/dashboard/decisions')}
      >
        <Sparkline values={each.map(({ total }) => total)} label="Decisions" />
      </Tile>
      <Tile
        title="Challenged, reviewed or blocked"
        value={formatShare(sums.stopped, sums.total)}
        note={<Compared share={shareOf(sums)} yesterday={yesterday.data} lastWeek={lastWeek.data} />}
      >
        <Sparkline
          values={each.map(({ stopped, total }) => (total === 0 ? 0 : stopped / total))}
          label="Share that was stopped"
          format={formatPercent}
        />
      </Tile>
      <Tile title="Latency p50" value={formatMs(latency.p50)} note={`p99 ${formatMs(latency.p99)} at most`} />
      <Tile
        title="Refused with an error"
        value={formatCompact(sums.refused)}
        note={`${formatShare(sums.refused, sums.refused + sums.total)} of all requests`}
        tone={sums.refused > sums.total / 20 ? 'warn' : undefined}
      />
      <Tile
        title="False alarms"
        value={labelled === null ? '–' : formatCount(labelled.falseAlarms.length)}
        note={labelled === null ? 'stopped, labelled legitimate' : labelNote(labelled, 'falseAlarms')}
        tone={labelled !== null && labelled.falseAlarms.length > 0 ? 'warn' : undefined}
      />
      <Tile
        title="Missed fraud"
        value={labelled === null ? '–' : formatCount(labelled.missed.length)}
        note={labelled === null ? 'allowed, labelled fraud' : labelNote(labelled, 'missed')}
        tone={labelled !== null && labelled.missed.length > 0 ? 'bad' : undefined}
      />
      <Tile
        title="To review"
        value={queue.data === undefined ? '–' : `${formatCount(waiting)}${queue.data.has_more ? '+' : ''}`}
        note="open Review decisions"
        href={link('/dashboard/review')}
      />
      <Tile
        title="Webhooks"
        value={webhooks.data === undefined ? '–' : endpoints.length === 0 ? 'None' : formatCount(endpoints.length)}
        note={
          webhooks.data === undefined
            ? undefined
            : endpoints.length === 0
              ? 'no endpoint gets events'
              : unhealthy.length === 0
                ? 'all healthy'
                : `${unhealthy.length} unhealthy`
        }
        tone={unhealthy.length > 0 ? 'bad' : endpoints.length > 0 ? 'good' : undefined}
        href={link('/dashboard/webhooks')}
      />
    </Tiles>
  );
}

function labelNote(
  labelled: NonNullable<ReturnType<typeof useLabelled>>,
  which: 'falseAlarms' | 'missed',
): ComponentChildren {
  const [newest] = labelled[which];
  const examined = `${labelled.isTruncated ? 'newest ' : ''}${formatCount(labelled.examined)} labels`;
  if (newest === undefined) return labelled.examined === 0 ? 'nothing is labelled yet' : `none in ${examined}`;
  return (
    <>
      of {examined}, <a href={decisionPath(newest.request_id)}>newest</a>
    </>
  );
}

function shareOf({ stopped, total }: { readonly stopped: number; readonly total: number }): number | null {
  return total === 0 ? null : stopped / total;
}

/** The same hours yesterday and a week ago, in percentage points. */
function Compared({
  share,
  yesterday,
  lastWeek,
}: {
  readonly share: number | null;
  readonly yesterday: StatsBody | undefined;
  readonly lastWeek: StatsBody | undefined;
}): JSX.Element {
  const parts: string[] = [];
  for (const [title, stats] of [
    ['yesterday', yesterday],
    ['last week', lastWeek],
  ] as const) {
    const then = stats === undefined ? null : shareOf(sumStats(stats.points));
    if (then !== null && share !== null) parts.push(`${formatPoints(share - then)} points on ${title}`);
  }
  return <>{parts.length === 0 ? 'nothing to compare with yet' : parts.join(', ')}</>;
}
