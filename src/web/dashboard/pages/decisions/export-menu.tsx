import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { LoggedDecisionPage, LoggedDecisionRow } from '../../../../contract/wire-types.ts';
import { getJson, type Query, toFault, v1 } from '../../api.ts';
import { Button } from '../../components/fields.tsx';
import { toast } from '../../components/toast.tsx';
import { offerFile } from '../../download.ts';
import { toCsv } from '../../to-csv.ts';
import type { DecisionSearch } from '../../decision-search.ts';
import { countOf } from '../../format.ts';

const ROWS_MAX = 10_000;
const PAGE_ROWS = 1_000;
/** Choice: pages that may be empty, because one call looks at 100,000 rows at most. */
const PAGES_MAX = 50;

/** Exports what is filtered, as CSV or as one JSON object a line: at most 10,000 rows, the newest. */
export function ExportMenu({
  query,
  keeps,
  isOff,
}: {
  readonly query: Query;
  readonly keeps: DecisionSearch['keeps'];
  readonly isOff: boolean;
}): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const run = async (form: 'csv' | 'ndjson'): Promise<void> => {
    setBusy(true);
    try {
      const { rows, isCut } = await readRows(query, keeps);
      const name = `decisions-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.${form}`;
      if (form === 'csv') offerFile(name, 'text/csv', toCsv(COLUMNS, rows.map(toCells)));
      else offerFile(name, 'application/x-ndjson', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
      toast(`Exported ${countOf(rows.length, 'decision')}${isCut ? ', the newest: there are more' : ''}`);
    } catch (error) {
      const { title, code } = toFault(error);
      toast(`The export failed: ${title} (${code})`);
    }
    setBusy(false);
  };
  return (
    <span class="row">
      <Button icon="download" small disabled={isBusy || isOff} onClick={() => void run('csv')}>
        CSV
      </Button>
      <Button icon="download" small disabled={isBusy || isOff} onClick={() => void run('ndjson')}>
        NDJSON
      </Button>
    </span>
  );
}

async function readRows(
  query: Query,
  keeps: DecisionSearch['keeps'],
): Promise<{ readonly rows: readonly LoggedDecisionRow[]; readonly isCut: boolean }> {
  const rows: LoggedDecisionRow[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const body: LoggedDecisionPage = await getJson<LoggedDecisionPage>(
      v1('/decisions', { ...query, limit: PAGE_ROWS, cursor }),
    );
    rows.push(...body.data.filter((row) => keeps === null || keeps(row)));
    if (rows.length >= ROWS_MAX)
      return { rows: rows.slice(0, ROWS_MAX), isCut: rows.length > ROWS_MAX || body.has_more };
    if (!body.has_more) return { rows, isCut: false };
    cursor = body.next_cursor;
  }
  return { rows, isCut: true };
}

const COLUMNS = [
  'request_id',
  'occurred_at',
  'decision',
  'would_be',
  'score',
  'event_type',
  'reasons',
  'country',
  'ip',
  'fingerprint_hash',
  'session_mode',
  'path',
  'label',
];

function toCells(row: LoggedDecisionRow): (string | number | null)[] {
  return [
    row.request_id,
    new Date(row.occurred_at * 1_000).toISOString(),
    row.decision,
    row.would_be ?? null,
    row.score,
    row.event_type,
    row.reasons.join(' '),
    row.country,
    row.ip,
    row.fingerprint_hash,
    row.session_mode,
    row.path,
    row.label,
  ];
}
