import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ExplainedDecisionBody, LinkSummaryBody, LoggedDecisionPage } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { DecisionBadge, DecisionShape } from '../../components/decision-badge.tsx';
import { Button } from '../../components/fields.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { Time } from '../../components/time.tsx';
import {
  countOf,
  DECISION_ORDER,
  DECISION_WORDS,
  formatCount,
  formatScore,
  formatShare,
  shortHash,
} from '../../format.ts';
import { decisionPath, kindWords, linkPath } from '../../link-path.ts';
import { useLive } from '../../use-live.ts';
import { cutText, visibleText } from '../../visible-text.ts';

const INLINE = 5;

/** Linked decisions: what this decision has in common with others, each with its count, its worst decision and the newest five. */
export function LinkList({ decision }: { readonly decision: ExplainedDecisionBody }): JSX.Element {
  if (decision.links.length === 0)
    return (
      <Empty icon="links" title="Nothing links it to other decisions">
        It had no address, session or identity.
      </Empty>
    );
  return (
    <ul class="link-list">
      {decision.links.map(({ kind, id }) => (
        <LinkRow key={`${kind} ${id}`} kind={kind} id={id} own={decision.request_id} />
      ))}
    </ul>
  );
}

function LinkRow({ kind, id, own }: { readonly kind: string; readonly id: string; readonly own: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const summary = useLive<LinkSummaryBody>(v1('/links', { kind, value: id }));
  const { data } = summary;
  const worst = data?.neighbours.reduce(
    (found, { worst: each }) => (DECISION_ORDER.indexOf(each) > DECISION_ORDER.indexOf(found) ? each : found),
    'ALLOW' as (typeof DECISION_ORDER)[number],
  );
  const others = data === undefined ? 0 : Math.max(0, data.decisions - 1);
  return (
    <li class="link-item">
      <p class="row">
        <span class="link-kind muted">{visibleText(kindWords(kind))}</span>
        <a class="mono text" href={linkPath(kind, id)} title={visibleText(id)}>
          {cutText(visibleText(kind === 'fingerprint' ? shortHash(id) : id.replace(/^hash:/, '#')), 48)}
        </a>
        {data !== undefined && others === 0 && <span class="muted">only this decision</span>}
        {data !== undefined && others > 0 && (
          <>
            <span class="num">
              {countOf(others, 'other')}
              {data.truncated ? '+' : ''}
            </span>
            <span class="muted num">{formatShare(data.blocked, data.decisions)} blocked</span>
            {worst !== undefined && <DecisionBadge value={worst} />}
            <Button
              kind="quiet"
              small
              icon={isOpen ? 'up' : 'down'}
              label={`${isOpen ? 'Hide' : 'Show'} the newest decisions of this ${kindWords(kind)}`}
              aria-expanded={isOpen}
              onClick={() => setOpen(!isOpen)}
            />
          </>
        )}
        {data === undefined && summary.fault !== null && <span class="muted">{visibleText(summary.fault.title)}</span>}
      </p>
      {isOpen && <Newest kind={kind} id={id} own={own} />}
    </li>
  );
}

function Newest({ kind, id, own }: { readonly kind: string; readonly id: string; readonly own: string }): JSX.Element {
  const found = useLive<LoggedDecisionPage>(v1('/decisions', { link: `${kind}:${id}`, limit: INLINE + 1 }));
  const rows = (found.data?.data ?? []).filter(({ request_id: other }) => other !== own).slice(0, INLINE);
  return (
    <StateView
      of={found}
      skeleton="text"
      isEmpty={rows.length === 0}
      empty={<p class="muted">They have left the log.</p>}
    >
      {() => (
        <ul class="link-newest">
          {rows.map(({ request_id: other, decision, occurred_at: at, event_type: type, score }) => (
            <li key={other}>
              <a href={decisionPath(other)}>
                <DecisionShape value={decision} /> {DECISION_WORDS[decision]}{' '}
                <span class="num">{formatScore(score)}</span>
              </a>
              <span>{visibleText(type)}</span>
              <Time at={at} />
            </li>
          ))}
          {rows.length === INLINE && (
            <li>
              <a href={linkPath(kind, id)}>All of this {kindWords(kind)}</a>
            </li>
          )}
        </ul>
      )}
    </StateView>
  );
}

/** Every event of the session in the order of time, with the time between them. */
export function SessionStrip({ decision }: { readonly decision: ExplainedDecisionBody }): JSX.Element | null {
  const session = decision.links.find(({ kind }) => kind === 'session')?.id;
  const found = useLive<LoggedDecisionPage>(
    session === undefined ? null : v1('/decisions', { link: `session:${session}`, limit: 60 }),
  );
  if (session === undefined) return <p class="muted">The request had no session token.</p>;
  // The API's order is the newest first; events of one second keep theirs.
  const rows = [...(found.data?.data ?? [])].reverse().sort((a, b) => a.occurred_at - b.occurred_at);
  return (
    <StateView of={found} skeleton="text">
      {() => (
        <>
          {found.data?.has_more === true && (
            <p class="muted small">Earlier events are not shown: the newest {formatCount(rows.length)} are.</p>
          )}
          <ol class="strip">
            {rows.map((row, n) => {
              const before = rows[n - 1];
              const isOwn = row.request_id === decision.request_id;
              return (
                <li key={row.request_id}>
                  {before !== undefined && (
                    <span class="strip-gap num muted">+{gapOf(row.occurred_at - before.occurred_at)}</span>
                  )}
                  <a
                    class={isOwn ? 'strip-event strip-own' : 'strip-event'}
                    href={decisionPath(row.request_id)}
                    aria-current={isOwn ? 'true' : undefined}
                  >
                    <DecisionShape value={row.decision} />
                    <span class="hidden-text">{DECISION_WORDS[row.decision]}</span>
                    <span>{cutText(visibleText(row.event_type), 16) || 'event'}</span>
                    <span class="num muted">{formatScore(row.score)}</span>
                  </a>
                </li>
              );
            })}
          </ol>
        </>
      )}
    </StateView>
  );
}

function gapOf(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3_600 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}
