import type { LoggedDecisionRow } from '../../../contract/wire-types.ts';
import { shortHash } from '../format.ts';
import type { Column } from './data-table.tsx';
import { DecisionBadge } from './decision-badge.tsx';
import { Reasons } from './reasons.tsx';
import { ScoreBar } from './score-bar.tsx';
import { Text } from './text.tsx';
import { Time } from './time.tsx';

/** The columns of every list of decisions. */
export const DECISION_COLUMNS: readonly Column<LoggedDecisionRow>[] = [
  { id: 'time', title: 'Time', render: ({ occurred_at: at }) => <Time at={at} /> },
  {
    id: 'decision',
    title: 'Decision',
    render: ({ decision, would_be: wouldBe }) => <DecisionBadge value={decision} wouldBe={wouldBe} />,
  },
  {
    id: 'score',
    title: 'Score',
    render: ({ score, decision, would_be: wouldBe }) => <ScoreBar score={score} decision={wouldBe ?? decision} />,
  },
  { id: 'event', title: 'Event', render: ({ event_type: type }) => <Text value={type} charactersMax={20} /> },
  { id: 'reasons', title: 'Reasons', grows: true, render: ({ reasons }) => <Reasons reasons={reasons} /> },
  { id: 'country', title: 'Country', render: ({ country }) => <Text value={country} charactersMax={4} /> },
  { id: 'ip', title: 'Address', render: ({ ip }) => <Text value={ip} charactersMax={40} mono /> },
  {
    id: 'fingerprint',
    title: 'Fingerprint',
    optional: true,
    render: ({ fingerprint_hash: hash }) => <Text value={hash === null ? null : shortHash(hash)} mono />,
  },
  {
    id: 'session',
    title: 'Session',
    optional: true,
    render: ({ links }) => <Text value={sessionOf(links)} charactersMax={10} mono />,
  },
];

/** Without the narrow ones, for lists inside a page. */
export const DECISION_COLUMNS_SHORT = DECISION_COLUMNS.filter(({ id }) => id !== 'fingerprint' && id !== 'session');

function sessionOf(links: LoggedDecisionRow['links']): string | null {
  const id = links.find(({ kind }) => kind === 'session')?.id ?? null;
  return id === null ? null : id.replace(/^hash:/, '').slice(0, 8);
}
