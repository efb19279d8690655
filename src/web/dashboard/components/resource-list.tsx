import type { ComponentChildren, JSX } from 'preact';
import { v1 } from '../api.ts';
import { type UrlChange, useUrlState } from '../url-state.ts';
import { type Pages, usePages } from '../use-pages.ts';
import { type Column, DataTable } from './data-table.tsx';
import { Button } from './fields.tsx';
import type { IconName } from './icon.tsx';
import { ListFilterBar, type ListFilter, useListSelection } from './list-filters.tsx';
import { Section, WithPane } from './pane.tsx';
import { Empty, EndOfRows, StateView, TooMuch } from './state-view.tsx';

/** A list of the API as data: `useResource` reads it, `ResourceList` shows it with its filters and its empty states. */
export interface ResourceSpec<Row> {
  /** Of the section; the table is read out by this name too. */
  readonly title: string;
  readonly icon: IconName;
  /** Path of the API: `/webhooks`. */
  readonly path: string;
  /** Rows of one call. */
  readonly pageRows: number;
  /** Milliseconds between polls for newer rows. */
  readonly everyMs: number;
  readonly keyOf: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  readonly filters?: readonly ListFilter<Row>[];
  /** A row is a link that sets the parameter `name` of the URL to its key, and `also` others. */
  readonly opens?: { readonly name: string; readonly also?: UrlChange };
  readonly empty: EmptyWords;
  /** Instead of `empty` when a filter is set. */
  readonly noMatch?: EmptyWords;
  /** Below the last row: how long rows are kept. */
  readonly retention: string;
  /** Rows that one call examines for a filter, if the API has such a bound. */
  readonly examinedMax?: number;
  /** False where another table of the page moves by keys. */
  readonly hasKeys?: boolean;
}

interface EmptyWords {
  readonly title: string;
  readonly text: ComponentChildren;
}

export interface Resource<Row> {
  readonly spec: ResourceSpec<Row>;
  /** URL of the list with its filters, without a cursor. */
  readonly url: string;
  readonly pages: Pages<Row>;
  /** The loaded rows that the filters select. */
  readonly rows: readonly Row[];
  readonly isFiltered: boolean;
  /** Key of the open row; '' if none is open. */
  readonly openKey: string;
}

/** Reads a list with the filters of the URL. */
export function useResource<Row>(spec: ResourceSpec<Row>): Resource<Row> {
  const { get } = useUrlState();
  const { query, keeps, isFiltered } = useListSelection(spec.filters ?? []);
  const url = v1(spec.path, { ...query, limit: spec.pageRows });
  const pages = usePages<Row>(url, { idOf: spec.keyOf, everyMs: spec.everyMs });
  const openKey = spec.opens === undefined ? '' : get(spec.opens.name);
  return { spec, url, pages, rows: pages.rows.filter(keeps), isFiltered, openKey };
}

/** The section of a list. `pane` stands beside it, null while it is closed; `children` stand below the rows. */
export function ResourceList<Row>({
  of,
  note,
  actions,
  pane,
  children,
}: {
  readonly of: Resource<Row>;
  readonly note?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly pane?: JSX.Element | null;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const url = useUrlState();
  const { spec, pages, rows, isFiltered, openKey } = of;
  const { filters = [], examinedMax, opens, keyOf } = spec;
  const list = (
    <Section title={spec.title} note={note} actions={actions} flush>
      {filters.length > 0 && <ListFilterBar filters={filters} />}
      <StateView of={pages} isEmpty={rows.length === 0} empty={<NoRows of={of} />}>
        {() => (
          <DataTable
            caption={spec.title}
            columns={spec.columns}
            rows={rows}
            keyOf={keyOf}
            selected={openKey || null}
            keys={spec.hasKeys ?? true}
            {...(opens && { hrefOf: (row: Row) => url.href({ ...opens.also, [opens.name]: keyOf(row) }) })}
          />
        )}
      </StateView>
      {examinedMax !== undefined && isFiltered && pages.hasMore && rows.length < spec.pageRows && (
        <TooMuch examined={examinedMax * pages.pagesRead} found={rows.length} onMore={pages.loadMore} />
      )}
      <EndOfRows pages={{ ...pages, rows }} retention={spec.retention} />
      {children}
    </Section>
  );
  return pane === undefined ? list : <WithPane pane={pane}>{list}</WithPane>;
}

function NoRows<Row>({ of }: { readonly of: Resource<Row> }): JSX.Element | null {
  const { spec, pages, isFiltered } = of;
  // The bound of a call is named below the list.
  if (pages.hasMore && spec.examinedMax !== undefined) return null;
  if (pages.hasMore)
    return (
      <Empty title={`None among the newest ${spec.title.toLowerCase()}`}>
        <p>There are older ones: narrow the filter, or continue the search.</p>
        <Button onClick={pages.loadMore} disabled={pages.loadingMore}>
          {pages.loadingMore ? 'Looking…' : 'Continue'}
        </Button>
      </Empty>
    );
  const { title, text } = (isFiltered ? spec.noMatch : undefined) ?? spec.empty;
  return (
    <Empty icon={spec.icon} title={title}>
      {text}
    </Empty>
  );
}
