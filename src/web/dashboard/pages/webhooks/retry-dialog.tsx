import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { DeliveryRow, WebhookRow, WirePage } from '../../../../contract/wire-types.ts';
import { type ApiFault, getJson, send, toFault, v1 } from '../../api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Button, Select } from '../../components/fields.tsx';
import { FaultView, Skeleton } from '../../components/state-view.tsx';
import { countOf, formatCount } from '../../format.ts';

/** Choice: a number that a person can still check; a receiver that was down longer should read the decisions from the API. */
const RETRIES_MAX = 500;
/** Choice: pages of failed deliveries that are read to find them, 100 rows each. */
const PAGES_MAX = 20;
/** Choice: waits for the allowance at most this often before it stops. */
const REFUSALS_MAX = 20;

const SPANS = [
  { value: '3600', title: 'the last hour' },
  { value: '86400', title: 'the last day' },
  { value: '604800', title: 'the last 7 days' },
  { value: '2592000', title: 'the last 30 days' },
] as const;

interface Found {
  readonly ids: readonly string[];
  readonly isCut: boolean;
}

/**
 * Returns failed deliveries of the webhook since `since`, oldest first: the newest one of each decision, without tests, and without
 * decisions that a later delivery brought or still tries to bring.
 */
async function findFailed(webhookId: string, since: number, signal: AbortSignal): Promise<Found> {
  const settled = new Set<string>();
  const ids: string[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const url = v1('/webhooks/deliveries', { webhook_id: webhookId, limit: 100, cursor });
    const { data, has_more: hasMore, next_cursor: next } = await getJson<WirePage<DeliveryRow>>(url, { signal });
    for (const { id, request_id: requestId, status, trigger, created_at: createdAt } of data) {
      if (createdAt < since) return { ids: ids.reverse(), isCut: false };
      if (trigger === 'test' || settled.has(requestId) || status === 'skipped') continue;
      settled.add(requestId);
      if (status !== 'failed') continue;
      if (ids.length === RETRIES_MAX) return { ids: ids.reverse(), isCut: true };
      ids.push(id);
    }
    if (!hasMore || next === null) return { ids: ids.reverse(), isCut: false };
    cursor = next;
  }
  return { ids: ids.reverse(), isCut: true };
}

interface Progress {
  readonly sent: number;
  readonly refused: number;
  readonly code: string | null;
  readonly isDone: boolean;
}

/** Sends all failed deliveries of a webhook again, one call after the other; says first how many there are. */
export function RetryDialog({
  webhook,
  onClose,
}: {
  readonly webhook: WebhookRow;
  readonly onClose: () => void;
}): JSX.Element {
  const [span, setSpan] = useState('86400');
  const [found, setFound] = useState<Found | null>(null);
  const [fault, setFault] = useState<ApiFault | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const end = useRef(new AbortController());
  useEffect(() => () => end.current.abort(), []);
  useEffect(() => {
    const own = new AbortController();
    setFound(null);
    setFault(null);
    findFailed(webhook.id, Math.floor(Date.now() / 1_000) - Number(span), own.signal).then(
      setFound,
      (error: unknown) => {
        if (!own.signal.aborted) setFault(toFault(error));
      },
    );
    return () => own.abort();
  }, [span, webhook.id]);

  const run = async (ids: readonly string[]): Promise<void> => {
    let [sent, refused, waits] = [0, 0, 0];
    let code: string | null = null;
    const { signal } = end.current;
    const report = (isDone: boolean): void => setProgress({ sent, refused, code, isDone });
    report(false);
    for (const id of ids) {
      for (;;) {
        if (signal.aborted) return;
        try {
          await send('POST', v1(`/webhooks/deliveries/${id}/retry`), {}, { signal });
          sent++;
          break;
        } catch (error) {
          if (signal.aborted) return;
          const { status, retryAfterSeconds, code: why } = toFault(error);
          if (status === 429 && waits++ < REFUSALS_MAX) {
            await new Promise((done) => setTimeout(done, (retryAfterSeconds ?? 1) * 1_000));
            continue;
          }
          refused++;
          code = why;
          break;
        }
      }
      report(false);
    }
    report(true);
  };

  const count = found?.ids.length ?? 0;
  return (
    <Dialog title="Send failed deliveries again" onClose={onClose}>
      <div class="dialog-form">
        {progress === null ? (
          <>
            <Select label="Failed within" value={span} onValue={setSpan} choices={SPANS} />
            {fault !== null ? (
              <FaultView fault={fault} />
            ) : found === null ? (
              <Skeleton form="text" />
            ) : (
              <p role="status">
                {count === 0
                  ? 'No failed delivery of that time waits to be sent again.'
                  : `${countOf(count, 'delivery', 'deliveries')} will be sent again with the same bytes, the oldest first.`}
                {found.isCut && ` At most ${formatCount(RETRIES_MAX)} at once: start it again for older ones.`}
              </p>
            )}
            <p class="muted small">
              Tests are left out, and so are decisions that a later delivery has delivered. The receiver sees new
              delivery ids, but the same request_id.
            </p>
          </>
        ) : (
          <p role="status">
            {formatCount(progress.sent)} of {formatCount(count)} sent again
            {progress.refused > 0 && `, ${formatCount(progress.refused)} refused (${progress.code ?? ''})`}
            {progress.isDone ? '. The list below shows the results.' : ' …'}
          </p>
        )}
        <footer class="dialog-foot">
          <Button onClick={onClose}>{progress === null ? 'Cancel' : progress.isDone ? 'Close' : 'Stop'}</Button>
          {progress === null && (
            <Button kind="primary" disabled={count === 0} onClick={() => void run(found?.ids ?? [])}>
              Send {formatCount(count)} again
            </Button>
          )}
        </footer>
      </div>
    </Dialog>
  );
}
