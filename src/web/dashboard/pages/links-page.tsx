import type { JSX } from 'preact';
import { useLocation, useRoute } from 'preact-iso/router';
import { useMemo, useState } from 'preact/hooks';
import type { FingerprintBody, LinkSummaryBody, LoggedDecisionRow } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { Copy } from '../components/copy.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { DecisionBadge } from '../components/decision-badge.tsx';
import { DECISION_COLUMNS_SHORT } from '../components/decision-columns.tsx';
import { Button, Field, Select } from '../components/fields.tsx';
import { Segments, ValueSegments } from '../components/filter-chips.tsx';
import { Section } from '../components/pane.tsx';
import { Empty, EndOfRows, Skeleton, StateView } from '../components/state-view.tsx';
import { Text } from '../components/text.tsx';
import { Tile, Tiles } from '../components/tile.tsx';
import { Time } from '../components/time.tsx';
import { countOf, formatCount, formatShare } from '../format.ts';
import { isIdentity, kindWords, linkPath, shortValue, toSearch } from '../link-path.ts';
import { usePageTitle } from '../page-title.ts';
import { useLink, useUrlState } from '../url-state.ts';
import { useLive } from '../use-live.ts';
import { useModule } from '../use-module.ts';
import { usePages } from '../use-pages.ts';
import { useWide } from '../use-wide.ts';
import { cutText, visibleText } from '../visible-text.ts';
import { FingerprintEntry } from './links/fingerprint-entry.tsx';
import { toGraph } from './links/graph-data.ts';
import { LaneChart } from './links/lane-chart.tsx';
import { defaultLaneKind, distinctLinks, laneKinds, toLanes } from './links/lanes.ts';

/** Choice: dots of the time line, and decisions of which devices, identities and countries are counted. */
const ROWS = 500;
const ROWS_FIRST = 20;
const NEIGHBOURS_FIRST = 20;
const POLL_MS = 10_000;
const HASH = /^[0-9a-f]{64}$/;
const RETENTION = 'Flagged decisions are kept for 30 days, others for 24 h.';

type Neighbour = LinkSummaryBody['neighbours'][number];

const NEIGHBOURS: readonly Column<Neighbour>[] = [
  {
    id: 'value',
    title: 'Value',
    grows: true,
    render: ({ kind, id }) => <Text value={shortValue(kind, id)} charactersMax={80} mono={kind === 'fingerprint'} />,
  },
  { id: 'kind', title: 'Kind', render: ({ kind }) => visibleText(kindWords(kind)) },
  { id: 'count', title: 'Decisions', align: 'right', render: ({ count }) => formatCount(count) },
  { id: 'worst', title: 'Worst', render: ({ worst }) => <DecisionBadge value={worst} /> },
  { id: 'seen', title: 'Last', optional: true, render: ({ last_seen: at }) => <Time at={at} ago /> },
];

/** The time line has the lanes: place and address leave first when there is little room. */
const COLUMNS = DECISION_COLUMNS_SHORT.map((column) =>
  column.id === 'country' || column.id === 'ip' ? { ...column, optional: true } : column,
);

/** One identity, device, address, network or session: who else is this? */
export default function LinksPage(): JSX.Element {
  const { kind = '', value = '' } = useRoute().params;
  return value === '' ? <LinkSearch kind={kind} /> : <LinkPage kind={kind} value={value} />;
}

const KINDS = [
  ['entity.email', 'E-mail'],
  ['entity.user_id', 'User id'],
  ['ip', 'Address'],
  ['network', 'Network'],
  ['fingerprint', 'Fingerprint'],
  ['session', 'Session'],
] as const;

/** Without a value: a form for one. */
function LinkSearch({ kind: given }: { readonly kind: string }): JSX.Element {
  const { route } = useLocation();
  const [kind, setKind] = useState<string>(KINDS.find(([name]) => name === given)?.[0] ?? KINDS[0][0]);
  const [value, setValue] = useState('');
  return (
    <Empty icon="links" title="Whose decisions?">
      <p>Everything about one person, device, address or session: enter a value as you send it to decide.</p>
      <form
        class="row link-search"
        role="search"
        aria-label="Links of a value"
        onSubmit={(event) => {
          event.preventDefault();
          if (value.trim() !== '') route(linkPath(kind, value.trim()));
        }}
      >
        <Select
          label="Kind"
          value={kind}
          onValue={setKind}
          choices={KINDS.map(([name, title]) => ({ value: name, title }))}
        />
        <Field label="Value" value={value} onValue={setValue} maxLength={4_096} autoFocus />
        <Button type="submit" kind="primary">
          Show
        </Button>
      </form>
    </Empty>
  );
}

