import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ExtractionCreatedBody, ExtractionRow } from '../../../../contract/wire-types.ts';
import { type ApiFault, send, toFault, v1 } from '../../api.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Button } from '../../components/fields.tsx';
import { FaultView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { countOf } from '../../format.ts';
import { now } from '../../now.ts';
import { isReadOnly } from '../../session.ts';
import { useLive } from '../../use-live.ts';
import { cutText, visibleText } from '../../visible-text.ts';
import { activityOf } from './job-words.ts';
import { cellOf } from './record-cells.ts';
import { emptyCount, trialOf } from './select-words.ts';
import { type ExtractedRecord, useRecords } from './use-records.ts';

/** Shows what the fields of a form select on its first page, before the job is started. */
export function SelectTrial({ input }: { readonly input: Readonly<Record<string, unknown>> }): JSX.Element | null {
  const [id, setId] = useState<string | null>(null);
  const [names, setNames] = useState<readonly string[]>([]);
  const [fault, setFault] = useState<ApiFault | null>(null);
  const [isBusy, setBusy] = useState(false);
  const trial = trialOf(input);
  if (isReadOnly()) return null;
  const run = async (): Promise<void> => {
    setBusy(true);
    setFault(null);
    setId(null);
    try {
      const made = await send<ExtractionCreatedBody>('POST', v1('/extractions'), trial);
      setNames(Object.keys(input['fields'] as object));
      setId(made.id);
    } catch (error) {
      setFault(toFault(error));
    }
    setBusy(false);
  };
  return (
    <div class="stack-small">
      <div class="row">
        <Button disabled={trial === null || isBusy} onClick={() => void run()}>
          Show matches
        </Button>
        <span class="muted small">Reads the first page only, as an extraction that counts like any other.</span>
      </div>
      {fault !== null && <FaultView fault={fault} />}
      {id !== null && <Matches key={id} id={id} names={names} />}
    </div>
  );
}

interface MatchesProps {
  readonly id: string;
  readonly names: readonly string[];
}

function Matches({ id, names }: MatchesProps): JSX.Element {
  const [hasEnded, setEnded] = useState(false);
  const job = useLive<ExtractionRow>(v1(`/extractions/${encodeURIComponent(id)}`), hasEnded ? {} : { everyMs: 1_000 });
  const { data } = job;
  const isOver = data?.status === 'succeeded' || data?.status === 'failed';
  if (isOver && !hasEnded) setEnded(true);
  if (job.fault !== null) return <FaultView fault={job.fault} />;
  if (!isOver) return <p role="status">Reading the page…</p>;
  return (
    <>
      <p role="status">
        {data.status === 'failed' ? (
          <Text value={activityOf(data, now.value)} charactersMax={400} />
        ) : (
          `${countOf(data.counts.collected, 'record')} on this page.`
        )}
      </p>
      {data.counts.collected > 0 && <MatchTable id={id} names={names} />}
    </>
  );
}

/** Mounted when the job has ended: its records are read once. */
function MatchTable({ id, names }: MatchesProps): JSX.Element | null {
  const { rows, fault } = useRecords(id, '');
  if (fault !== null) return <FaultView fault={fault} />;
  if (rows.length === 0) return null;
  return (
    <DataTable
      caption="Matches"
      columns={names.map((name): Column<ExtractedRecord> => ({
        id: name,
        title: `${cutText(visibleText(name), 30)}: ${emptyCount(rows, name)} of ${rows.length} empty`,
        render: (record) => <Text value={cellOf(record[name])} charactersMax={60} />,
      }))}
      rows={rows}
      keyOf={({ _meta: meta }) => String(meta.seq)}
      keys={false}
    />
  );
}
