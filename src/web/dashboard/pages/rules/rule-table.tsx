import type { JSX } from 'preact';
import type { RuleCountsBody } from '../../../../contract/wire-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Field, Select } from '../../components/fields.tsx';
import { Segments } from '../../components/filter-chips.tsx';
import { Section, WithPane } from '../../components/pane.tsx';
import { ReasonName } from '../../components/reason-name.tsx';
import { Empty, FaultView, Stale } from '../../components/state-view.tsx';
import { asWords, formatCount, formatPercent, formatShare } from '../../format.ts';
import { useUrlState } from '../../url-state.ts';
import type { Live } from '../../use-live.ts';
import { RulePane } from './rule-pane.tsx';
import { type RuleRow, type RuleSort, type RuleState, selectRules, SORTS, STATES } from './rule-rows.ts';

/** Choice: what fits on two screens; the rest rarely fires. */
const ROWS_FIRST = 30;

const STATE_WORDS: Readonly<Record<RuleState, string>> = {
  all: 'All',
  hit: 'with hits',
  silent: 'silent',
  off: 'off',
  changed: 'changed',
};

const SORT_WORDS: Readonly<Record<RuleSort, string>> = {
  hits: 'Hits in 7 days',
  alone: 'Alone decisive',
  precision: 'Lowest precision',
  weight: 'Weight',
  name: 'Name',
};

/** The rules of the policy with their hits of a day and a week; the chosen one beside them. */
export function RuleTable({
  rows,
  day,
  week,
}: {
  readonly rows: readonly RuleRow[];
  readonly day: Live<RuleCountsBody>;
  readonly week: Live<RuleCountsBody>;
}): JSX.Element {
  const url = useUrlState();
  const text = url.get('q');
  const state = STATES.find((name) => name === url.get('state')) ?? 'all';
  const sort = SORTS.find((name) => name === url.get('sort')) ?? 'hits';
  const shown = selectRules(rows, text, state, sort);
  const isAll = url.get('rows') === 'all' || shown.length <= ROWS_FIRST;
  const open = rows.find(({ rule }) => rule.reason === url.get('rule'));
  const counts = week.fault === null ? day : week;
  const isTruncated = week.data?.examined.is_truncated === true;
  const pane =
    open === undefined ? null : (
      <RulePane row={open} examined={week.data?.examined} closeHref={url.href({ rule: null })} />
    );
  return (
    <WithPane pane={pane}>
      <Section title="Rules" note={`${formatCount(shown.length)} of ${formatCount(rows.length)}`} flush>
        <RuleFilters text={text} state={state} sort={sort} />
        {counts.fault !== null &&
          (counts.data === undefined ? (
            <FaultView fault={counts.fault} retry={counts.refresh} retryAtMs={counts.retryAtMs} />
          ) : (
            <Stale of={counts} />
          ))}
        {shown.length === 0 ? (
          <Empty title="No rule matches">
            <a href={url.href({ q: null, state: null })}>Clear the filters</a>
          </Empty>
        ) : (
          <DataTable
            caption="Rules"
            columns={columnsOf(day, week)}
            rows={isAll ? shown : shown.slice(0, ROWS_FIRST)}
            keyOf={({ rule }) => rule.reason}
            hrefOf={({ rule }) => url.href({ rule: rule.reason })}
            selected={open?.rule.reason ?? null}
          />
        )}
        {!isAll && (
          <p class="end-of-rows">
            <a href={url.href({ rows: 'all' })}>Show all {formatCount(shown.length)}</a>
          </p>
        )}
        <p class="policy-note muted small">
          Alone decisive: share of the hits in which it was the only reason and the decision would be milder without it.
          Precision: share of fraud among labels and verdicts of 7 days.
          {isTruncated &&
            ` Both are counted over the newest ${formatCount(week.data?.examined.decisions ?? 0)} decisions.`}
        </p>
      </Section>
    </WithPane>
  );
}

function RuleFilters({
  text,
  state,
  sort,
}: {
  readonly text: string;
  readonly state: RuleState;
  readonly sort: RuleSort;
}): JSX.Element {
  const url = useUrlState();
  return (
    <div class="bar">
      <Segments
        label="State"
        options={STATES.map((name) => ({
          title: STATE_WORDS[name],
          href: url.href({ state: name === 'all' ? null : name }),
          isOn: name === state,
        }))}
      />
      <span class="bar-field">
        <Field
          label="Find a rule"
          labelHidden
          placeholder="Find a rule"
          type="search"
          value={text}
          maxLength={64}
          onValue={(value) => url.set({ q: value }, { replace: true })}
        />
      </span>
      <Select
        label="Sort by"
        labelHidden
        value={sort}
        onValue={(value) => url.set({ sort: value === 'hits' ? null : value })}
        choices={SORTS.map((name) => ({ value: name, title: SORT_WORDS[name] }))}
      />
    </div>
  );
}

function columnsOf(day: Live<RuleCountsBody>, week: Live<RuleCountsBody>): readonly Column<RuleRow>[] {
  const isTruncated = week.data?.examined.is_truncated === true;
  return [
    {
      id: 'reason',
      title: 'Rule',
      grows: true,
      render: ({ rule }) => (
        <>
          <ReasonName code={rule.reason} withCode />
          {!rule.enabled && <span class="tag rule-tag">off</span>}
          {rule.is_changed && <span class="tag rule-tag">changed</span>}
        </>
      ),
    },
    { id: 'family', title: 'Family', optional: true, render: ({ rule }) => asWords(rule.family) },
    { id: 'weight', title: 'Weight', align: 'right', render: ({ rule }) => rule.weight },
    { id: 'day', title: 'Hits 24 h', align: 'right', render: (row) => countCell(row.day?.hits ?? 0, day) },
    { id: 'week', title: 'Hits 7 d', align: 'right', render: (row) => countCell(row.week?.hits ?? 0, week) },
    {
      id: 'alone',
      title: 'Alone decisive',
      align: 'right',
      render: (row) => {
        if (row.week === null || row.week.hits === 0) return <span class="faint">–</span>;
        const { alone, hits } = row.week;
        return (
          <span title={`${formatCount(alone)} of ${formatCount(hits)} hits`}>
            {isTruncated ? formatCount(alone) : formatShare(alone, hits)}
          </span>
        );
      },
    },
    {
      id: 'precision',
      title: 'Precision',
      align: 'right',
      render: (row) => {
        const precision = row.week?.precision ?? null;
        return precision === null ? <span class="faint">–</span> : formatPercent(precision);
      },
    },
  ];
}

/** A number once it was read; until then nothing is claimed. */
function countCell(count: number, { data }: Live<RuleCountsBody>): JSX.Element {
  if (data === undefined) return <span class="faint">…</span>;
  return <span class={count === 0 ? 'faint' : undefined}>{formatCount(count)}</span>;
}
