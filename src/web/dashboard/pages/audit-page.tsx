import type { JSX } from 'preact';
import type { AuditRow } from '../../../contract/wire-types.ts';
import type { Column } from '../components/data-table.tsx';
import { ResourceList, type ResourceSpec, useResource } from '../components/resource-list.tsx';
import { ExportButtons } from '../components/export-buttons.tsx';
import { FactList } from '../components/facts.tsx';
import { Pane } from '../components/pane.tsx';
import { Text } from '../components/text.tsx';
import { Time } from '../components/time.tsx';
import { formatUtc, shortId, asWords } from '../format.ts';
import { now } from '../now.ts';
import { useUrlState } from '../url-state.ts';
import { minute } from '../use-range.ts';
import {
  actorShort,
  actorWords,
  changeSentence,
  changesOf,
  entryKey,
  KIND_WORDS,
  targetPath,
} from './audit/audit-words.ts';

/** By their value in the URL. */
const SPANS: Readonly<Record<string, { readonly title: string; readonly seconds: number }>> = {
  '24h': { title: '24 h', seconds: 86_400 },
  '7d': { title: '7 d', seconds: 604_800 },
  '30d': { title: '30 d', seconds: 2_592_000 },
  '90d': { title: '90 d', seconds: 7_776_000 },
};

/** Rows that one call of a filtered page examines. Source: `AUDIT_SCAN_ROWS_MAX` of src/kernel/limits.ts. */
const EXAMINED_MAX = 2_000;

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

const CHANGES: ResourceSpec<AuditRow> = {
  title: 'Changes',
  icon: 'audit',
  path: '/audit',
  pageRows: 100,
  everyMs: 5_000,
  keyOf: entryKey,
  columns: COLUMNS,
  filters: [
    {
      name: 'kind',
      form: 'select',
      label: 'Kind',
      all: 'All changes',
      values: Object.entries(KIND_WORDS),
      also: { entry: null },
    },
    {
      name: 'last',
      form: 'segments',
      label: 'Time',
      values: Object.entries(SPANS).map(([value, { title }]) => [value, title]),
      query: (span) => ({ since: sinceOf(span) }),
      also: { entry: null },
    },
  ],
  opens: { name: 'entry' },
  empty: {
    title: 'Nothing was changed yet',
    text: 'Every change of keys, lists, labels, reviews and webhooks is recorded here.',
  },
  noMatch: { title: 'No such change', text: 'Choose all changes, or a longer time.' },
  retention: 'Entries are kept for 400 days, at most 10,000.',
  examinedMax: EXAMINED_MAX,
};

/** Returns the start of a span, Unix seconds; null for all time. Whole hours: the list begins again when its URL changes. */
function sinceOf(span: string): number | null {
  const seconds = SPANS[span]?.seconds;
  return seconds === undefined ? null : Math.floor(minute.value / 3_600) * 3_600 - seconds;
}

/** Every change of keys, lists, labels, reviews and webhooks, with its author and the values before. */
export default function AuditPage(): JSX.Element {
  const url = useUrlState();
  const changes = useResource(CHANGES);
  const { openKey } = changes;
  const kind = url.get('kind');
  return (
    <ResourceList
      of={changes}
      actions={
        <ExportButtons
          url={changes.url}
          name={`audit${kind === '' ? '' : `-${kind}`}`}
          columns={['at', 'utc', 'kind', 'target', 'actor', 'before', 'after']}
          toCells={toCells}
        />
      }
      pane={
        openKey === '' ? null : (
          <EntryPane
            entry={changes.rows.find((row) => entryKey(row) === openKey)}
            closeHref={url.href({ entry: null })}
          />
        )
      }
    />
  );
}

function EntryPane({
  entry,
  closeHref,
}: {
  readonly entry: AuditRow | undefined;
  readonly closeHref: string;
}): JSX.Element {
  return (
    <Pane title={entry === undefined ? 'Change' : KIND_WORDS[entry.kind]} closeHref={closeHref}>
      {entry === undefined ? (
        <p class="muted">This entry is not among the rows that are loaded. Load more, or remove a filter.</p>
      ) : (
        <Entry entry={entry} />
      )}
    </Pane>
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
