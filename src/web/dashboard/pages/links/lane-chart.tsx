import type { JSX } from 'preact';
import type { LoggedDecisionRow } from '../../../../contract/wire-types.ts';
import { DecisionShape } from '../../components/decision-badge.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { countOf, DECISION_ORDER, DECISION_WORDS, formatScore, formatTime } from '../../format.ts';
import { linkPath, kindWords, shortValue } from '../../link-path.ts';
import { now } from '../../now.ts';
import { useLink } from '../../url-state.ts';
import { visibleText } from '../../visible-text.ts';
import type { LinkLane } from './lanes.ts';

/**
 * Decisions over time, one lane for each value. Dots are links for the mouse; with the keyboard the same decisions are in the table below,
 * so five hundred dots are no stops of Tab.
 */
export function LaneChart({
  lanes,
  kind,
}: {
  readonly lanes: readonly LinkLane[];
  readonly kind: string;
}): JSX.Element {
  const link = useLink();
  const times = lanes.flatMap(({ rows }) => rows.map(({ occurred_at: at }) => at));
  const first = Math.min(...times);
  const last = Math.max(...times);
  const x = (at: number): number => (first === last ? 0 : ((at - first) / (last - first)) * 100);
  return (
    <div class="lanes">
      <ul aria-label={`Decisions by ${kindWords(kind)}`}>
        {lanes.map(({ id, rows }) => (
          <li key={id ?? ''} class="lane">
            <span class="lane-name">
              {id === null ? (
                <span class="muted">all others</span>
              ) : (
                <a href={link(linkPath(kind, id))}>
                  <Text value={shortValue(kind, id)} charactersMax={40} mono={kind === 'fingerprint'} />
                </a>
              )}
              <span class="muted small num"> {summaryOf(rows)}</span>
            </span>
            <span class="lane-track" aria-hidden="true">
              {[...rows].sort(bySeverity).map((row) => (
                <a
                  key={row.request_id}
                  class="lane-dot"
                  tabIndex={-1}
                  href={link(`/dashboard/decisions/${row.request_id}`)}
                  title={titleOf(row)}
                  style={{ left: `${x(row.occurred_at).toFixed(2)}%` }}
                >
                  <DecisionShape value={row.would_be ?? row.decision} size={12} />
                </a>
              ))}
            </span>
          </li>
        ))}
      </ul>
      <p class="lane-axis muted small">
        <Time at={first} />
        {first !== last && <Time at={last} />}
      </p>
    </div>
  );
}

/** Sorts so that the more severe is drawn later, above the others. */
function bySeverity(a: LoggedDecisionRow, b: LoggedDecisionRow): number {
  return severityOf(a) - severityOf(b);
}

function severityOf({ decision, would_be: wouldBe }: LoggedDecisionRow): number {
  return DECISION_ORDER.indexOf(wouldBe ?? decision);
}

function summaryOf(rows: readonly LoggedDecisionRow[]): string {
  const blocked = rows.filter(({ decision, would_be: wouldBe }) => (wouldBe ?? decision) === 'BLOCK').length;
  return blocked === 0 ? countOf(rows.length, 'decision') : `${countOf(rows.length, 'decision')}, ${blocked} blocked`;
}

function titleOf({
  decision,
  would_be: wouldBe,
  score,
  event_type: event,
  occurred_at: at,
}: LoggedDecisionRow): string {
  const time = formatTime(at, now.peek());
  return `${DECISION_WORDS[wouldBe ?? decision]} ${formatScore(score)} · ${visibleText(event)} · ${time}`;
}
