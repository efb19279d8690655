import type { JSX } from 'preact';
import type { LoggedDecisionRow } from '../../../../contract/wire-types.ts';
import { type Query, v1 } from '../../api.ts';
import { ExportButtons } from '../../components/export-buttons.tsx';
import type { DecisionSearch } from '../../decision-search.ts';
import { formatUtc } from '../../format.ts';
import { now } from '../../now.ts';

const PAGE_ROWS = 1_000;

/** Exports the filtered decisions, the newest 10,000 at most. */
export function ExportMenu({
  query,
  keeps,
  disabled,
}: {
  readonly query: Query;
  readonly keeps: DecisionSearch['keeps'];
  readonly disabled: boolean;
}): JSX.Element {
  return (
    <span class="row">
      <ExportButtons
        url={v1('/decisions', { ...query, limit: PAGE_ROWS })}
        name={`decisions-${formatUtc(now.value).slice(0, 19).replace(' ', 'T').replaceAll(':', '')}`}
        columns={COLUMNS}
        toCells={toCells}
        keeps={keeps}
        disabled={disabled}
      />
    </span>
  );
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
