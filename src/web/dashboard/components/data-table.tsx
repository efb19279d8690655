import type { ComponentChildren, JSX } from 'preact';
import { useLocation } from 'preact-iso/router';
import { useRef, useState } from 'preact/hooks';
import { useKeys } from '../keyboard.ts';
import { usePhone } from '../use-wide.ts';
import { Button } from './fields.tsx';

/** Choice: cards of a phone before "more"; a hundred of them were 24,000 pixels. */
const CARDS = 20;

export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  readonly render: (row: Row) => ComponentChildren;
  /** For numbers: right-aligned. */
  readonly align?: 'left' | 'right';
  /** Takes the rest of the width; its content is cut. At most one. */
  readonly grows?: boolean;
  /** Hidden below 1,100 px; cards on narrow screens show it again. */
  readonly optional?: boolean;
}

/**
 * A semantic table. With `hrefOf` every row is a real link: middle click and "open in a new tab" work anywhere on it. `j`, `k` and the
 * arrow keys move between rows, Enter opens. At 600 px the rows become cards, each value with the title of its column.
 */
export function DataTable<Row>({
  caption,
  columns,
  rows,
  keyOf,
  hrefOf,
  selected,
  keys = true,
  rowClass,
}: {
  /** Read out, not shown: there is a heading. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly hrefOf?: (row: Row) => string;
  /** Key of the row that is open beside the table. */
  readonly selected?: string | null;
  /** False where a page has more than one table: only the main one moves by keys. */
  readonly keys?: boolean;
  readonly rowClass?: (row: Row) => string;
}): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const [cardsMax, setCardsMax] = useState(CARDS);
  const shown = usePhone() ? rows.slice(0, cardsMax) : rows;
  const { route } = useLocation();
  const move = (by: number): boolean => {
    const links = [...(body.current?.querySelectorAll<HTMLElement>('[data-row]') ?? [])];
    if (links.length === 0) return false;
    const focused = links.findIndex((link) => link === document.activeElement);
    const open = links.findIndex((link) => link.dataset['row'] === selected);
    const from = focused === -1 ? open : focused;
    const next = links[Math.min(links.length - 1, Math.max(0, from === -1 && by < 0 ? 0 : from + by))];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
    // With a pane open, the pane follows the focused row.
    const href = next?.getAttribute('href') ?? null;
    if (selected !== undefined && selected !== null && href !== null) route(href, true);
    return next !== undefined;
  };
  useKeys(
    'Table',
    keys
      ? [
          { keys: 'j', does: 'Next row', run: () => move(1) },
          { keys: 'k', does: 'Previous row', run: () => move(-1) },
          { keys: 'ArrowDown', does: 'Next row', run: () => move(1), hidden: true },
          { keys: 'ArrowUp', does: 'Previous row', run: () => move(-1), hidden: true },
        ]
      : [],
    [keys, selected, route],
  );
  return (
    // Without links nothing inside would scroll it by keys.
    <div class="table-frame" tabIndex={hrefOf === undefined ? 0 : undefined}>
      <table class="table">
        <caption class="hidden-text">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" class={cellClass(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {shown.map((row) => {
            const key = keyOf(row);
            const isOpen = selected === key;
            const href = hrefOf?.(row);
            return (
              <tr key={key} class={`${isOpen ? 'row-open' : ''} ${rowClass?.(row) ?? ''}`.trim() || undefined}>
                {columns.map((column, n) => (
                  <td key={column.id} class={cellClass(column)} data-title={column.title}>
                    {n === 0 && href !== undefined ? (
                      <a class="row-link" href={href} data-row={key} aria-current={isOpen ? 'true' : undefined}>
                        {column.render(row)}
                      </a>
                    ) : (
                      <span class="cell">{column.render(row)}</span>
                    )}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
      {shown.length < rows.length && (
        <p class="end-of-rows">
          <Button onClick={() => setCardsMax(cardsMax + CARDS)}>Show more rows</Button>
        </p>
      )}
    </div>
  );
}

/** Key of the row that has the focus, for keys that act on it; null outside of a table. */
export function focusedRow(): string | null {
  const { activeElement } = document;
  return activeElement instanceof HTMLElement ? (activeElement.dataset['row'] ?? null) : null;
}

function cellClass({
  align,
  grows,
  optional,
}: Pick<Column<never>, 'align' | 'grows' | 'optional'>): string | undefined {
  const classes = [
    align === 'right' ? 'right' : '',
    grows === true ? 'grows' : '',
    optional === true ? 'optional' : '',
  ];
  return classes.filter(Boolean).join(' ') || undefined;
}
