import { readDecisions } from '../history/open-decision-log.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { DecisionReport, type ReportRow } from '../risk/decision-report.ts';
import { ALLOW_KEPT_MS } from '../kernel/history-limits.ts';
import type { Store } from '../state/feed/open-store.ts';
import { failure, ok, type CommandOutcome } from './command-outcome.ts';
import { tableText, timeText } from './text-table.ts';
import { type WeightProposal, WeightProposals } from './weight-proposals.ts';

/** Choice: as many rules as fit beside the counts in a wide terminal; `--json` has all of them. */
const RULES_SHOWN = 3;

export interface ReportOptions {
  /** null for all customers. */
  readonly customerId: string | null;
  readonly hours: number;
}

/** Counts decisions by value; in observe mode by their original value. A server running alongside it writes new ones within a second. */
export async function reportDecisions(store: Store, { customerId, hours }: ReportOptions): Promise<CommandOutcome> {
  const asked = customerId === null ? null : store.customers.findById(customerId);
  if (customerId !== null && asked === null) return failure('not_found', `there is no customer ${customerId}`);
  const nowMs = Date.now();
  const sinceMs = nowMs - hours * 3_600_000;
  const report = new DecisionReport();
  const proposals = await WeightProposals.of(store);
  const ids = new Map(store.customers.all().map(({ number, id, name }) => [number as number, { id, name }]));
  const query = { customer: asked?.number ?? null, sinceMs };
  const reading = readDecisions(store, query, (customer: CustomerNumber, record) => {
    report.add(customer, record);
    proposals.add(customer, record);
  });
  let step = reading.next();
  while (step.done !== true) step = reading.next();
  const damaged = step.value;
  const rows = report.rows();
  const proposed = proposals.rows();
  const nameOf = ({ customer }: Pick<ReportRow, 'customer'>): string => ids.get(customer)?.name ?? `no. ${customer}`;
  const since = Math.floor(sinceMs / 1000);
  const json = {
    since,
    until: Math.floor(nowMs / 1000),
    rows: rows.map((row) => ({
      customer_id: ids.get(row.customer)?.id ?? null,
      event_type: row.eventType,
      decisions: row.decisions,
      observed: row.observed,
      would_be: row.counts,
      rules: row.rules.map(({ name, count }) => ({ rule: name, decisions: count })),
      trusted: row.trusted.map(({ name, count }) => ({ source: name, decisions: count })),
    })),
    proposals: proposed.map(({ customer, proposedWeight, wouldBe, ...row }) => ({
      customer_id: ids.get(customer)?.id ?? null,
      ...row,
      proposed_weight: proposedWeight,
      would_be: wouldBe,
    })),
    unreadable_blocks: damaged,
  };
  const text = [
    `Since ${timeText(since)}: decisions by value, in observe mode by their original value.`,
    tableText(
      ['Customer', 'Event type', 'Decisions', 'Observed', 'WATCH', 'CHALLENGE', 'REVIEW', 'BLOCK', 'By rules'],
      rows.map((row) => cellsOf(row, nameOf(row))),
      'No decision was made in that time.',
    ),
    ...rows.flatMap((row) =>
      row.trusted.map(
        ({ name, count }) =>
          `Trusted source ${name}: ${count} of ${nameOf(row)}, ${row.eventType === '' ? '(none)' : row.eventType}`,
      ),
    ),
    ...proposed.map((row) => proposalText(row, nameOf(row))),
    ...(hours * 3_600_000 > ALLOW_KEPT_MS
      ? ['ALLOW decisions are kept for only 24 hours: shares over a longer time are too large.']
      : []),
    ...(damaged > 0 ? [`${damaged} blocks of the log could not be read.`] : []),
  ].join('\n');
  return ok(json, text);
}

function proposalText({ rule, decisions, proposedWeight, wouldBe, labels }: WeightProposal, customer: string): string {
  const stricter = Object.entries(wouldBe).map(([decision, count]) => `${count} more ${decision}`);
  return (
    `${rule} weighs nothing and fired in ${decisions} decisions of ${customer} ` +
    `(labels: ${labels.fraud} fraud, ${labels.legitimate} legitimate). A policy can give it a weight; at ${proposedWeight}, ` +
    `which is proposed, there would be ${stricter.length === 0 ? 'no other decision' : stricter.join(', ')}.`
  );
}

function cellsOf(row: ReportRow, customer: string): string[] {
  const { counts, decisions } = row;
  const share = (count: number): string =>
    count === 0 ? '0' : `${count} (${((count / decisions) * 100).toFixed(count / decisions < 0.1 ? 1 : 0)} %)`;
  return [
    customer,
    row.eventType === '' ? '(none)' : row.eventType,
    String(decisions),
    String(row.observed),
    share(counts.ALLOW_WATCH),
    share(counts.SOFT_CHALLENGE),
    share(counts.REVIEW),
    share(counts.BLOCK),
    row.rules
      .slice(0, RULES_SHOWN)
      .map(({ name, count }) => `${name} ${count}`)
      .join('\n'),
  ];
}