function LinkPage({ kind, value }: { readonly kind: string; readonly value: string }): JSX.Element {
  const key = `${kind}:${value}`;
  const summary = useLive<LinkSummaryBody>(v1('/links', { kind, value }), { everyMs: POLL_MS });
  const decisions = usePages<LoggedDecisionRow>(v1('/decisions', { link: key, limit: ROWS }), {
    idOf: ({ request_id: id }) => id,
    everyMs: POLL_MS,
    after: true,
  });
  const hash = kind === 'fingerprint' && HASH.test(value) ? value : null;
  const fingerprint = useLive<FingerprintBody>(hash === null ? null : v1(`/fingerprints/${hash}`));
  // Without a summary the rest would repeat its error; without decisions it would be empty.
  const hasMore =
    summary.data === undefined ? summary.fault === null && decisions.fault === null : summary.data.decisions > 0;
  const words = kindWords(kind);
  usePageTitle(`${words.slice(0, 1).toUpperCase()}${words.slice(1)} ${cutText(shortValue(kind, value), 60)}`);
  return (
    <div class="stack" key={key}>
      {hash !== null && (
        <p class="row muted small">
          <code class="text">{hash}</code>
          <Copy text={hash} what="fingerprint" />
        </p>
      )}
      <StateView of={summary} skeleton="tiles" isEmpty={summary.data?.decisions === 0} empty={<Nothing kind={kind} />}>
        {(data) => <Figures data={data} rows={decisions.rows} month={fingerprint.data?.month} />}
      </StateView>
      {hash !== null && <FingerprintEntry hash={hash} found={fingerprint} />}
      {hasMore && (
        <>
          <TimeLine kind={kind} decisions={decisions} />
          {summary.data !== undefined && (
            <Neighbours subject={{ kind, id: value }} data={summary.data} rows={decisions.rows} />
          )}
          <Latest subject={{ kind, id: value }} decisions={decisions} />
        </>
      )}
    </div>
  );
}

function Nothing({ kind }: { readonly kind: string }): JSX.Element {
  const field = isIdentity(kind)
    ? `"entity_keys": {"${visibleText(kindWords(kind))}": …}`
    : kind === 'session' || kind === 'fingerprint'
      ? '"session_token": …'
      : '"ip": …';
  return (
    <Empty icon="links" title={`No decision with this ${visibleText(kindWords(kind))}`}>
      Decisions are linked by what you send to <code>POST /v1/decide</code>: <code>{field}</code>. {RETENTION}
    </Empty>
  );
}

function Figures({
  data,
  rows,
  month,
}: {
  readonly data: LinkSummaryBody;
  readonly rows: readonly LoggedDecisionRow[];
  readonly month: FingerprintBody['month'] | undefined;
}): JSX.Element {
  const isPart = data.decisions > rows.length;
  const note = isPart && month === undefined ? `of the newest ${formatCount(rows.length)}` : undefined;
  // One person often has several: the largest kind counts, as for the rules.
  const byKind = laneKinds(rows, '')
    .filter(isIdentity)
    .map((kind) => [distinctLinks(rows, kind), visibleText(kindWords(kind))] as const);
  const identities = month?.identities ?? byKind[0]?.[0] ?? 0;
  const countries = month?.countries ?? new Set(rows.flatMap(({ country }) => country ?? [])).size;
  const kinds = byKind.map(([count, name]) => `${formatCount(count)} ${name}`).join(', ');
  const isSplit = byKind.length > 1 && byKind[0]?.[0] === identities;
  const { decisions, blocked, challenged, truncated, first_seen: first, last_seen: last } = data;
  return (
    <Tiles label="Figures">
      <Tile
        title="Decisions"
        value={formatCount(decisions)}
        note={truncated ? 'the newest; there are older ones' : undefined}
      />
      <Tile title="Blocked" value={formatShare(blocked, decisions)} note={countOf(blocked, 'decision')} />
      <Tile title="Challenged" value={formatShare(challenged, decisions)} note={countOf(challenged, 'decision')} />
      <Tile title="Identities" value={formatCount(identities)} note={isSplit ? kinds : note} />
      {month === undefined ? (
        <Tile title="Fingerprints" value={formatCount(distinctLinks(rows, 'fingerprint'))} note={note} />
      ) : (
        <Tile title="Networks" value={formatCount(month.networks)} />
      )}
      <Tile title="Countries" value={formatCount(countries)} note={note} />
      <Tile title="First seen" value={<Time at={first} ago />} />
      <Tile title="Last seen" value={<Time at={last} ago />} />
    </Tiles>
  );
}

type Decisions = ReturnType<typeof usePages<LoggedDecisionRow>>;

