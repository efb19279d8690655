import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { WirePage } from '../../../contract/wire-types.ts';
import { getJson, toFault } from '../api.ts';
import { offerFile } from '../download.ts';
import { toCsv } from '../to-csv.ts';
import { countOf, formatCount } from '../format.ts';
import { Button } from './fields.tsx';
import { toast } from './toast.tsx';

const ROWS_MAX = 10_000;
/** Choice: filtered pages may be empty; this many calls are a sixtieth of the allowance of a minute. */
const PAGES_MAX = 200;

interface ExportProps<Row> {
  /** All parameters but `cursor`. */
  readonly url: string;
  /** Of the file, without its ending. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly toCells: (row: Row) => readonly (string | number | null)[];
  /** For filters that the API lacks; null: every row. */
  readonly keeps?: ((row: Row) => boolean) | null;
  readonly disabled?: boolean;
}

/** Reads a list of the API to its end, at most 10,000 rows. */
async function readAll<Row>(
  { url, keeps = null }: ExportProps<Row>,
  signal: AbortSignal,
  onRows: (count: number) => void,
): Promise<{ readonly rows: readonly Row[]; readonly isCut: boolean }> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const next = cursor === null ? url : `${url}${url.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
    const body: WirePage<Row> = await getJson<WirePage<Row>>(next, { signal });
    rows.push(...(keeps === null ? body.data : body.data.filter(keeps)));
    onRows(rows.length);
    if (rows.length >= ROWS_MAX)
      return { rows: rows.slice(0, ROWS_MAX), isCut: rows.length > ROWS_MAX || body.has_more };
    if (!body.has_more || body.next_cursor === null) return { rows, isCut: false };
    cursor = body.next_cursor;
  }
  return { rows, isCut: true };
}

/** Saves the rows of a filtered list as CSV, guarded against formulas, or as one JSON object a line. */
export function ExportButtons<Row>(props: ExportProps<Row>): JSX.Element {
  const { name, columns, toCells, disabled = false } = props;
  const [count, setCount] = useState<number | null>(null);
  const end = useRef<AbortController | null>(null);
  useEffect(() => () => end.current?.abort(), []);
  const run = async (form: 'csv' | 'ndjson'): Promise<void> => {
    const own = new AbortController();
    end.current = own;
    setCount(0);
    try {
      const { rows, isCut } = await readAll(props, own.signal, setCount);
      const text =
        form === 'csv' ? toCsv(columns, rows.map(toCells)) : rows.map((row) => `${JSON.stringify(row)}\n`).join('');
      offerFile(`${name}.${form}`, form === 'csv' ? 'text/csv' : 'application/x-ndjson', text);
      toast(`Exported ${countOf(rows.length, 'row')}${isCut ? ', the newest: narrow the filter for others' : ''}`);
    } catch (error) {
      const { title, code } = toFault(error);
      if (!own.signal.aborted) toast(`The export failed: ${title} (${code})`);
    }
    if (!own.signal.aborted) setCount(null);
  };
  const isOff = disabled || count !== null;
  return (
    <>
      {count !== null && <span class="muted num">{formatCount(count)} rows …</span>}
      <Button small icon="download" disabled={isOff} onClick={() => void run('csv')}>
        CSV
      </Button>
      <Button small icon="download" disabled={isOff} onClick={() => void run('ndjson')}>
        NDJSON
      </Button>
    </>
  );
}
