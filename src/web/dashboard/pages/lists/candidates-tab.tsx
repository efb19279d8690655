import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { CandidateRow } from '../../../../contract/wire-types.ts';
import type { ListAction } from '../../../../contract/vocabulary.ts';
import { v1 } from '../../api.ts';
import { type Column, focusedRow, DataTable } from '../../components/data-table.tsx';
import { DecisionBadge } from '../../components/decision-badge.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Button, Field, Select } from '../../components/fields.tsx';
import { FilterChips, ValueSegments } from '../../components/filter-chips.tsx';
import { ListActionDialog } from '../../components/list-action-dialog.tsx';
import { Section } from '../../components/pane.tsx';
import { Reasons } from '../../components/reasons.tsx';
import { Empty, EndOfRows, StateView } from '../../components/state-view.tsx';
import { Time } from '../../components/time.tsx';
import { countOf, DECISION_ORDER, DECISION_WORDS, formatCount, formatScore, shortHash } from '../../format.ts';
import { useKeys } from '../../keyboard.ts';
import { linkPath } from '../../link-path.ts';
import { ACTIONS, type ListChange } from '../../list-actions.ts';
import { isReadOnly } from '../../session.ts';
import { useLink, useUrlState } from '../../url-state.ts';
import { usePages } from '../../use-pages.ts';
import { BatchPreview } from './batch-preview.tsx';
import { ActionTag } from './entries-tab.tsx';

const PAGE_ROWS = 50;
const POLL_MS = 30_000;
/** Source: a fingerprint from more networks in a day is common (docs/api.md, lists). */
const COMMON_NETWORKS = 20;
/** As for a single entry: blocks end after 30 days by default. */
const BLOCK_SECONDS = 30 * 86_400;

/** Fingerprints of flagged decisions, with how many each of them is, and one key to put it on the list. */
export function CandidatesTab(): JSX.Element {
  const url = useUrlState();
  const link = useLink();
  const decision = DECISION_ORDER.find((name) => name !== 'ALLOW' && name === url.get('decision')) ?? null;
  const q = url.get('q');
  const rows = usePages<CandidateRow>(v1('/lists/candidates', { usage: true, limit: PAGE_ROWS, decision, q }), {
    idOf: ({ fingerprint_hash: hash }) => hash,
    everyMs: POLL_MS,
  });
  const [asked, setAsked] = useState<{ readonly hash: string; readonly action: ListAction } | null>(null);
  const canWrite = !isReadOnly();
  const [isTrying, setTrying] = useState(false);
  useKeys(
    'Candidates',
    ACTIONS.map((action) => ({
      keys: action.slice(0, 1),
      does: `${action} the fingerprint of the row (asks)`,
      run: () => {
        const hash = focusedRow();
        if (hash === null || !canWrite) return false;
        setAsked({ hash, action });
        return true;
      },
    })),
    [canWrite],
  );
  const columns: readonly Column<CandidateRow>[] = [
    { id: 'hash', title: 'Fingerprint', render: ({ fingerprint_hash: hash }) => <code>{shortHash(hash)}</code> },
    {
      id: 'decision',
      title: 'Newest',
      render: (row) => <DecisionBadge value={row.decision} wouldBe={row.would_be} />,
    },
    { id: 'score', title: 'Score', align: 'right', render: ({ score }) => formatScore(score) },
    { id: 'hits', title: 'Seen in 24 h', render: (row) => <Radius row={row} /> },
    { id: 'reasons', title: 'Reasons', grows: true, render: ({ reasons }) => <Reasons reasons={reasons} /> },
    { id: 'at', title: 'Last', optional: true, render: ({ occurred_at: at }) => <Time at={at} ago /> },
    {
      id: 'list',
      title: 'List',
      render: ({ fingerprint_hash: hash, list_action: action }) =>
        action === null ? (
          <Button
            small
            kind="danger"
            disabled={!canWrite}
            aria-label={`Block ${shortHash(hash)}`}
            onClick={() => setAsked({ hash, action: 'block' })}
          >
            Block…
          </Button>
        ) : (
          <ActionTag action={action} />
        ),
    },
  ];
  const clear = url.href({ decision: null, q: null });
  return (
    <Section
      title="Candidates"
      note="fingerprints of your newest 100,000 flagged decisions"
      flush
      actions={
        <Button small disabled={rows.rows.length === 0 || !canWrite} onClick={() => setTrying(true)}>
          Preview for all rows
        </Button>
      }
    >
      <div class="bar">
        <ValueSegments
          label="Decision"
          name="decision"
          values={DECISION_ORDER.slice(1).map((value) => [value, DECISION_WORDS[value]])}
        />
        <SearchField key={q} value={q} onSearch={(text) => url.set({ q: text })} />
        <FilterChips
          chips={q === '' ? [] : [{ id: 'q', name: 'search', value: q, without: url.href({ q: null }) }]}
          clear={clear}
        />
      </div>
      <StateView
        of={rows}
        isEmpty={rows.rows.length === 0}
        empty={<NoCandidates clear={q === '' && decision === null ? null : clear} />}
      >
        {() => (
          <DataTable
            caption="Candidates"
            columns={columns}
            rows={rows.rows}
            keyOf={({ fingerprint_hash: hash }) => hash}
            hrefOf={({ fingerprint_hash: hash }) => link(linkPath('fingerprint', hash))}
          />
        )}
      </StateView>
      <EndOfRows pages={rows} retention="Flagged decisions are kept for 30 days." />
      {asked !== null && (
        <ListActionDialog
          subjects={[{ kind: 'fingerprint', value: asked.hash }]}
          action={asked.action}
          onClose={() => setAsked(null)}
          onDone={({ action }) => rows.replace(asked.hash, (row) => ({ ...row, list_action: action }))}
          onUndone={rows.refresh}
        />
      )}
      {isTrying && (
        <TryAll
          rows={rows.rows}
          onClose={() => setTrying(false)}
          onWritten={() => {
            setTrying(false);
            rows.refresh();
          }}
        />
      )}
    </Section>
  );
}

