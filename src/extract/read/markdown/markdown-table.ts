import { isTag, type Element, type ParentNode } from 'domhandler';
import { attribute, findElements } from '../html.ts';
import type { ElementWalk } from './markdown-walk.ts';

/** Choice: wider tables lay a page out. */
const COLUMNS_MAX = 60;
/** Choice: more columns or rows than this are not what an attribute means. */
const SPAN_MAX = 1_000;

/** A cell that goes on into the rows below. */
interface Spanning {
  readonly text: string;
  rowsLeft: number;
}

interface Row {
  readonly cells: readonly Element[];
  readonly isHead: boolean;
}

/** Writes a table with one line for each row; one that lays out a page as the blocks in its cells. */
export function writeTable(walk: ElementWalk, table: Element): void {
  const rows = rowsOf(walk, table);
  const columns = rows.reduce((most, { cells }) => Math.max(most, widthOf(cells)), 0);
  writeCaption(walk, table);
  if (columns > COLUMNS_MAX || isLayout(table, rows, columns)) {
    for (const { cells } of rows) for (const cell of cells) walk.blocks(cell);
    return;
  }
  const [first, ...others] = rows;
  if (first === undefined) return;
  const hasHead = first.isHead || first.cells.every(({ name }) => name === 'th');
  const spanning: (Spanning | undefined)[] = [];
  const lines = [
    lineOfRow(hasHead ? textsOf(walk, first, columns, spanning) : Array.from({ length: columns }, () => '')),
    lineOfRow(marksOf(rows, columns)),
  ];
  for (const row of hasHead ? others : rows) {
    if (walk.writer.left.characters <= 0) break;
    lines.push(lineOfRow(textsOf(walk, row, columns, spanning)));
    // The same text may be in many rows.
    walk.writer.left.characters -= columns;
  }
  walk.writer.block(lines.join('\n'));
}

function rowsOf(walk: ElementWalk, table: Element): readonly Row[] {
  const rows: Row[] = [];
  const gather = (node: ParentNode, isHead: boolean): void => {
    for (const child of node.children) {
      if (!isTag(child) || walk.isGone(child)) continue;
      if (child.name === 'tr') rows.push({ cells: cellsOf(walk, child), isHead });
      else if (/^(?:thead|tbody|tfoot)$/.test(child.name)) gather(child, child.name === 'thead');
    }
  };
  gather(table, false);
  return rows.filter(({ cells }) => cells.length > 0);
}

function cellsOf(walk: ElementWalk, row: Element): readonly Element[] {
  return row.children.filter(
    (child): child is Element => isTag(child) && (child.name === 'td' || child.name === 'th') && !walk.isGone(child),
  );
}

function isLayout(table: Element, rows: readonly Row[], columns: number): boolean {
  const role = attribute(table, 'role');
  if (columns <= 1 || role === 'presentation' || role === 'none') return true;
  if (rows.length === 1 && rows[0]?.cells.every(({ name }) => name === 'td') === true) return true;
  return findElements(table, ({ name }) => name === 'table', 1).length > 0;
}

function writeCaption(walk: ElementWalk, table: Element): void {
  for (const child of table.children) {
    if (!isTag(child) || walk.isGone(child)) continue;
    if (child.name === 'caption') walk.block(child);
  }
}

function widthOf(cells: readonly Element[]): number {
  return cells.reduce((width, cell) => width + spanOf(cell, 'colspan'), 0);
}

function spanOf(cell: Element, name: 'colspan' | 'rowspan'): number {
  const span = Number.parseInt(attribute(cell, name) ?? '1', 10);
  return span >= 1 ? Math.min(SPAN_MAX, span) : 1;
}

function marksOf(rows: readonly Row[], columns: number): readonly string[] {
  const cells = rows.find((row) => row.cells.length === columns)?.cells ?? [];
  return Array.from({ length: columns }, (_, column) => {
    const cell = cells[column];
    const style = /text-align\s*:\s*(\w+)/i.exec(cell?.attribs['style'] ?? '')?.[1];
    const align = (style ?? cell?.attribs['align'] ?? '').toLowerCase();
    return align === 'right' ? '---:' : align === 'center' ? ':---:' : '---';
  });
}

/** Returns the texts of a row. A cell over several rows is repeated in each, and one over several columns is followed by empty ones. */
function textsOf(
  walk: ElementWalk,
  { cells }: Row,
  columns: number,
  spanning: (Spanning | undefined)[],
): readonly string[] {
  const texts: string[] = [];
  const given = cells.values();
  while (texts.length < columns) {
    const above = spanning[texts.length];
    if (above !== undefined && above.rowsLeft > 0) {
      above.rowsLeft--;
      walk.writer.left.characters -= above.text.length;
      texts.push(above.text);
      continue;
    }
    const next = given.next();
    if (next.done === true) {
      texts.push('');
      continue;
    }
    const text = textOfCell(walk, next.value);
    const rowsLeft = spanOf(next.value, 'rowspan') - 1;
    const width = Math.min(spanOf(next.value, 'colspan'), columns - texts.length);
    for (let at = 0; at < width; at++) {
      const own = at === 0 ? text : '';
      spanning[texts.length] = { text: own, rowsLeft };
      texts.push(own);
    }
  }
  // Cells of a row that is wider than the table because of the rows above.
  const rest = [...given].map((cell) => textOfCell(walk, cell)).filter((text) => text !== '');
  return rest.length === 0 ? texts : [...texts.slice(0, -1), [texts.at(-1), ...rest].join(' ')];
}

function textOfCell(walk: ElementWalk, cell: Element): string {
  return walk
    .lineOf(cell, 'element')
    .toString()
    .replaceAll('|', String.raw`\|`);
}

function lineOfRow(texts: readonly string[]): string {
  return `| ${texts.join(' | ')} |`;
}
