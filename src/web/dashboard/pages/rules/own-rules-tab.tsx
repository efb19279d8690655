import type { JSX } from 'preact';
import type { FactRow, OwnRuleListBody, OwnRuleRow } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Icon } from '../../components/icon.tsx';
import { Section } from '../../components/pane.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { formatCount } from '../../format.ts';
import { useKeys } from '../../keyboard.ts';
import { isReadOnly } from '../../session.ts';
import { useUrlState } from '../../url-state.ts';
import { useLive } from '../../use-live.ts';
import { visibleText } from '../../visible-text.ts';
import { effectWords, enforceAgainWords, tripWords } from './own-rule-form.ts';
import { OwnRulePane } from './own-rule-pane.tsx';

/** Choice: each response is a count of up to 100,000 decisions. */
const POLL_MS = 60_000;
const NEW = 'new';

const COLUMNS: readonly Column<OwnRuleRow>[] = [
  {
    id: 'code',
    title: 'Rule',
    render: (row) => (
      <>
        <Text value={row.code} charactersMax={48} mono />
        {row.source === 'policy' && <span class="tag rule-tag">policy file</span>}
        {row.shadowed && <span class="tag rule-tag">shadowed</span>}
      </>
    ),
  },
  {
    id: 'when',
    title: 'Condition',
    grows: true,
    optional: true,
    render: ({ when }) => <Text value={when} charactersMax={90} mono />,
  },
  { id: 'effect', title: 'Effect', render: effectWords },
  { id: 'mode', title: 'Mode', render: (row) => <RuleMode rule={row} /> },
  { id: 'fired', title: 'Fired 24 h', align: 'right', render: (row) => countCell(row.fired_24h) },
  { id: 'observed', title: 'Observed 24 h', align: 'right', render: (row) => countCell(row.observed_24h) },
  { id: 'people', title: 'People', align: 'right', render: (row) => countCell(row.people_24h) },
];

function countCell(count: number): JSX.Element {
  return <span class={count === 0 ? 'faint' : undefined}>{formatCount(count)}</span>;
}

/** Whether a rule runs, and if not, why. */
export function RuleMode({
  rule,
}: {
  readonly rule: Pick<OwnRuleRow, 'mode' | 'errors' | 'shadowed' | 'tripped_at'>;
}): JSX.Element {
  if (rule.errors.length > 0) return <StateMark tone="bad" word="does not run" />;
  if (rule.shadowed) return <StateMark tone="idle" word="does not run" />;
  if (rule.tripped_at !== null) return <StateMark tone="warn" word="set back to observe" />;
  return rule.mode === 'enforce' ? (
    <StateMark tone="good" word="enforced" />
  ) : (
    <StateMark tone="idle" word="observed" />
  );
}

/** Rules of the customer's own: what each did in 24 hours, and their editor. */
export function OwnRulesTab({ logDays }: { readonly logDays: number | undefined }): JSX.Element {
  const url = useUrlState();
  const rules = useLive<OwnRuleListBody>(v1('/rules'), { everyMs: POLL_MS });
  const facts = useLive<{ readonly data: readonly FactRow[] }>(v1('/rules/facts'));
  const code = url.get('own');
  const { data } = rules;
  const open = data?.data.find((row) => row.code === code);
  const tripped = (data?.data ?? []).filter((row) => row.tripped_at !== null && !row.shadowed);
  const close = url.href({ own: null, backtest: null });
  useKeys(
    'Rules',
    isReadOnly() ? [] : [{ keys: 'n', does: 'New rule', run: () => url.set({ own: NEW, backtest: null }) }],
    [url],
  );
  return (
    <div class={code === '' ? 'with-pane' : 'with-pane with-pane-open'}>
      <Section
        title="Your own rules"
        flush
        actions={
          isReadOnly() ? undefined : (
            <a class="button" href={url.href({ own: NEW, backtest: null })}>
              <Icon name="plus" /> New rule
            </a>
          )
        }
      >
        {tripped.map((row) => (
          <p key={row.code} class="notice policy-note" role="alert">
            <Icon name="warning" size={14} />{' '}
            <a href={url.href({ own: row.code, backtest: null })}>
              <Text value={row.code} charactersMax={48} mono />
            </a>{' '}
            was set back to observe: {tripWords(row)} {enforceAgainWords(row)}
          </p>
        ))}
        <StateView
          of={rules}
          isEmpty={data?.data.length === 0}
          empty={
            <Empty icon="rules" title="No rule of your own yet">
              <p>
                A rule says what you know and Gatehouse does not: “a first order of over 500 from an account of less
                than a day”. Press “New rule”: it is only observed until you enforce it.
              </p>
            </Empty>
          }
        >
          {() => (
            <DataTable
              caption="Your own rules"
              columns={COLUMNS}
              rows={data?.data ?? []}
              keyOf={(row) => `${row.source} ${row.code}`}
              hrefOf={(row) => url.href({ own: row.code, backtest: null })}
              selected={open === undefined ? null : `${open.source} ${open.code}`}
            />
          )}
        </StateView>
        <UnreadNames of="" names={data?.ignored_members ?? []} />
        <UnreadNames of="attributes." names={data?.undeclared_attributes ?? []} />
        <p class="policy-note muted small">
          Fired: decisions that the rule had an effect on. Observed: it fired and changed nothing. People: the first
          identity of a decision, or its session.
          {data?.examined.is_truncated === true &&
            ` Counted over the newest ${formatCount(data.examined.decisions)} decisions.`}
          {data !== undefined &&
            data.unreadable > 0 &&
            ` ${formatCount(data.unreadable)} stored rules cannot be read by this version and do not run.`}
        </p>
      </Section>
      {(code === NEW || open !== undefined) && (
        <OwnRulePane
          key={code}
          code={code === NEW ? null : code}
          counts={open}
          rules={data?.data ?? []}
          facts={facts.data?.data ?? []}
          logDays={logDays}
          closeHref={close}
          onChanged={(changed) => {
            rules.refresh();
            url.set(changed === null ? { own: null, backtest: null } : { own: changed });
          }}
        />
      )}
    </div>
  );
}

/** Names in decide requests that nothing reads. */
function UnreadNames({
  of,
  names,
}: {
  readonly of: string;
  readonly names: OwnRuleListBody['ignored_members'];
}): JSX.Element {
  return (
    <>
      {names.map(({ name, did_you_mean: meant }) => (
        <p key={name} class="policy-note">
          <Icon name="warning" size={14} /> You send <code>{visibleText(`${of}${name}`)}</code>, and nothing reads it.
          {meant === undefined ? '' : ` Did you mean ${of}${meant}?`}
        </p>
      ))}
    </>
  );
}
