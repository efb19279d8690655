import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { PolicyBody, RuleCountsBody } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { Segments } from '../components/filter-chips.tsx';
import { Icon } from '../components/icon.tsx';
import { Section } from '../components/pane.tsx';
import { StateView } from '../components/state-view.tsx';
import { Tile, Tiles } from '../components/tile.tsx';
import { Time } from '../components/time.tsx';
import { countOf, formatCount, formatPercent } from '../format.ts';
import { useLink, useUrlState } from '../url-state.ts';
import { type Live, useLive } from '../use-live.ts';
import { minute } from '../use-range.ts';
import { cutText, visibleText } from '../visible-text.ts';
import { BandChart } from './rules/band-chart.tsx';
import { ChallengerTab } from './rules/challenger-tab.tsx';
import { HistoryTab } from './rules/history-tab.tsx';
import { OwnRulesTab } from './rules/own-rules-tab.tsx';
import { toRuleRows } from './rules/rule-rows.ts';
import { RuleTable } from './rules/rule-table.tsx';

const POLL_MS = 30_000;
/** Choice: each response is a count of up to 100,000 decisions. */
const COUNTS_POLL_MS = 60_000;
const DAY_SECONDS = 86_400;

const TABS = [
  { id: '', title: 'Rules' },
  { id: 'own', title: 'Your own' },
  { id: 'challenger', title: 'Challenger' },
  { id: 'history', title: 'History' },
] as const;

/** The policy as it applies: bands, rules with what they did, rules of the customer's own, the challenger, and every change. */
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
      {view === 'own' && <OwnRulesTab logDays={policy.data?.log_requests_days} />}
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
      {(data) => (
        <div class="stack">
          <Head policy={data} />
          <Section title="Bands" note="the lowest score of each decision">
            <BandChart policy={data} />
          </Section>
          <RuleTable rows={rows} day={day} week={week} />
        </div>
      )}
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
