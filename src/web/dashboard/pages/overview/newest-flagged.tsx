import type { JSX } from 'preact';
import { DECISION_COLUMNS_SHORT } from '../../components/decision-columns.tsx';
import { Section } from '../../components/pane.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Time } from '../../components/time.tsx';
import { formatUtc } from '../../format.ts';
import { decisionPath, toSearch } from '../../link-path.ts';
import { useFlagged } from '../../use-flagged.ts';
import { useLink } from '../../url-state.ts';
import { type Incident, toIncidents } from './incidents.ts';

/** Choice: decisions that are grouped, and rows that fit on a screen. */
const DECISIONS = 60;
const ROWS = 12;
const EVERY_MS = 5_000;

/** The columns of a list of decisions; the first one also has the number of similar ones, and since when. */
const COLUMNS = DECISION_COLUMNS_SHORT.map((column): Column<Incident> => ({
  ...column,
  render: (incident) => (column.id === 'time' ? <When incident={incident} /> : column.render(incident.row)),
}));

function When({ incident: { row, count, since } }: { readonly incident: Incident }): JSX.Element {
  return (
    <>
      <Time at={row.occurred_at} />
      {count > 1 && (
        <span class="tag incident-tag num" title={`${count} alike since ${formatUtc(since)}`}>
          {count}×
        </span>
      )}
    </>
  );
}

/** Decisions of the network, where the others that are alike stand too. */
function hrefOf({ row, count }: Incident, link: ReturnType<typeof useLink>): string {
  if (count === 1 || row.network === null) return decisionPath(row.request_id);
  return link('/dashboard/decisions', { q: toSearch('network', row.network), decision: row.decision });
}

/** The newest decisions that were not ALLOW, as they come; those that are alike in one row. */
export function NewestFlagged(): JSX.Element {
  const link = useLink();
  const flagged = useFlagged(DECISIONS, EVERY_MS);
  const rows = toIncidents(flagged.data ?? []).slice(0, ROWS);
  return (
    <Section title="Newest flagged" actions={<a href={link('/dashboard/decisions')}>All decisions</a>} flush>
      <StateView
        of={flagged}
        isEmpty={rows.length === 0}
        empty={
          <Empty icon="check" title="Nothing was flagged">
            Every decision that was made so far is Allow.
          </Empty>
        }
      >
        {() => (
          <DataTable
            caption="Newest flagged decisions"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ row }) => row.request_id}
            hrefOf={(incident) => hrefOf(incident, link)}
          />
        )}
      </StateView>
    </Section>
  );
}
