import type { JSX } from 'preact';
import type { DeliveryRow, WirePage } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { countOf, formatMs } from '../../format.ts';
import { useLive } from '../../use-live.ts';
import { errorWords } from '../webhooks/webhook-words.ts';

const ICONS = { pending: 'clock', succeeded: 'check', failed: 'error', skipped: 'minus' } as const;
const TONES = { pending: '', succeeded: 'tone-good', failed: 'tone-bad', skipped: 'muted' } as const;
const EVERY_MS = 5_000;

/** Deliveries of the decision to webhooks, each with its attempts. */
export function DeliveryList({ requestId }: { readonly requestId: string }): JSX.Element {
  const found = useLive<WirePage<DeliveryRow>>(v1('/webhooks/deliveries', { request_id: requestId }), {
    everyMs: EVERY_MS,
  });
  const rows = found.data?.data ?? [];
  return (
    <StateView
      of={found}
      skeleton="text"
      isEmpty={rows.length === 0}
      empty={
        <Empty icon="webhooks" title="No webhook is subscribed to it">
          <a href="/dashboard/webhooks">Webhooks</a> subscribe to the decisions that you choose.
        </Empty>
      }
    >
      {() => (
        <ul class="deliveries">
          {rows.map(
            ({
              id,
              url,
              status,
              attempts,
              attempt_count: count,
              last_error: error,
              last_status_code: code,
              next_attempt_at: next,
            }) => (
              <li key={id}>
                <p class="row">
                  <span class={`row ${TONES[status]}`}>
                    <Icon name={ICONS[status]} size={14} /> {status}
                  </span>
                  <Text value={url} charactersMax={80} mono />
                  <span class="muted">{countOf(count, 'attempt')}</span>
                  {error !== null && <span class="tag">{errorWords(error, code)}</span>}
                  {next !== null && (
                    <span class="muted">
                      next <Time at={next} ago />
                    </span>
                  )}
                </p>
                {attempts.length > 0 && (
                  <ol class="attempts muted small">
                    {attempts.map((attempt) => (
                      <li key={attempt.attempt}>
                        <Time at={attempt.started_at} />
                        <span class="num">
                          {attempt.status_code ?? (attempt.error === null ? '–' : errorWords(attempt.error, null))}
                        </span>
                        <span class="num">{formatMs(attempt.duration_ms)}</span>
                      </li>
                    ))}
                  </ol>
                )}
              </li>
            ),
          )}
        </ul>
      )}
    </StateView>
  );
}
