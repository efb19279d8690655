import type { JSX } from 'preact';
import { reviewKindOf } from '../../../../contract/vocabulary.ts';
import type { PolicyBody, ShadowReviewRow } from '../../../../contract/wire-types.ts';
import { Copy } from '../../components/copy.tsx';
import { DecisionBadge } from '../../components/decision-badge.tsx';
import { FaultView, Skeleton } from '../../components/state-view.tsx';
import { ReasonName } from '../../components/reason-name.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { formatScore, shortId } from '../../format.ts';
import { decisionPath } from '../../link-path.ts';
import { useLink } from '../../url-state.ts';
import { DecisionFacts } from '../decision/decision-facts.tsx';
import { LinkList } from '../decision/link-list.tsx';
import { ReasonList } from '../decision/reason-list.tsx';
import { Waterfall } from '../decision/waterfall.tsx';
import type { LoadedDecision } from './use-decisions.ts';

export const WHY_WORDS: Readonly<Record<ShadowReviewRow['why'], string>> = {
  near_block: 'near Block',
  challenger: 'challenger differs',
  sample: 'sample',
  review: 'review',
};

const WHY_SENTENCES: Readonly<Record<ShadowReviewRow['why'], string>> = {
  near_block: 'At most 3 points below Block.',
  challenger: 'A challenger decides differently.',
  sample: 'Part of the random sample of all decisions.',
  review: 'The decision is Review.',
};

/** What is shown beside the decision: for a challenger also which way it differs. */
function whyOf({ why, decision, would_be: wouldBe }: ShadowReviewRow): readonly [word: string, sentence: string] {
  switch (reviewKindOf(why, wouldBe ?? decision)) {
    case 'passed':
      return ['passed, challenger differs', 'It passed. A challenger model would stop it, or a policy differs.'];
    case 'stopped':
      return ['stopped, challenger differs', 'It was stopped. A challenger model finds no fraud, or a policy differs.'];
    case 'sampled':
      return [WHY_WORDS[why], WHY_SENTENCES[why]];
  }
}

/** One decision of the queue: what it was, why, and who else. */
export function ReviewCard({
  row,
  loaded,
  retry,
  policy,
}: {
  readonly row: ShadowReviewRow;
  readonly loaded: LoadedDecision | undefined;
  readonly retry: () => void;
  readonly policy: PolicyBody | undefined;
}): JSX.Element {
  const link = useLink();
  const { request_id: id, decision, would_be: wouldBe, score, why, occurred_at: at, assignee, note } = row;
  const data = loaded?.data ?? null;
  const [word, sentence] = whyOf(row);
  return (
    <article class="section" aria-label={`Decision ${shortId(id)}`}>
      <header class="review-head">
        <DecisionBadge value={decision} wouldBe={wouldBe} large />
        <span class="headline-score num">{formatScore(score)}</span>
        {data !== null && <Text value={data.event_type} charactersMax={40} />}
        <Time at={at} />
        {why !== 'review' && (
          <span class="tag" title={sentence}>
            {word}
          </span>
        )}
        <span class="section-actions">
          <a href={link(decisionPath(id))}>
            <code>{shortId(id)}</code>
          </a>
          <Copy text={id} what="request id" />
        </span>
      </header>
      {(assignee !== null || note !== null) && (
        <p class="review-work">
          {assignee !== null && (
            <span class="tag">
              <Text value={assignee} charactersMax={60} />
            </span>
          )}
          {note !== null && <Text value={note} charactersMax={500} />}
        </p>
      )}
      <div class="review-body">
        {loaded === undefined ? (
          <Skeleton form="rows" />
        ) : loaded.data === null ? (
          <Gone row={row} fault={loaded.fault} retry={retry} />
        ) : (
          <div class="decision-page">
            <section aria-label="Why" class="stack">
              <Waterfall decision={loaded.data} />
              <ReasonList decision={loaded.data} policy={policy} />
            </section>
            <section aria-label="Who" class="stack">
              <LinkList decision={loaded.data} />
              <DecisionFacts decision={loaded.data} />
            </section>
          </div>
        )}
      </div>
    </article>
  );
}

/** The queue keeps rows for 30 days, the log an ALLOW for 24 h: the row itself is still there to be judged. */
function Gone({
  row,
  fault,
  retry,
}: {
  readonly row: ShadowReviewRow;
  readonly fault: NonNullable<LoadedDecision['fault']>;
  readonly retry: () => void;
}): JSX.Element {
  if (fault.status !== 404) return <FaultView fault={fault} retry={retry} />;
  return (
    <div class="stack">
      <p class="notice">This decision has left the log: Allow is kept for 24 h. Its evidence is gone.</p>
      {row.reasons.length > 0 && (
        <ul class="row" aria-label="Reasons">
          {row.reasons.map((reason) => (
            <li key={reason} class="reason">
              <ReasonName code={reason} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
