import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../components/fields.tsx';
import { Icon } from '../../components/icon.tsx';
import { shortId } from '../../format.ts';
import { visibleText } from '../../visible-text.ts';
import type { ReviewEnd, VerdictQueue } from './verdict-queue.ts';

export const VERDICT_WORDS: Readonly<Record<ReviewEnd, string>> = {
  fraud: 'Fraud',
  legitimate: 'Legitimate',
  unsure: 'Unsure',
  closed: 'Closed',
};

/** The last verdict while it can be taken back, and one that the service refused. */
export function UndoBar({
  queue,
  onUndo,
}: {
  readonly queue: VerdictQueue;
  readonly onUndo: () => void;
}): JSX.Element | null {
  const last = [...queue.entered.value.values()].reverse().find(({ dueMs }) => dueMs !== null);
  const fault = queue.fault.value;
  const [, tick] = useState(0);
  const dueMs = last?.dueMs ?? null;
  useEffect(() => {
    if (dueMs === null) return undefined;
    const timer = setInterval(() => tick((n) => n + 1), 1_000);
    return () => clearInterval(timer);
  }, [dueMs]);
  return (
    <>
      {fault !== null && (
        <p class="notice" role="alert">
          <Icon name="error" size={14} /> The verdict about {shortId(fault.row.request_id)} was not accepted (
          {visibleText(fault.fault.title)}: <code>{fault.fault.code}</code>
          {fault.fault.requestId !== null && (
            <>
              , <code>{visibleText(fault.fault.requestId)}</code>
            </>
          )}
          ). It is in the queue again.
        </p>
      )}
      {last !== undefined && (
        <div class="stale">
          <span role="status">
            <strong>{VERDICT_WORDS[last.verdict]}</strong> for <code>{shortId(last.row.request_id)}</code>
          </span>
          <Button small aria-keyshortcuts="z" onClick={onUndo}>
            Undo <kbd aria-hidden="true">z</kbd>
          </Button>
          <span class="num" aria-hidden="true">
            {Math.max(0, Math.ceil(((dueMs ?? 0) - Date.now()) / 1_000))} s
          </span>
        </div>
      )}
    </>
  );
}
