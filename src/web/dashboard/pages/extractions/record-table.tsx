import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { ExtractionRow } from '../../../../contract/wire-types.ts';
import { request, toFault } from '../../api.ts';
import { Checks } from '../../components/checks.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Button } from '../../components/fields.tsx';
import { Section } from '../../components/pane.tsx';
import { Empty, EndOfRows, FaultView, StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { toast } from '../../components/toast.tsx';
import { offerFile } from '../../download.ts';
import { formatCount, asWords } from '../../format.ts';
import { useUrlState } from '../../url-state.ts';
import { cutText, visibleText } from '../../visible-text.ts';
import { MarkdownPreview } from './markdown-preview.tsx';
import { cellOf } from './record-cells.ts';
import { type ExtractedRecord, recordsUrl, useRecords } from './use-records.ts';

/** Choice: what fits 1,280 pixels without scrolling much. */
const COLUMNS_DEFAULT = 5;
const COLUMNS_MAX = 200;
/** Files made in the browser; larger ones are fetched by a program. */
const RECORDS_MAX = 10_000;
const PAGE_RECORDS = 1_000;

/** Records of one job as a table; which columns is in the URL. */
export function RecordTable({ job }: { readonly job: ExtractionRow }): JSX.Element {
  const url = useUrlState();
  const records = useRecords(job.id, `${job.status} ${job.counts.collected}`);
  const names = columnNames(records.rows);
  const chosen = url.get('cols') === '' ? names.slice(0, COLUMNS_DEFAULT) : url.get('cols').split(',');
  const shown = names.filter((name) => chosen.includes(name));
  const columns = shown.map((name): Column<ExtractedRecord> => ({
    id: name,
    title: cutText(visibleText(asWords(name)), 30),
    render: (record) => <Text value={cellOf(record[name])} charactersMax={60} />,
  }));
  const seq: Column<ExtractedRecord> = { id: '#', title: 'No.', align: 'right', render: ({ _meta: meta }) => meta.seq };
  return (
    <>
      <Section
        title="Records"
        flush
        actions={job.counts.collected === 0 ? undefined : <Downloads id={job.id} />}
        note={job.expires_at === null ? undefined : 'Stored until the job expires'}
      >
        {records.fault?.code === 'records_delivered' ? (
          <Empty icon="extractions" title="The records were sent on">
            They are not stored here: {job.delivery.type === 'webhook' ? 'a webhook' : 'the destination'} has them.
          </Empty>
        ) : records.fault !== null && records.asOfMs === null ? (
          <FaultView fault={records.fault} retry={records.refresh} />
        ) : (
          <StateView
            of={records}
            isEmpty={records.rows.length === 0}
            empty={
              <Empty title="No records">
                {job.status === 'queued' || job.status === 'running'
                  ? 'They appear here while the job runs.'
                  : 'The job ended without one.'}
              </Empty>
            }
          >
            {() => (
              <>
                <details class="padded">
                  <summary>
                    Columns: {formatCount(shown.length)} of {formatCount(names.length)}
                  </summary>
                  <Checks
                    legend="Shown"
                    choices={names.map((name) => ({ value: name, title: cutText(visibleText(name), 40) }))}
                    chosen={shown}
                    onChosen={(values) => url.set({ cols: values.join(',') || null }, { replace: true })}
                  />
                </details>
                <DataTable
                  caption="Records"
                  columns={[seq, ...columns]}
                  rows={records.rows}
                  keyOf={({ _meta: meta }) => String(meta.seq)}
                  keys={false}
                />
              </>
            )}
          </StateView>
        )}
        <EndOfRows pages={records} retention="" />
      </Section>
      <MarkdownPreview records={records.rows} />
    </>
  );
}

/** Names of all fields in the order in which they come; a name with a comma could not be in the URL and is left out. */
function columnNames(rows: readonly ExtractedRecord[]): readonly string[] {
  const names = new Set<string>();
  for (const row of rows)
    for (const name of Object.keys(row)) if (name !== '_meta' && !name.includes(',')) names.add(name);
  return [...names].slice(0, COLUMNS_MAX);
}

const MEDIA_TYPES = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
} as const;

interface Loaded {
  readonly content: string | ArrayBuffer;
  readonly hasMore: boolean;
  /** At most so many. */
  readonly records: number;
}

/**
 * Text: reads pages in the form of the file until 10,000 records are there. Parquet: one page, because each is a whole file. CSV is
 * guarded by the server.
 */
function Downloads({ id }: { readonly id: string }): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const end = useRef(new AbortController());
  const readPage = (format: string, cursor: string | null): Promise<Response> =>
    request(recordsUrl(id, { format, limit: PAGE_RECORDS, cursor }), { signal: end.current.signal, timeoutMs: 60_000 });
  const textOf = async (form: string): Promise<Loaded> => {
    const parts: string[] = [];
    let cursor: string | null = null;
    let hasMore = true;
    let records = 0;
    for (; records < RECORDS_MAX && hasMore; records += PAGE_RECORDS) {
      const response: Response = await readPage(form, cursor);
      parts.push(await response.text());
      cursor = response.headers.get('x-next-cursor');
      hasMore = response.headers.get('link') !== null && cursor !== null;
    }
    return { content: parts.join(''), hasMore, records };
  };
  const parquetOf = async (): Promise<Loaded> => {
    const response = await readPage('parquet', null);
    const hasMore = response.headers.get('link') !== null;
    return { content: await response.arrayBuffer(), hasMore, records: PAGE_RECORDS };
  };
  const run = async (form: keyof typeof MEDIA_TYPES): Promise<void> => {
    setBusy(true);
    try {
      const { content, hasMore, records } = await (form === 'parquet' ? parquetOf() : textOf(form));
      offerFile(`${id}.${form}`, MEDIA_TYPES[form], content);
      if (hasMore) toast(`Saved the first ${formatCount(records)} records: a program can fetch all of them`);
    } catch (error) {
      const { title, code } = toFault(error);
      toast(`The download failed: ${title} (${code})`);
    }
    setBusy(false);
  };
  return (
    <>
      <Button small icon="download" disabled={isBusy} onClick={() => void run('csv')}>
        CSV
      </Button>
      <Button small icon="download" disabled={isBusy} onClick={() => void run('ndjson')}>
        NDJSON
      </Button>
      <Button small icon="download" disabled={isBusy} onClick={() => void run('parquet')}>
        Parquet
      </Button>
    </>
  );
}
