import type { JSX } from 'preact';
import type { BacktestBody } from '../../../../contract/wire-types.ts';
import { DecisionBadge } from '../../components/decision-badge.tsx';
import { Reasons } from '../../components/reasons.tsx';
import { Time } from '../../components/time.tsx';
import { countOf, DECISION_ORDER, formatCount } from '../../format.ts';
import { decisionPath } from '../../link-path.ts';
import { useLink } from '../../url-state.ts';
import { visibleText } from '../../visible-text.ts';
import { type MatrixCounts, MatrixTable } from './matrix-table.tsx';
import { shareWords } from './own-rule-form.ts';

/** What a backtest computed. */
export function BacktestFigures({ code, job }: { readonly code: string; readonly job: BacktestBody }): JSX.Element {
  const { events = 0, matrix = {}, by_label: byLabel, people_touched: people = 0, examples = [], recorded } = job;
  const changed = moved(matrix);
  const own = job.rules?.find((rule) => rule.code === code);
  const begin = job.log_from ? Date.parse(job.log_from) / 1_000 : null;
  if (events === 0)
    return (
      <p class="text" role="status">
        No request of this time is in the log{begin === null ? '.' : ', which begins '}
        {begin !== null && <Time at={begin} />}
      </p>
    );
  return (
    <>
      <p class="text" role="status">
        {own !== undefined && <>It fires on {shareWords(own)}. </>}
        {changed === 0
          ? `None of ${countOf(events, 'decision')} changes.`
          : `${formatCount(changed)} of ${countOf(events, 'decision')} change, of ${countOf(people, 'person', 'people')}.`}
      </p>
      <MatrixTable
        matrix={matrix}
        caption="Rows: with the rules as they are. Columns: with this rule enforced."
        rowsTitle="Now"
        isNarrow
      />
      {(['fraud', 'legitimate'] as const).map((label) => {
        const labelled = byLabel?.[label] ?? {};
        return total(labelled) === 0 ? null : (
          <p key={label} class="text">
            Labelled {label}: {formatCount(moved(labelled))} of {countOf(total(labelled), 'decision')} change.
          </p>
        );
      })}
      {examples.length > 0 && <ExampleList examples={examples} />}
      <Sources job={job} begin={begin} different={recorded?.different ?? 0} />
    </>
  );
}

function Sources({
  job: { source, facts_missing, damaged },
  begin,
  different,
}: {
  readonly job: BacktestBody;
  readonly begin: number | null;
  readonly different: number;
}): JSX.Element {
  const missing = facts_missing ?? [];
  const parts = damaged?.length ?? 0;
  return (
    <p class="muted small">
      {source === 'features'
        ? 'An approximation: no requests are logged, and what fired was weighed again. Conditions of own rules are not evaluated.'
        : 'Logged requests were decided again.'}
      {begin !== null && (
        <>
          {' '}
          The log begins <Time at={begin} />.
        </>
      )}
      {different > 0 &&
        ` ${countOf(different, 'decision')} would be made differently now even without a change: earlier rules, lists, or history before the log.`}
      {missing.length > 0 && ` Facts that are not known there: ${missing.map(visibleText).join(', ')}.`}
      {parts > 0 && ` Damaged parts of the log that were skipped: ${parts}.`}
    </p>
  );
}

function ExampleList({ examples }: { readonly examples: NonNullable<BacktestBody['examples']> }): JSX.Element {
  const link = useLink();
  return (
    <details class="backtest-examples" open={examples.length <= OPEN_MAX}>
      <summary>{countOf(examples.length, 'example')} of decisions that change</summary>
      <ul>
        {examples.map(({ request_id: id, before, after, reasons }) => (
          <li key={id}>
            <a href={link(decisionPath(id))}>
              <DecisionBadge value={before} /> → <DecisionBadge value={after} />
            </a>{' '}
            <Reasons reasons={reasons} />
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Choice: more would push the buttons far down. */
const OPEN_MAX = 5;

function moved(matrix: MatrixCounts): number {
  return total(matrix) - DECISION_ORDER.reduce((sum, one) => sum + (matrix[one]?.[one] ?? 0), 0);
}

function total(matrix: MatrixCounts): number {
  return Object.values(matrix).reduce((sum, row) => sum + Object.values(row ?? {}).reduce((a, b) => a + b, 0), 0);
}
