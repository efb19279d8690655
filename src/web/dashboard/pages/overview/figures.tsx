import type { JSX } from 'preact';
import type { StatsPointBody } from '../../../../contract/wire-types.ts';
import { Chart } from '../../components/chart.tsx';
import { ReasonName } from '../../components/reason-name.tsx';
import { Section } from '../../components/pane.tsx';
import { Bars } from '../../components/sparkline.tsx';
import { Empty } from '../../components/state-view.tsx';
import {
  DECISION_CLASSES,
  DECISION_ORDER,
  DECISION_WORDS,
  countOf,
  formatCount,
  formatSeconds,
  formatShare,
} from '../../format.ts';
import { largest, type Period, sumStats } from '../../stats-sums.ts';
import { useLink } from '../../url-state.ts';
import { visibleText } from '../../visible-text.ts';

const ROWS = 8;

/** Decisions by value, stacked over time. */
export function DecisionsChart({
  periods,
  seconds,
  onZoom,
}: {
  readonly periods: readonly Period[];
  readonly seconds: number;
  readonly onZoom: (from: number, to: number) => void;
}): JSX.Element {
  const sums = sumStats(periods.flatMap(({ points }) => points));
  const each = periods.map(({ points }) => sumStats(points).decisions);
  const summary =
    `${countOf(sums.total, 'decision')}, ${formatShare(sums.decisions.BLOCK, sums.total)} blocked, ` +
    `${formatShare(sums.decisions.SOFT_CHALLENGE, sums.total)} challenged; columns of ${formatSeconds(seconds)}`;
  return (
    <Section title="Decisions" headless>
      <Chart
        title="Decisions over time"
        summary={summary}
        times={periods.map(({ at }) => at)}
        seconds={seconds}
        series={DECISION_ORDER.map((name) => ({
          name: DECISION_WORDS[name],
          class: DECISION_CLASSES[name],
          values: each.map((counts) => counts[name]),
        }))}
        height={220}
        onZoom={onZoom}
      />
    </Section>
  );
}

/** The most frequent reasons, and how they changed against the period of equal length before. */
export function ReasonsTable({
  points,
  before,
}: {
  readonly points: readonly StatsPointBody[];
  readonly before: readonly StatsPointBody[] | null;
}): JSX.Element {
  const link = useLink();
  const now = sumStats(points);
  const then = before === null ? null : sumStats(before);
  const rows = largest(now.reasons, ROWS);
  const most = rows[0]?.[1] ?? 1;
  return (
    <Section title="Top reasons" note="against the period before" flush>
      {rows.length === 0 ? (
        <Empty icon="check" title="No rule fired" />
      ) : (
        <table class="table table-plain meters">
          <caption class="hidden-text">Top reasons</caption>
          <thead class="hidden-text">
            <tr>
              <th scope="col">Reason</th>
              <th scope="col">Decisions</th>
              <th scope="col">Change</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([reason, count]) => (
              <tr key={reason}>
                <th scope="row" class="grows">
                  <a href={link('/dashboard/decisions', { q: `reason:${reason}` })}>
                    <ReasonName code={reason} />
                  </a>
                  <Meter share={count / most} />
                </th>
                <td class="right">{formatCount(count)}</td>
                <td class="right">{then === null ? '' : <Change from={then.reasons.get(reason) ?? 0} to={count} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

/** More is not worse: a change has no colour. */
function Change({ from, to }: { readonly from: number; readonly to: number }): JSX.Element {
  if (from === 0) return <span class="muted">new</span>;
  const share = (to - from) / from;
  const percent = Math.round(share * 100);
  const sign = percent > 0 ? '+' : percent < 0 ? '−' : '±';
  const text = Math.abs(percent) > 999 ? `×${Math.round(to / from)}` : `${sign}${Math.abs(percent)} %`;
  return (
    <span class="muted num" title={`${formatCount(from)} before`}>
      {text}
    </span>
  );
}

/** A thin bar below a name. */
export function Meter({ share }: { readonly share: number }): JSX.Element {
  return (
    <svg class="meter" viewBox="0 0 100 2" preserveAspectRatio="none" aria-hidden="true">
      <rect width={Math.max(0.5, Math.min(1, share) * 100)} height="2" />
    </svg>
  );
}

export function ScoresFigure({ points }: { readonly points: readonly StatsPointBody[] }): JSX.Element {
  const { scores, total } = sumStats(points);
  const high = scores.slice(14).reduce((sum, count) => sum + count, 0);
  // Square-root scale, so that small counts stay visible beside the many low scores.
  const bars = scores.map((count, n) => ({ title: `${n * 5} to ${n === 19 ? 100 : n * 5 + 5}`, value: count }));
  return (
    <Section title="Scores" note={`${formatShare(high, total)} at 70 or more`}>
      <Bars
        bars={bars}
        height={140}
        isRoot
        label={`Scores from 0 to 100: ${formatShare(high, total)} are 70 or more`}
      />
      <p class="scale num" aria-hidden="true">
        <span>0</span>
        <span>25</span>
        <span>50</span>
        <span>75</span>
        <span>100</span>
      </p>
      <p class="muted small">Heights are square roots of the counts.</p>
    </Section>
  );
}

/** Requests that got no decision, by problem code. */
export function RefusalsTable({ points }: { readonly points: readonly StatsPointBody[] }): JSX.Element {
  const { refusals, refused, total } = sumStats(points);
  const rows = largest(refusals, ROWS);
  return (
    <Section title="Refusals" note={`${formatShare(refused, refused + total)} of all requests`} flush>
      {rows.length === 0 ? (
        <Empty icon="check" title="Nothing was refused" />
      ) : (
        <table class="table table-plain">
          <caption class="hidden-text">Refusals by problem code</caption>
          <thead class="hidden-text">
            <tr>
              <th scope="col">Code</th>
              <th scope="col">Requests</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([code, count]) => (
              <tr key={code}>
                <th scope="row" class="grows">
                  <code>{visibleText(code)}</code>
                </th>
                <td class="right">{formatCount(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}
