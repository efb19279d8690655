import { isTag, type Element, type ParentNode } from 'domhandler';
import { attribute, elementsNamed, findElements, textOf, words, type HtmlPage } from './html.ts';
import { orNull } from './page-text.ts';

/** A table as a grid. A cell that spans rows or columns is repeated in each of them. */
export interface PageTable {
  /** From 0, in page order. */
  readonly index: number;
  readonly caption: string | null;
  /** One unique header per grid column; `column_1` etc. if the table names none. */
  readonly headers: readonly string[];
  /** Without the header rows. Each row is as wide as `headers`; null where there is no cell. */
  readonly rows: readonly (readonly (string | null)[])[];
}

export interface PageTables {
  readonly tables: readonly PageTable[];
  /** Tables, rows or columns exceeded the limits and are missing. */
  readonly isCut: boolean;
}

/** Choice: maximum number of tables of one page, of columns of one table, and of cells in all tables of a page. */
const TABLES_MAX = 1_000;
const COLUMNS_MAX = 200;
const CELLS_MAX = 200_000;
/** Choice: maximum number of characters of one cell. */
const CELL_CHARACTERS_MAX = 10_000;

/** Returns the page's tables that have rows, without those declared as layout. */
export function readTables(page: HtmlPage): PageTables {
  const tables: PageTable[] = [];
  const budget: Budget = { cellsLeft: CELLS_MAX, isCut: false };
  for (const element of elementsNamed(page, 'table').filter((table) => !isLayout(table))) {
    if (tables.length >= TABLES_MAX || budget.cellsLeft <= 0) {
      budget.isCut = true;
      break;
    }
    const table = readTable(element, tables.length, budget);
    if (table !== null) tables.push(table);
  }
  return { tables, isCut: budget.isCut };
}

interface Budget {
  cellsLeft: number;
  isCut: boolean;
}

function isLayout(table: Element): boolean {
  return words(table, 'role').some((role) => role === 'presentation' || role === 'none');
}

function readTable(table: Element, index: number, budget: Budget): PageTable | null {
  const rows = rowsOf(table);
  const grid = gridOf(rows, budget);
  const width = Math.max(0, ...grid.map((cells) => cells.length));
  const headerRows = headerRowsOf(rows);
  const body = grid
    .slice(headerRows)
    .filter((cells) => cells.some((cell) => cell !== null && cell !== ''))
    .map((cells) => Array.from({ length: width }, (_, at) => cells[at] ?? null));
  if (body.length === 0) return null;
  const caption = findElements(table, ({ name }) => name === 'caption', 1)[0];
  const isOwn = caption !== undefined && caption.parent === table;
  return {
    index,
    caption: isOwn ? orNull(textOf(caption, isOfRows), CELL_CHARACTERS_MAX) : null,
    headers: headersOf(grid.slice(0, headerRows), width),
    rows: body,
  };
}

interface Row {
  readonly element: Element;
  /** The row is in a `thead`. */
  readonly isHead: boolean;
  /** Number of rows up to the end of its group, including itself. */
  groupRowsLeft: number;
}

/** Returns the table's own rows, not those of nested tables. The head comes first and the foot last, wherever they are in the markup. */
function rowsOf(table: Element): readonly Row[] {
  const groups: { readonly name: string; readonly rows: Element[] }[] = [];
  for (const child of partsOf(table)) {
    if (child.name === 'tr') {
      const last = groups.at(-1);
      if (last?.name === 'tr') last.rows.push(child);
      else groups.push({ name: 'tr', rows: [child] });
    } else if (isOfRows(child))
      groups.push({ name: child.name, rows: elementsIn(child).filter(({ name }) => name === 'tr') });
  }
  return groups
    .sort((a, b) => rank(a.name) - rank(b.name))
    .flatMap(({ name, rows }) =>
      rows.map((element, at) => ({ element, isHead: name === 'thead', groupRowsLeft: rows.length - at })),
    );
}

/**
 * Returns the parts of a table. Captions and column groups may omit their end tags, and the parser then puts the rows into them. Recursive,
 * which is safe because the depth of the tree is limited.
 */
