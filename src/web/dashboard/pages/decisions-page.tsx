import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LoggedDecisionRow } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { DataTable } from '../components/data-table.tsx';
import { DECISION_COLUMNS } from '../components/decision-columns.tsx';
import { FilterChips, ValueSegments } from '../components/filter-chips.tsx';
import { Pane, Section, WithPane } from '../components/pane.tsx';
import { Empty, EndOfRows, StateView, TooMuch } from '../components/state-view.tsx';
import { DECISION_ORDER, DECISION_WORDS, formatCount, shortId } from '../format.ts';
import { useKeys } from '../keyboard.ts';
import { decisionPath } from '../link-path.ts';
import { type DecisionSearch, readSearch, withoutTerm } from '../decision-search.ts';
import { useUrlState } from '../url-state.ts';
import { usePages } from '../use-pages.ts';
import { type Range, useRange } from '../use-range.ts';
import { DecisionSummary } from './decision/decision-summary.tsx';
import { ExportMenu } from './decisions/export-menu.tsx';
import { RangeHistogram } from './decisions/range-histogram.tsx';

const EVERY_MS = 2_000;
const PAGE_ROWS = 100;
/** Maximum rows that one call of the API searches. Source: docs/api.md, "Decisions". */
const EXAMINED_MAX = 100_000;

/** Returns the parameters of `GET /v1/decisions` for what the URL asks for. Ranges that end now have no end: new rows belong to them. */
export function toQuery(search: DecisionSearch, decision: string, range: Range): Record<string, string | number> {
  const { from, to, endsNow } = range;
  return {
    ...search.filters,
    ...(decision === '' ? {} : { decision }),
    since: from,
    ...(endsNow ? {} : { until: to }),
  };
}

/** Search of decisions: a histogram, a table, and a pane with one decision. */
export default function DecisionsPage(): JSX.Element {
  const url = useUrlState();
  const { range } = useRange();
  const q = url.get('q');
  const decision = url.get('decision');
  const open = url.get('open');
  const search = readSearch(q);
  const isSearchable = search.faults.length === 0;
  // The start of a range that ends now moves every minute; the list keeps the one that it began with.
  const since = useRef({ key: '', from: 0 });
  const key = JSON.stringify([
    q,
    decision,
    range.id,
    range.endsNow ? 0 : range.from,
    range.to * Number(!range.endsNow),
  ]);
  if (since.current.key !== key) since.current = { key, from: range.from };
  const query = toQuery(search, decision, { ...range, from: since.current.from });
  const pages = usePages<LoggedDecisionRow>(isSearchable ? v1('/decisions', { ...query, limit: PAGE_ROWS }) : null, {
    idOf: ({ request_id: id }) => id,
    everyMs: EVERY_MS,
    after: true,
  });
  const rows = search.keeps === null ? pages.rows : pages.rows.filter(search.keeps);
  // A page that is not full although there is more: the search reached the maximum of one call.
  const isTooMuch = pages.hasMore && rows.length < pages.pagesRead * PAGE_ROWS;
  const isShort = pages.rows.length < pages.pagesRead * PAGE_ROWS;
  const chips = search.terms.map((term, n) => ({
    id: `${n} ${term.text}`,
    name: term.name,
    value: term.value,
    without: url.href({ q: withoutTerm(search.terms, term) }),
  }));
  const pane =
    open === '' ? null : (
      <Pane
        title={shortId(open)}
        closeHref={url.href({ open: null })}
        actions={
          <a class="button button-small" href={decisionPath(open)}>
            Open page
          </a>
        }
      >
        <DecisionSummary id={open} />
      </Pane>
    );
  return (
    <WithPane pane={pane}>
      <div class="stack">
        <div class="row spread">
          <ValueSegments
            label="Decision"
            name="decision"
            values={DECISION_ORDER.map((value) => [value, DECISION_WORDS[value]])}
          />
          <ExportMenu query={query} keeps={search.keeps} disabled={!isSearchable} />
        </div>
        <SearchField text={q} onSearch={(text) => url.set({ q: text, open: null })} />
        <FilterChips chips={chips} clear={url.href({ q: null })} />
        {search.faults.map((fault) => (
          <p key={fault} class="notice" role="alert">
            {fault}
          </p>
        ))}
        <RangeHistogram search={search} decision={decision} />
        <Section title="Decisions" note={pages.rows.length === 0 ? '' : `${formatCount(rows.length)} loaded`} flush>
          <StateView
            of={pages}
            isEmpty={rows.length === 0 && !isTooMuch}
            empty={
              <Empty icon="decisions" title="No decision matches">
                {chips.length === 0 && decision === ''
                  ? 'None was made in this range. Choose a longer one at the top.'
                  : 'Remove a filter, or choose a longer range at the top.'}
                {search.terms.some(({ name }) => name === 'text') &&
                  ' Text finds parts of addresses, countries and reasons; an identity needs its name, as in user:7.'}
                {search.filters.email_domain !== undefined &&
                  ' Domains are found only where the policy keeps identities: "log_identities": "masked".'}
              </Empty>
            }
          >
            {() => (
              <>
                <DataTable
                  caption="Decisions, newest first"
                  columns={DECISION_COLUMNS}
                  rows={rows}
                  keyOf={({ request_id: id }) => id}
                  hrefOf={({ request_id: id }) => url.href({ open: id })}
                  selected={open === '' ? null : open}
                />
                {isTooMuch ? (
                  <TooMuch
                    examined={isShort ? pages.pagesRead * EXAMINED_MAX : pages.rows.length}
                    found={rows.length}
                    onMore={pages.loadMore}
                  />
                ) : (
                  <EndOfRows
                    pages={{ ...pages, rows }}
                    retention="Allow decisions are kept for 24 h, all others for 30 days; at most 1,000,000 decisions."
                  />
                )}
              </>
            )}
          </StateView>
        </Section>
      </div>
    </WithPane>
  );
}

function SearchField({
  text,
  onSearch,
}: {
  readonly text: string;
  readonly onSearch: (text: string) => void;
}): JSX.Element {
  const [value, setValue] = useState(text);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setValue(text), [text]);
  useKeys('Decisions', [{ keys: 'f', does: 'Filter', run: () => input.current?.focus() }], []);
  return (
    <form
      class="search search-page"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(value.trim());
      }}
    >
      <input
        ref={input}
        class="search-input"
        type="text"
        aria-label="Filter decisions"
        placeholder="ip:203.0.113.7  country:DE  asn:64496  path:/login  reason:ip_tor  email:anna@example.com  score>70"
        value={value}
        maxLength={500}
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => setValue(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') event.currentTarget.blur();
        }}
      />
      <button class="button button-small" type="submit">
        Filter
      </button>
    </form>
  );
}