function TimeLine({ kind, decisions }: { readonly kind: string; readonly decisions: Decisions }): JSX.Element {
  const url = useUrlState();
  const kinds = useMemo(() => laneKinds(decisions.rows, kind), [decisions.rows, kind]);
  const given = url.get('lanes');
  const chosen = kinds.includes(given) ? given : defaultLaneKind(kinds, kind);
  const drawn = decisions.rows.slice(0, ROWS);
  const lanes = useMemo(() => (chosen === null ? [] : toLanes(drawn, chosen)), [decisions.rows, chosen]);
  return (
    <Section
      title="Time line"
      note={decisions.hasMore ? `the newest ${formatCount(drawn.length)} decisions` : undefined}
      actions={
        kinds.length > 1 && (
          <Segments
            label="One lane for each"
            options={kinds.map((name) => ({
              title: visibleText(kindWords(name)),
              href: url.href({ lanes: name }),
              isOn: name === chosen,
            }))}
          />
        )
      }
    >
      <StateView of={decisions} isEmpty={chosen === null} empty={<Empty title="No values to compare" />}>
        {() => chosen !== null && <LaneChart lanes={lanes} kind={chosen} />}
      </StateView>
    </Section>
  );
}

function Neighbours({
  subject,
  data,
  rows,
}: {
  readonly subject: { readonly kind: string; readonly id: string };
  readonly data: LinkSummaryBody;
  readonly rows: readonly LoggedDecisionRow[];
}): JSX.Element {
  const url = useUrlState();
  const link = useLink();
  const isWide = useWide();
  const kinds = [...new Set(data.neighbours.map(({ kind }) => kind))];
  const only = kinds.includes(url.get('kind')) ? url.get('kind') : '';
  const shown = only === '' ? data.neighbours : data.neighbours.filter(({ kind }) => kind === only);
  const view = url.get('view');
  const isAll = url.get('neighbours') === 'all' || shown.length <= NEIGHBOURS_FIRST;
  const hasGraph = view === 'graph' || (view !== 'table' && isWide);
  const Graph = useModule(hasGraph, () => import('./links/link-graph.tsx'))?.default;
  const graph = useMemo(
    () => (hasGraph ? toGraph({ ...subject, count: data.decisions }, shown, rows) : null),
    [data, rows, only, hasGraph],
  );
  return (
    <Section
      title="Linked with"
      note={`${data.neighbours.length >= 100 ? 'the 100 with the most decisions; ' : ''}# is a hash: the value itself is not kept`}
      flush
      actions={
        <Segments
          label="Form"
          options={[
            { title: 'Table', href: url.href({ view: 'table' }), isOn: !hasGraph },
            { title: 'Table and graph', href: url.href({ view: 'graph' }), isOn: hasGraph },
          ]}
        />
      }
    >
      {kinds.length > 1 && (
        <div class="bar">
          <ValueSegments
            label="Kind"
            name="kind"
            values={kinds.map((value) => [value, visibleText(kindWords(value))])}
          />
        </div>
      )}
      {shown.length === 0 ? (
        <Empty title="Linked with nothing else">No other value occurs in these decisions.</Empty>
      ) : (
        <div class={graph === null ? undefined : 'with-graph'}>
          <div class="neighbours">
            <DataTable
              caption="Linked with"
              columns={NEIGHBOURS}
              rows={isAll ? shown : shown.slice(0, NEIGHBOURS_FIRST)}
              keyOf={({ kind, id }) => `${kind} ${id}`}
              hrefOf={({ kind, id }) => link(linkPath(kind, id))}
            />
            {!isAll && (
              <p class="end-of-rows">
                <a href={url.href({ neighbours: 'all' })}>Show all {formatCount(shown.length)}</a>
              </p>
            )}
          </div>
          {graph !== null && (Graph === undefined ? <Skeleton form="chart" /> : <Graph {...graph} />)}
        </div>
      )}
    </Section>
  );
}

function Latest({
  subject,
  decisions,
}: {
  readonly subject: { readonly kind: string; readonly id: string };
  readonly decisions: Decisions;
}): JSX.Element {
  const url = useUrlState();
  const link = useLink();
  const isAll = url.get('rows') === 'all';
  const rows = isAll ? decisions.rows : decisions.rows.slice(0, ROWS_FIRST);
  return (
    <Section
      title="Decisions"
      flush
      actions={
        <a href={link('/dashboard/decisions', { q: toSearch(subject.kind, subject.id), range: '30d' })}>In the log</a>
      }
    >
      <StateView of={decisions} isEmpty={decisions.rows.length === 0} empty={<Empty title="No decision is left" />}>
        {() => (
          <DataTable
            caption="Decisions"
            columns={COLUMNS}
            rows={rows}
            keys={false}
            keyOf={({ request_id: id }) => id}
            hrefOf={({ request_id: id }) => link(`/dashboard/decisions/${id}`)}
          />
        )}
      </StateView>
      {rows.length < decisions.rows.length ? (
        <p class="end-of-rows">
          <a href={url.href({ rows: 'all' })}>Show all {formatCount(decisions.rows.length)}</a>
        </p>
      ) : (
        <EndOfRows pages={decisions} retention={RETENTION} />
      )}
    </Section>
  );
}