function partsOf(parent: ParentNode): Element[] {
  return elementsIn(parent).flatMap((child) =>
    child.name === 'caption' || child.name === 'colgroup' ? partsOf(child) : [child],
  );
}

function isOfRows({ name }: Element): boolean {
  return ['tr', 'thead', 'tbody', 'tfoot'].includes(name);
}

function rank(group: string): number {
  return group === 'thead' ? 0 : group === 'tfoot' ? 2 : 1;
}

function elementsIn(parent: ParentNode): Element[] {
  return parent.children.filter(isTag);
}

interface Spanning {
  readonly text: string;
  rowsLeft: number;
}

/** Fills the grid row by row. A cell goes to the first column that is not covered by a cell from above. */
function gridOf(rows: readonly Row[], budget: Budget): (string | null)[][] {
  let above: (Spanning | undefined)[] = [];
  const grid: (string | null)[][] = [];
  for (const row of rows) {
    const line: (string | null)[] = [];
    const below: (Spanning | undefined)[] = [];
    above.forEach((spanning, column) => {
      if (spanning === undefined) return;
      line[column] = spanning.text;
      budget.cellsLeft--;
      if (spanning.rowsLeft > 1) below[column] = { ...spanning, rowsLeft: spanning.rowsLeft - 1 };
    });
    for (const cell of elementsIn(row.element).filter(isCell)) placeCell(cell, row, line, below, budget);
    grid.push(Array.from(line, (text) => text ?? null));
    above = below;
    if (budget.cellsLeft <= 0) break;
  }
  if (grid.length < rows.length) budget.isCut = true;
  return grid;
}

function isCell(element: Element): boolean {
  return element.name === 'td' || element.name === 'th';
}

function placeCell(
  cell: Element,
  row: Row,
  line: (string | null)[],
  below: (Spanning | undefined)[],
  budget: Budget,
): void {
  let column = 0;
  while (line[column] !== undefined) column++;
  if (column >= COLUMNS_MAX) {
    budget.isCut = true;
    return;
  }
  const text = textOf(cell, ({ name }) => name === 'table').slice(0, CELL_CHARACTERS_MAX);
  const columns = Math.max(1, span(cell, 'colspan'));
  const wanted = span(cell, 'rowspan');
  const rows = Math.min(wanted === 0 ? row.groupRowsLeft : wanted, row.groupRowsLeft);
  for (let i = 0; i < columns && column + i < COLUMNS_MAX && line[column + i] === undefined; i++) {
    line[column + i] = text;
    if (rows > 1) below[column + i] = { text, rowsLeft: rows - 1 };
    budget.cellsLeft--;
  }
}

/** Returns 1 if the value is invalid. 0 is valid for rows and means up to the end of the group. */
function span(cell: Element, name: 'colspan' | 'rowspan'): number {
  const value = Number.parseInt(attribute(cell, name) ?? '1', 10);
  return Number.isNaN(value) || value < 0 ? 1 : value;
}

/**
 * Returns the number of header rows: those of `thead`, else the first rows, as long as they contain only header cells and a row is left
 * below them.
 */
function headerRowsOf(rows: readonly Row[]): number {
  const heads = rows.filter(({ isHead }) => isHead).length;
  if (heads > 0) return heads;
  const isHeader = ({ element }: Row): boolean => {
    const cells = elementsIn(element).filter(isCell);
    return cells.length > 0 && cells.every(({ name }) => name === 'th');
  };
  const first = rows.findIndex((row) => !isHeader(row));
  return first === -1 ? 0 : first;
}

/** Joins the headers of several rows. Adds a number to a duplicate name, so that a row can be an object. */
function headersOf(rows: readonly (readonly (string | null)[])[], width: number): readonly string[] {
  const taken = new Set<string>();
  return Array.from({ length: width }, (_, column) => {
    const parts = [...new Set(rows.map((cells) => cells[column] ?? '').filter(Boolean))];
    const name = parts.join(' / ') || `column_${column + 1}`;
    let unique = name;
    for (let copy = 2; taken.has(unique); copy++) unique = `${name}_${copy}`;
    taken.add(unique);
    return unique;
  });
}
