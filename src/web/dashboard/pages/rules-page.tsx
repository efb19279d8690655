import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { PolicyBody, RuleCountsBody } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Field, Select } from '../components/fields.tsx';
import { Segments } from '../components/filter-chips.tsx';
import { Icon } from '../components/icon.tsx';
import { ReasonName } from '../components/reason-name.tsx';
import { Section } from '../components/pane.tsx';
import { Empty, FaultView, Stale, StateView } from '../components/state-view.tsx';
import { Tile, Tiles } from '../components/tile.tsx';
import { Time } from '../components/time.tsx';
import { countOf, formatCount, formatPercent, formatShare, asWords } from '../format.ts';
import { useLink, useUrlState } from '../url-state.ts';
import { type Live, useLive } from '../use-live.ts';
import { minute } from '../use-range.ts';
import { cutText, visibleText } from '../visible-text.ts';
import { BandChart } from './rules/band-chart.tsx';
import { ChallengerTab } from './rules/challenger-tab.tsx';
import { HistoryTab } from './rules/history-tab.tsx';
import { RulePane } from './rules/rule-pane.tsx';
import {
  type RuleRow,
  type RuleSort,
  type RuleState,
  selectRules,
  SORTS,
  STATES,
  toRuleRows,
} from './rules/rule-rows.ts';

const POLL_MS = 30_000;
/** Choice: each response is a count of up to 100,000 decisions. */
const COUNTS_POLL_MS = 60_000;
/** Choice: what fits on two screens; the rest rarely fires. */
const ROWS_FIRST = 30;
const DAY_SECONDS = 86_400;

const TABS = [
  { id: '', title: 'Rules' },
  { id: 'challenger', title: 'Challenger' },
  { id: 'history', title: 'History' },
] as const;

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

/** The policy as it applies: bands, rules with what they did, the challenger, and every change. Read only: the file decides. */
export default function RulesPage(): JSX.Element {
  const url = useUrlState();
  const link = useLink();
  const view = TABS.find(({ id }) => id === url.get('view'))?.id ?? '';
  const policy = useLive<PolicyBody>(v1('/policy'), { everyMs: POLL_MS });
  return (
    <div class="stack">
      <div>
        <Segments
          label="Parts of this page"
          options={TABS.map(({ id, title }) => ({
            title,
            href: link('/dashboard/rules', { view: id }),
            isOn: id === view,
          }))}
        />
      </div>
      {view === 'challenger' && <ChallengerTab policy={policy.data} />}
      {view === 'history' && <HistoryTab />}
      {view === '' && <RulesTab policy={policy} />}
    </div>
  );
}

function useCounts(days: number): Live<RuleCountsBody> {
  // Whole hours, as the statistics are: the URL changes once an hour.
  const to = Math.ceil((minute.value + 60) / 3_600) * 3_600;
  return useLive<RuleCountsBody>(v1('/policy/rules', { from: to - days * DAY_SECONDS, to }), {
    everyMs: COUNTS_POLL_MS,
  });
}

function RulesTab({ policy }: { readonly policy: Live<PolicyBody> }): JSX.Element {
  const day = useCounts(1);
  const week = useCounts(7);
  const { data } = policy;
  const rows = useMemo(
    () => (data === undefined ? [] : toRuleRows(data, day.data, week.data)),
    [data, day.data, week.data],
  );
  return (
    <StateView of={policy} skeleton="tiles">
      {() =>
        data !== undefined && (
          <div class="stack">
            <Head policy={data} />
            <Section title="Bands" note="the lowest score of each decision">
              <BandChart policy={data} />
            </Section>
            <RuleTable rows={rows} day={day} week={week} />
          </div>
        )
      }
    </StateView>
  );
}

function Head({ policy }: { readonly policy: PolicyBody }): JSX.Element {
  const changed = policy.rules.filter(({ is_changed: isChanged }) => isChanged).length;
  const off = policy.rules.filter(({ enabled }) => !enabled).length;
  return (
    <>
      {policy.is_refused && (
        <p class="notice" role="alert">
          <Icon name="warning" size={14} /> The current policy file is invalid. The last valid one applies; the log
          names the error.
        </p>
      )}
      <Tiles label="Policy">
        <Tile
          title="Version"
          value={<span class="version">{cutText(visibleText(policy.version), 40)}</span>}
          note={
            <>
              {policy.source === 'file' ? 'policy file' : 'default policy'}
              {/* In simulated time, the defaults apply from the beginning of the clock. */}
              {policy.loaded_at > 0 && (
                <>
                  , since <Time at={policy.loaded_at} />
                </>
              )}
            </>
          }
        />
        <Tile
          title="Mode"
          value={policy.mode}
          note={`${policy.mode === 'observe' ? 'every decision is Allow' : 'decisions apply'}; grants are ${policy.grant}; identities in the log: ${policy.log_identities}`}
          tone={policy.mode === 'observe' ? 'warn' : undefined}
        />
        <Tile
          title="Rules"
          value={formatCount(policy.rules.length)}
          note={`${countOf(changed, 'changed', 'changed')}, ${formatCount(off)} off`}
        />
        <Tile title="Sampled for review" value={formatPercent(policy.sample_rate)} note="of all decisions" />
      </Tiles>
    </>
  );
}

function RuleTable({
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
  const isOpen = open !== undefined;
  const columns: readonly Column<RuleRow>[] = [
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
  return (
    <div class={isOpen ? 'with-pane with-pane-open' : 'with-pane'}>
      <Section title="Rules" note={`${formatCount(shown.length)} of ${formatCount(rows.length)}`} flush>
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
            columns={columns}
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
      {open !== undefined && (
        <RulePane row={open} examined={week.data?.examined} closeHref={url.href({ rule: null })} />
      )}
    </div>
  );
}

/** A number once it was read; until then nothing is claimed. */
function countCell(count: number, { data }: Live<RuleCountsBody>): JSX.Element {
  if (data === undefined) return <span class="faint">…</span>;
  return <span class={count === 0 ? 'faint' : undefined}>{formatCount(count)}</span>;
}
