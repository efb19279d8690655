import type { JSX } from 'preact';
import type { ModelsBody } from '../../../../contract/wire-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { FactList } from '../../components/facts.tsx';
import { Section } from '../../components/pane.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { asWords, countOf, formatCount, formatPercent } from '../../format.ts';
import { isReadOnly } from '../../session.ts';
import type { Live } from '../../use-live.ts';
import { ChooseButton } from './choose-button.tsx';

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
      <StateView of={models}>{(data) => <Loaded data={data} onDone={models.refresh} />}</StateView>
    </Section>
  );
}

function Loaded({
  data: { active, challenger, candidates },
  onDone,
}: {
  readonly data: ModelsBody;
  readonly onDone: () => void;
}): JSX.Element {
  const columns = isReadOnly()
    ? COLUMNS
    : [
        ...COLUMNS,
        { id: 'choose', title: 'Next', render: (one: Candidate) => <Choices candidate={one} onDone={onDone} /> },
      ];
  return (
    <div class="stack">
      <FactList
        label="Models that run"
        facts={[
          { title: 'Active', value: <Slot slot={active} none="none: the rules decide alone" /> },
          { title: 'Challenger', value: <Slot slot={challenger} none="none" /> },
        ]}
      />
      {active.silent !== null && <Breaker silent={active.silent} onDone={onDone} />}
      {active.id !== null && !isReadOnly() && (
        <p>
          <ChooseButton word="Roll back" wish={{ action: 'rollback' }} onDone={onDone}>
            The model before the last promotion decides again, for the whole installation. A second time undoes it.
          </ChooseButton>
        </p>
      )}
      {candidates.length === 0 ? (
        <Empty title="No candidate yet">
          <code>npx gatehouse models train</code> writes one, once there is enough to learn from.
        </Empty>
      ) : (
        <DataTable caption="Candidates" columns={columns} rows={candidates} keyOf={({ id }) => id} />
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
function Breaker({
  silent,
  onDone,
}: {
  readonly silent: NonNullable<Active['silent']>;
  readonly onDone: () => void;
}): JSX.Element {
  return (
    <div class="stack-small" role="status">
      <p>
        <StateMark tone="warn" word="Circuit breaker" /> Since <Time at={silent.since} /> the model adds nothing to your
        decisions: within an hour it alone stopped {formatCount(silent.alarms)} of{' '}
        {countOf(silent.decisions, 'decision')}, over five times its budget. The rules decide alone for 24 hours.
      </p>
      {!isReadOnly() && (
        <p>
          <ChooseButton word="Resume" wish={{ action: 'resume' }} onDone={onDone}>
            The model counts again, for every customer.
          </ChooseButton>
        </p>
      )}
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

/** What can be done next with a candidate. */
function Choices({
  candidate: { id, role },
  onDone,
}: {
  readonly candidate: Candidate;
  readonly onDone: () => void;
}): JSX.Element {
  if (role === 'active') return <></>;
  if (role === null)
    return (
      <ChooseButton word="Run beside" wish={{ action: 'shadow', id }} onDone={onDone}>
        {id} runs beside the active model, and decides nothing. One that runs there now ends.
      </ChooseButton>
    );
  return (
    <span class="row">
      <ChooseButton word="Promote" wish={{ action: 'promote', id }} onDone={onDone}>
        {id} decides for the whole installation, if every gate of the comparison below holds.
      </ChooseButton>
      <ChooseButton word="End" wish={{ action: 'end_shadow' }} onDone={onDone}>
        {id} no longer runs beside the active model.
      </ChooseButton>
    </span>
  );
}

function percentOf(share: number | null): string {
  return share === null ? '' : formatPercent(share);
}
