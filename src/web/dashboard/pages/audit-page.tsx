import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AuditRow } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { ExportButtons } from '../components/export-buttons.tsx';
import { FactList } from '../components/facts.tsx';
import { Select } from '../components/fields.tsx';
import { Segments } from '../components/filter-chips.tsx';
import { Pane, Section } from '../components/pane.tsx';
import { Empty, EndOfRows, StateView, TooMuch } from '../components/state-view.tsx';
import { Text } from '../components/text.tsx';
import { Time } from '../components/time.tsx';
import { formatUtc, shortId, asWords } from '../format.ts';
import { now } from '../now.ts';
import { useUrlState } from '../url-state.ts';
import { minute } from '../use-range.ts';
import { usePages } from '../use-pages.ts';
import {
  actorShort,
  actorWords,
  changeSentence,
  changesOf,
  entryKey,
  KIND_WORDS,
  targetPath,
} from './audit/audit-words.ts';

const SPANS = [
  { id: '', title: 'All' },
  { id: '24h', title: '24 h', seconds: 86_400 },
  { id: '7d', title: '7 d', seconds: 604_800 },
  { id: '30d', title: '30 d', seconds: 2_592_000 },
  { id: '90d', title: '90 d', seconds: 7_776_000 },
] as const;

const PAGE_ROWS = 100;
/** Rows that one call of a filtered page looks at. Source: `AUDIT_SCAN_ROWS_MAX` of src/kernel/limits.ts. */
const EXAMINED = 2_000;

const COLUMNS: readonly Column<AuditRow>[] = [
  { id: 'at', title: 'When', render: ({ at }) => <Time at={at} /> },
  { id: 'kind', title: 'What', render: ({ kind }) => KIND_WORDS[kind] },
  {
    id: 'target',
    title: 'Of',
    render: ({ target }) => (target === null ? <span class="faint">–</span> : <Text value={shortId(target)} mono />),
  },
  {
    id: 'change',
    title: 'Change',
    grows: true,
    render: (row) => <Text value={changeSentence(row, now.value)} charactersMax={240} />,
  },
  { id: 'who', title: 'Who', render: ({ actor }) => <Text value={actorShort(actor)} charactersMax={40} /> },
];

/** Who changed what: every change of keys, lists, labels, reviews and webhooks, with what it was before. */
export default function AuditPage(): JSX.Element {
  const url = useUrlState();
  const kind = url.get('kind');
  const span = SPANS.find(({ id }) => id === url.get('last')) ?? SPANS[0];
  // Whole hours: the URL of the list would change every minute, and the list begin again.
  const since = 'seconds' in span ? Math.floor(minute.value / 3_600) * 3_600 - span.seconds : null;
  const list = v1('/audit', { kind, since, limit: PAGE_ROWS });
  const [calls, setCalls] = useState(1);
  useEffect(() => setCalls(1), [list]);
  const newest = usePages<AuditRow>(list, { idOf: entryKey, everyMs: 5_000 });
  const pages = {
    ...newest,
    loadMore: () => {
      setCalls((n) => n + 1);
      newest.loadMore();
    },
  };
  const open = url.get('entry');
  const entry = pages.rows.find((row) => entryKey(row) === open);
  const isFiltered = kind !== '' || since !== null;
  return (
    <div class={open === '' ? 'with-pane' : 'with-pane with-pane-open'}>
      <Section
        title="Changes"
        flush
        actions={
          <ExportButtons
            url={list}
            name={`audit${kind === '' ? '' : `-${kind}`}`}
            columns={['at', 'utc', 'kind', 'target', 'actor', 'before', 'after']}
            toCells={toCells}
          />
        }
      >
        <div class="filters padded">
          <Select
            label="Kind"
            labelHidden
            value={kind}
            onValue={(value) => url.set({ kind: value, entry: null })}
            choices={[
              { value: '', title: 'All changes' },
              ...Object.entries(KIND_WORDS).map(([value, title]) => ({ value, title })),
            ]}
          />
          <Segments
            label="Time"
            options={SPANS.map(({ id, title }) => ({
              title,
              href: url.href({ last: id, entry: null }),
              isOn: span.id === id,
            }))}
          />
        </div>
        <StateView
          of={pages}
          isEmpty={pages.rows.length === 0 && !pages.hasMore}
          empty={
            <Empty icon="audit" title={isFiltered ? 'No such change' : 'Nothing was changed yet'}>
              {isFiltered
                ? 'Choose all changes, or a longer time.'
                : 'Every change of keys, lists, labels, reviews and webhooks is recorded here.'}
            </Empty>
          }
        >
          {() =>
            pages.rows.length === 0 ? null : (
              <DataTable
                caption="Changes"
                columns={COLUMNS}
                rows={pages.rows}
                keyOf={entryKey}
                hrefOf={(row) => url.href({ entry: entryKey(row) })}
                selected={open || null}
              />
            )
          }
        </StateView>
        {pages.hasMore && kind !== '' && pages.rows.length < PAGE_ROWS && (
          <TooMuch examined={EXAMINED * calls} found={pages.rows.length} onMore={pages.loadMore} />
        )}
        <EndOfRows pages={pages} retention="Entries are kept for 400 days, at most 10,000." />
      </Section>
      {open !== '' && (
        <Pane title={entry === undefined ? 'Change' : KIND_WORDS[entry.kind]} closeHref={url.href({ entry: null })}>
          {entry === undefined ? (
            <p class="muted">This entry is not among the rows that are loaded. Load more, or remove a filter.</p>
          ) : (
            <Entry entry={entry} />
          )}
        </Pane>
      )}
    </div>
  );
}

function Entry({ entry }: { readonly entry: AuditRow }): JSX.Element {
  const path = targetPath(entry);
  const changes = changesOf(entry, now.value);
  return (
    <div class="stack">
      <FactList
        label="Change"
        facts={[
          {
            title: 'When',
            value: (
              <>
                <Time at={entry.at} /> <span class="muted">({formatUtc(entry.at)})</span>
              </>
            ),
          },
          { title: 'Who', value: <Text value={actorWords(entry.actor)} /> },
          {
            title: 'Of',
            value:
              path === null ? (
                <Text value={entry.target} mono />
              ) : (
                <a href={path}>
                  <Text value={entry.target} mono />
                </a>
              ),
          },
          { title: 'Kind', value: <code>{entry.kind}</code> },
        ]}
      />
      {changes.length === 0 ? (
        <p class="muted">Only the event is recorded for this kind, not the fields.</p>
      ) : (
        <dl class="changes">
          {changes.map(({ name, before, after }) => (
            <div key={name}>
              <dt>
                <Text value={asWords(name)} charactersMax={80} />
              </dt>
              <dd>
                {entry.before !== null && (
                  <span class="change-before">
                    <span class="muted">before</span> <Text value={before ?? 'none'} charactersMax={1_000} />
                  </span>
                )}
                {entry.after !== null && (
                  <span class="change-after">
                    <span class="muted">after</span> <Text value={after ?? 'none'} charactersMax={1_000} />
                  </span>
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {entry.before === null && entry.after !== null && <p class="muted">It did not exist before.</p>}
      {entry.after === null && entry.before !== null && <p class="muted">It no longer exists.</p>}
    </div>
  );
}

function toCells(row: AuditRow): readonly (string | number | null)[] {
  const { at, kind, target, actor, before, after } = row;
  return [at, formatUtc(at), kind, target, actor, factsText(before), factsText(after)];
}

function factsText(facts: AuditRow['before']): string | null {
  return facts === null ? null : JSON.stringify(facts);
}
