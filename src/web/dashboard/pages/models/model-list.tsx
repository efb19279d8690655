import type { JSX } from 'preact';
import type { ModelsBody } from '../../../../contract/wire-types.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { FactList } from '../../components/facts.tsx';
import { Section } from '../../components/pane.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { asWords, countOf, formatCount, formatPercent } from '../../format.ts';
import type { Live } from '../../use-live.ts';

type Candidate = ModelsBody['candidates'][number];
type Active = ModelsBody['active'];

const COLUMNS: readonly Column<Candidate>[] = [
  { id: 'id', title: 'Candidate', render: ({ id }) => <Text value={id} mono charactersMax={64} /> },
  { id: 'role', title: 'Role', render: ({ role }) => (role === null ? '–' : <span class="tag">{role}</span>) },
  { id: 'trained', title: 'Trained', render: ({ trained_at: at }) => (at === null ? '' : <Time at={at} />) },
  { id: 'prior', title: 'Prior', align: 'right', optional: true, render: ({ prior }) => percentOf(prior) },
  { id: 'budget', title: 'Budget', align: 'right', optional: true, render: ({ budget }) => percentOf(budget) },
  { id: 'threshold', title: 'From', align: 'right', optional: true, render: ({ threshold }) => threshold ?? '' },
  { id: 'gates', title: 'Gates of its report', grows: true, render: gatesOf },
];

/** The active model, the challenger, and every candidate with the gates of its report. */
export function ModelList({ models }: { readonly models: Live<ModelsBody> }): JSX.Element {
  return (
    <Section title="Models" note="of the installation: the same for every customer">
      <StateView of={models}>{(data) => <Loaded data={data} />}</StateView>
    </Section>
  );
}

function Loaded({ data: { active, challenger, candidates } }: { readonly data: ModelsBody }): JSX.Element {
  return (
    <div class="stack">
      <FactList
        label="Models that run"
        facts={[
          { title: 'Active', value: <Slot slot={active} none="none: the rules decide alone" /> },
          { title: 'Challenger', value: <Slot slot={challenger} none="none" /> },
        ]}
      />
      {active.silent !== null && <Breaker silent={active.silent} />}
      {candidates.length === 0 ? (
        <Empty title="No candidate yet">
          <code>npx gatehouse models train</code> writes one, once there is enough to learn from.
        </Empty>
      ) : (
        <>
          <DataTable caption="Candidates" columns={COLUMNS} rows={candidates} keyOf={({ id }) => id} />
          <p class="muted">
            Models change on the command line only. Run a candidate beside the active model, then promote it:
          </p>
          <CodeBlock text={commandsOf(candidates)} label="commands" />
        </>
      )}
    </div>
  );
}

function Slot({ slot, none }: { readonly slot: Omit<Active, 'silent'>; readonly none: string }): JSX.Element {
  const { id, version, state, detail, refused, since } = slot;
  if (state === 'absent') return <span class="muted">{none}</span>;
  return (
    <>
      <Text value={id ?? version ?? ''} mono charactersMax={64} />{' '}
      {since !== null && (
        <>
          since <Time at={since} />{' '}
        </>
      )}
      <StateMark tone={refused || state === 'broken' ? 'bad' : 'good'} word={refused ? 'newer files refused' : state} />{' '}
      {detail !== '' && <Text value={detail} charactersMax={240} />}
    </>
  );
}

/** The circuit breaker has silenced the model. */
function Breaker({ silent }: { readonly silent: NonNullable<Active['silent']> }): JSX.Element {
  return (
    <div class="stack-small" role="status">
      <p>
        <StateMark tone="warn" word="Circuit breaker" /> Since <Time at={silent.since} /> the model adds nothing to your
        decisions: within an hour it alone stopped {formatCount(silent.alarms)} of{' '}
        {countOf(silent.decisions, 'decision')}, over five times its budget. The rules decide alone until a model is
        promoted, or you run:
      </p>
      <CodeBlock text="npx gatehouse models resume" label="command" />
    </div>
  );
}

function gatesOf({ gates, shadow_only: isShadowOnly }: Candidate): JSX.Element {
  if (gates.length === 0 && !isShadowOnly) return <span class="muted">no report</span>;
  return (
    <span class="row">
      {gates.map(({ name, holds }) => (
        <StateMark key={name} tone={holds ? 'good' : 'bad'} word={asWords(name)} />
      ))}
      {isShadowOnly && <span class="tag">only to compare</span>}
    </span>
  );
}

/** What can be done next with the newest candidate that does not run, or with the challenger. */
function commandsOf(candidates: readonly Candidate[]): string {
  const challenger = candidates.find(({ role }) => role === 'challenger');
  const next = candidates.find(({ role }) => role === null);
  return [
    ...(next === undefined ? [] : [`npx gatehouse models shadow ${next.id}`]),
    ...(challenger === undefined ? [] : [`npx gatehouse models promote ${challenger.id}`]),
    'npx gatehouse models rollback',
  ].join('\n');
}

function percentOf(share: number | null): string {
  return share === null ? '' : formatPercent(share);
}
