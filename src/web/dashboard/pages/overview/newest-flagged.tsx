import type { JSX } from 'preact';
import { DECISION_COLUMNS_SHORT } from '../../components/decision-columns.tsx';
import { Section } from '../../components/pane.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { Table } from '../../components/data-table.tsx';
import { decisionPath } from '../../link-path.ts';
import { useFlagged } from '../../use-flagged.ts';
import { useLink } from '../../url-state.ts';

const ROWS = 20;
const EVERY_MS = 4_000;

/** The last 20 decisions that were not ALLOW, as they come. */
export function NewestFlagged(): JSX.Element {
  const link = useLink();
  const flagged = useFlagged(ROWS, EVERY_MS);
  const rows = flagged.data ?? [];
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
          <Table
            caption="Newest flagged decisions"
            columns={DECISION_COLUMNS_SHORT}
            rows={rows}
            keyOf={({ request_id: id }) => id}
            hrefOf={({ request_id: id }) => decisionPath(id)}
          />
        )}
      </StateView>
    </Section>
  );
}
