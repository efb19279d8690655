import type { JSX } from 'preact';
import type { Query } from '../api.ts';
import { type UrlChange, useUrlState } from '../url-state.ts';
import { Select } from './fields.tsx';
import { FilterChips, ValueSegments } from './filter-chips.tsx';

/** A filter of a list. Its value is a parameter of the URL, so that a filtered list can be linked. */
export interface ListFilter<Row> {
  /** Of the parameter in the URL and, unless `query` or `matches` is set, in the API. */
  readonly name: string;
  readonly label: string;
  /** A chip is set by links from elsewhere; in the list it is only shown and removed. */
  readonly form: 'segments' | 'select' | 'chip';
  /** Values with their titles; a chip has none. */
  readonly values?: readonly (readonly [string, string])[];
  /** Title of a select without a value. */
  readonly all?: string;
  /** Text of a chip, by default its value. */
  readonly textOf?: (value: string) => string;
  /** Returns the parameters of the API for a value, '' among them. */
  readonly query?: (value: string) => Query;
  /** For a filter that the API lacks: the page leaves out rows that do not match. */
  readonly matches?: (row: Row, value: string) => boolean;
  /** Other parameters of the URL that change with this one. */
  readonly also?: UrlChange;
  /** Selects what the list is about: it does not count as a filter where no row is found. */
  readonly isSubject?: boolean;
}

export interface ListSelection<Row> {
  /** Parameters of the API. */
  readonly query: Query;
  readonly keeps: (row: Row) => boolean;
  readonly isFiltered: boolean;
}

/** Returns the rows that the filters in the URL select. */
export function useListSelection<Row>(filters: readonly ListFilter<Row>[]): ListSelection<Row> {
  const { get } = useUrlState();
  const active = filters.filter(({ name }) => get(name) !== '');
  const queries = filters.map(({ name, matches, query }) => {
    if (matches !== undefined) return {};
    return query === undefined ? { [name]: get(name) } : query(get(name));
  });
  return {
    query: Object.assign({}, ...queries) as Query,
    keeps: (row) => active.every(({ name, matches }) => matches === undefined || matches(row, get(name))),
    isFiltered: active.some(({ isSubject }) => isSubject !== true),
  };
}

/** The filters above a list. */
export function ListFilterBar<Row>({ filters }: { readonly filters: readonly ListFilter<Row>[] }): JSX.Element {
  const url = useUrlState();
  const chips = filters.filter(({ form }) => form === 'chip');
  return (
    <div class="filters padded">
      {filters.map(({ form, name, label, values = [], all = 'All', also = {} }) => {
        if (form === 'segments')
          return <ValueSegments key={name} label={label} name={name} values={values} also={also} />;
        if (form === 'chip') return null;
        return (
          <Select
            key={name}
            label={label}
            labelHidden
            value={url.get(name)}
            onValue={(value) => url.set({ ...also, [name]: value })}
            choices={[['', all] as const, ...values].map(([value, title]) => ({ value, title }))}
          />
        );
      })}
      <FilterChips
        chips={chips
          .filter(({ name }) => url.get(name) !== '')
          .map(({ name, label, textOf = String, also }) => ({
            id: name,
            name: label,
            value: textOf(url.get(name)),
            without: url.href({ ...also, [name]: null }),
          }))}
        clear={url.href(Object.assign({}, ...chips.map(({ name, also }) => ({ ...also, [name]: null }))) as UrlChange)}
      />
    </div>
  );
}