function Radius({ row: { day, sessions } }: { readonly row: CandidateRow }): JSX.Element {
  if (day === undefined) return <span class="num">{countOf(sessions, 'match', 'matches')}</span>;
  if (day.decisions === 0) return <span class="muted">not seen</span>;
  const isCommon = day.networks > COMMON_NETWORKS;
  return (
    <span class="num">
      {countOf(day.sessions, 'session')} <span class="muted">of</span>{' '}
      {countOf(day.identities, 'identity', 'identities')}{' '}
      <span class={isCommon ? 'tone-warn' : 'muted'}>{countOf(day.networks, 'network')}</span>
    </span>
  );
}

function NoCandidates({ clear }: { readonly clear: string | null }): JSX.Element {
  if (clear !== null)
    return (
      <Empty title="No fingerprint matches">
        <a href={clear}>Clear the filters</a>
      </Empty>
    );
  return (
    <Empty icon="lists" title="No candidates">
      Every decision but <code>ALLOW</code> brings its fingerprint here, if a <code>session_token</code> was sent to{' '}
      <code>POST /v1/decide</code>. Try it: <code>npm run demo</code>.
    </Empty>
  );
}

function SearchField({
  value,
  onSearch,
}: {
  readonly value: string;
  readonly onSearch: (text: string) => void;
}): JSX.Element {
  const [text, setText] = useState(value);
  return (
    <form
      class="bar-field"
      role="search"
      aria-label="Candidates"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(text.trim());
      }}
    >
      <Field
        label="Address, country or reason"
        labelHidden
        placeholder="Address, country or reason"
        type="search"
        value={text}
        onValue={setText}
        maxLength={100}
      />
    </form>
  );
}

/** "Preview: allow all of these": a dry run of one action for all rows that are loaded. */
function TryAll({
  rows,
  onClose,
  onWritten,
}: {
  readonly rows: readonly CandidateRow[];
  readonly onClose: () => void;
  readonly onWritten: () => void;
}): JSX.Element {
  const [action, setAction] = useState<ListAction>('allow');
  const entries = useMemo(() => {
    const endsAt = action === 'block' ? Math.floor(Date.now() / 1_000) + BLOCK_SECONDS : null;
    return rows.map<ListChange>(({ fingerprint_hash: hash }) => ({
      kind: 'fingerprint',
      value: hash,
      action,
      note: null,
      expires_at: endsAt,
    }));
  }, [action]);
  const decisions = rows.reduce((sum, { day }) => sum + (day?.decisions ?? 0), 0);
  const verb = `${action.slice(0, 1).toUpperCase()}${action.slice(1)}`;
  return (
    <Dialog title={`Preview: ${action} all of these`} onClose={onClose} wide>
      <div class="stack">
        <Select
          label="Action"
          value={action}
          onValue={(value) => setAction(ACTIONS.find((name) => name === value) ?? 'allow')}
          choices={ACTIONS.map((name) => ({ value: name, title: name }))}
        />
        <BatchPreview entries={entries} verb={verb} onWritten={onWritten}>
          <p>
            These {countOf(rows.length, 'fingerprint')} made {formatCount(decisions)} of your decisions in the last 24
            h. {SENTENCES[action]}
          </p>
        </BatchPreview>
      </div>
    </Dialog>
  );
}

const SENTENCES: Readonly<Record<ListAction, string>> = {
  allow: 'Allow makes every decision about them an Allow, whatever the score is; it has no end.',
  block: 'Block denies every one of them. These entries end after 30 days.',
  watch: 'Watch changes no decision.',
};
