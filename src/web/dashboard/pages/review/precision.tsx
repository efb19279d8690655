import type { JSX } from 'preact';
import type { ReviewVerdict } from '../../../../contract/vocabulary.ts';
import type { ShadowReviewRow, WirePage } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { ReasonName } from '../../components/reason-name.tsx';
import { Section } from '../../components/pane.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { formatCount, formatShare } from '../../format.ts';
import { useLink } from '../../url-state.ts';
import { type Live, useLive } from '../../use-live.ts';
import { type ReasonPrecision, toPrecision } from './precision-counts.ts';
import type { EnteredVerdict } from './verdict-queue.ts';

/** Choice: verdicts of each kind that are counted, the newest. */
const ROWS_MAX = 1_000;

const COLUMNS: readonly Column<ReasonPrecision>[] = [
  { id: 'reason', title: 'Reason', render: ({ reason }) => <ReasonName code={reason} withCode /> },
  {
    id: 'precision',
    title: 'Precision',
    align: 'right',
    render: ({ fraud, legitimate }) => <strong>{formatShare(fraud, fraud + legitimate)}</strong>,
  },
  { id: 'fraud', title: 'Fraud', align: 'right', render: ({ fraud }) => formatCount(fraud) },
  { id: 'legitimate', title: 'Legitimate', align: 'right', render: ({ legitimate }) => formatCount(legitimate) },
  { id: 'unsure', title: 'Unsure', align: 'right', render: ({ unsure }) => formatCount(unsure) },
];

/** How often each reason was right, by all verdicts that are kept and those that still wait to be sent. */
export function Precision({ entered }: { readonly entered: ReadonlyMap<string, EnteredVerdict> }): JSX.Element {
  const link = useLink();
  const fraud = useVerdicts('fraud');
  const legitimate = useVerdicts('legitimate');
  const unsure = useVerdicts('unsure');
  const all = [fraud, legitimate, unsure];
  const worst = all.find(({ data }) => data === undefined) ?? all.find(({ fault }) => fault !== null) ?? fraud;
  const rows = toPrecision(
    all.flatMap(({ data }) => data?.data ?? []),
    entered,
  );
  return (
    <Section
      title="Precision by reason"
      note={
        all.some(({ data }) => data?.has_more === true)
          ? `share of fraud among the newest ${formatCount(ROWS_MAX)} verdicts of each kind`
          : 'share of fraud among your verdicts of 30 days'
      }
      flush
    >
      <StateView
        of={worst}
        isEmpty={rows.length === 0}
        empty={
          <Empty icon="review" title="No verdicts yet">
            Each verdict counts for all reasons of its decision.
          </Empty>
        }
      >
        {() => (
          <DataTable
            caption="Precision by reason"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ reason }) => reason}
            hrefOf={({ reason }) => link('/dashboard/rules', { rule: reason })}
          />
        )}
      </StateView>
    </Section>
  );
}

function useVerdicts(verdict: ReviewVerdict): Live<WirePage<ShadowReviewRow>> {
  return useLive<WirePage<ShadowReviewRow>>(v1('/shadow-reviews', { queue: 'all', verdict, limit: ROWS_MAX }));
}
