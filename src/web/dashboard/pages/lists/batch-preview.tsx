import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type ApiFault, toFault } from '../../api.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Button } from '../../components/fields.tsx';
import { Icon } from '../../components/icon.tsx';
import { FaultView, Skeleton } from '../../components/state-view.tsx';
import { toast } from '../../components/toast.tsx';
import { countOf, formatCount } from '../../format.ts';
import { kindTitle, type ListChange, shortSubject, subjectId } from '../../list-actions.ts';
import { warningOf } from '../../list-writes.ts';
import { visibleText } from '../../visible-text.ts';
import { type TriedEntry, tryEntries, UNDO_ENTRIES_MAX, writeTried } from './list-batch.ts';

/** Choice: rows of the difference on the page; the sentence counts all. */
const ROWS_MAX = 100;

const COLUMNS: readonly Column<TriedEntry>[] = [
  { id: 'kind', title: 'Kind', render: ({ entry }) => kindTitle(entry.kind) },
  { id: 'value', title: 'Value', render: ({ entry }) => <code>{visibleText(shortSubject(entry))}</code> },
  {
    id: 'change',
    title: 'Change',
    render: ({ entry, result }) =>
      result.status === 422
        ? 'refused'
        : result.change === 'unchanged'
          ? `stays ${entry.action}`
          : `${result.before ?? 'not on the list'} → ${entry.action}`,
  },
  { id: 'warning', title: 'Note', grows: true, render: ({ result }) => <Remark result={result} /> },
];

function Remark({ result }: Pick<TriedEntry, 'result'>): JSX.Element | null {
  if (result.status === 422)
    return (
      <span class="tone-bad">{visibleText(result.errors?.map(({ message }) => message).join(' ') ?? 'not valid')}</span>
    );
  if (result.warning === undefined) return null;
  if (result.warning !== 'common_fingerprint') return <span class="tone-warn">{warningOf(result).trim()}</span>;
  return (
    <span class="tone-warn">
      <Icon name="warning" size={12} /> common: {countOf(result.networks_24h ?? 0, 'network')} in 24 h
    </span>
  );
}

/** Shows the effect of writing these entries, by a dry run; the button then writes them. `children` stand below the summary. */
export function BatchPreview({
  entries,
  verb,
  onWritten,
  children,
}: {
  readonly entries: readonly ListChange[];
  /** On the button: `Write 12 entries`. */
  readonly verb: string;
  readonly onWritten: () => void;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const [tried, setTried] = useState<readonly TriedEntry[] | null>(null);
  const [fault, setFault] = useState<ApiFault | null>(null);
  const [isBusy, setBusy] = useState(false);
  const attempt = (): void => {
    setFault(null);
    setTried(null);
    tryEntries(entries).then(setTried, (error: unknown) => setFault(toFault(error)));
  };
  useEffect(attempt, [entries]);
  const write = async (valid: readonly TriedEntry[]): Promise<void> => {
    setBusy(true);
    try {
      const undo = await writeTried(valid);
      const text = `${countOf(valid.length, 'entry', 'entries')} written`;
      if (undo === null) toast(text);
      else toast(text, () => void undoBatch(undo, onWritten));
      onWritten();
    } catch (error) {
      setFault(toFault(error));
    } finally {
      setBusy(false);
    }
  };
  if (fault !== null) return <FaultView fault={fault} retry={attempt} />;
  if (tried === null) return <Skeleton form="text" />;
  const valid = tried.filter(({ result }) => result.status !== 422);
  const changes = valid.filter(({ result }) => result.change !== 'unchanged').length;
  return (
    <div class="stack">
      <div class="blast stack" role="status">
        <p>
          <strong>{summaryOf(tried)}</strong> Nothing was written yet.
        </p>
        {children}
      </div>
      <div class="batch-table">
        <DataTable
          caption="What would change"
          columns={COLUMNS}
          rows={tried.slice(0, ROWS_MAX)}
          keys={false}
          keyOf={({ entry }) => subjectId(entry)}
        />
      </div>
      {tried.length > ROWS_MAX && (
        <p class="muted small">
          The first {ROWS_MAX} of {formatCount(tried.length)}.
        </p>
      )}
      <div class="row">
        <Button kind="primary" disabled={isBusy || changes === 0} onClick={() => void write(valid)}>
          {changes === 0 ? 'Nothing would change' : `${verb} ${countOf(changes, 'entry', 'entries')}`}
        </Button>
        {changes > UNDO_ENTRIES_MAX && <span class="muted small">This many cannot be taken back at once.</span>}
      </div>
    </div>
  );
}

async function undoBatch(undo: () => Promise<void>, onDone: () => void): Promise<void> {
  try {
    await undo();
    toast('The list is as it was before');
  } catch (error) {
    toast(`Not everything could be taken back: ${toFault(error).title}`);
  }
  onDone();
}

/** `12 new, 3 replace another entry (2 block → allow), 1 unchanged, 1 refused.` */
function summaryOf(tried: readonly TriedEntry[]): string {
  const of = (is: (one: TriedEntry) => boolean): number => tried.filter(is).length;
  const replaced = tried.filter(({ result }) => result.change === 'replaced');
  const moves = new Map<string, number>();
  for (const { entry, result } of replaced)
    if (result.before !== entry.action) {
      const move = `${result.before ?? '–'} → ${entry.action}`;
      moves.set(move, (moves.get(move) ?? 0) + 1);
    }
  const moved = [...moves].map(([move, count]) => `${formatCount(count)} ${move}`).join(', ');
  const common = of(({ result }) => result.warning === 'common_fingerprint');
  const parts = [
    `${formatCount(of(({ result }) => result.change === 'created'))} new`,
    `${formatCount(replaced.length)} replace another entry${moved === '' ? '' : ` (${moved})`}`,
    `${formatCount(of(({ result }) => result.change === 'unchanged'))} unchanged`,
    ...(of(({ result }) => result.status === 422) > 0 ? [`${of(({ result }) => result.status === 422)} refused`] : []),
    ...(common > 0 ? [`${formatCount(common)} shared by many devices`] : []),
  ];
  return `${parts.join(', ')}.`;
}
