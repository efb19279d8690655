import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { DeliveryDetail, DeliveryRow } from '../../../../contract/wire-types.ts';
import { send, toFault, v1 } from '../../api.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { FactList } from '../../components/facts.tsx';
import { Button } from '../../components/fields.tsx';
import { Pane } from '../../components/pane.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { DECISION_WORDS, formatMs, shortId } from '../../format.ts';
import { isReadOnly } from '../../session.ts';
import { useLink } from '../../url-state.ts';
import { useLive } from '../../use-live.ts';
import { errorWords, STATUS_WORDS, TRIGGER_WORDS } from './webhook-words.ts';

/** One delivery: its attempts, what was sent, and the button that sends it again. */
export function DeliveryPane({
  id,
  closeHref,
  onSent,
}: {
  readonly id: string;
  readonly closeHref: string;
  readonly onSent: (id: string) => void;
}): JSX.Element {
  const url = v1(`/webhooks/deliveries/${encodeURIComponent(id)}`);
  const found = useLive<DeliveryDetail>(url, { everyMs: 3_000 });
  return (
    <Pane title={`Delivery ${shortId(id)}`} closeHref={closeHref}>
      <StateView of={found} skeleton="text">
        {(delivery) => <Delivery delivery={delivery} onSent={onSent} />}
      </StateView>
    </Pane>
  );
}

function Delivery({
  delivery,
  onSent,
}: {
  readonly delivery: DeliveryDetail;
  readonly onSent: (id: string) => void;
}): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const { status, trigger, webhook_id: webhookId } = delivery;
  const subject = subjectOf(delivery);
  const retry = async (): Promise<void> => {
    setBusy(true);
    try {
      const sent = await send<DeliveryRow>('POST', v1(`/webhooks/deliveries/${delivery.id}/retry`), {});
      toast('It is being sent again, as a new delivery');
      onSent(sent.id);
    } catch (error) {
      const { title, detail } = toFault(error);
      toast(`It was not sent again: ${detail === '' ? title : detail}`);
    } finally {
      setBusy(false);
    }
  };
  const state = STATUS_WORDS[status];
  return (
    <div class="stack">
      <div class="row spread">
        <StateMark tone={state.tone} word={state.word} />
        {webhookId !== null && !isReadOnly() && (
          <Button small icon="refresh" disabled={isBusy || status === 'pending'} onClick={() => void retry()}>
            Send again
          </Button>
        )}
      </div>
      <FactList
        label="Delivery"
        facts={[
          delivery.last_error === null
            ? null
            : { title: 'Why', value: errorWords(delivery.last_error, delivery.last_status_code) },
          { title: 'Event', value: <code>{delivery.event}</code> },
          { title: 'Trigger', value: TRIGGER_WORDS[trigger] },
          { title: 'To', value: <Text value={delivery.url} charactersMax={300} mono /> },
          subject === null
            ? null
            : { title: subject.title, value: <Subject delivery={delivery} href={subject.href} /> },
          { title: 'Created', value: <Time at={delivery.created_at} /> },
          { title: 'Ended', value: <Time at={delivery.completed_at} /> },
          delivery.next_attempt_at === null
            ? null
            : { title: 'Next attempt', value: <Time at={delivery.next_attempt_at} /> },
          { title: 'webhook-id', value: <code>{delivery.id}</code> },
        ]}
      />
      <Attempts delivery={delivery} />
      <Body body={delivery.body} />
    </div>
  );
}

/** What the event is about; null for events without a decision or a job. */
function subjectOf({ event, request_id: id }: DeliveryRow): { readonly title: string; readonly href: string } | null {
  if (event.startsWith('extraction.')) return { title: 'Extraction', href: '/dashboard/extractions' };
  const isOfDecision = event in DECISION_WORDS || event === 'review.verdict' || event === 'label.created';
  return isOfDecision ? { title: 'Decision', href: `/dashboard/decisions/${encodeURIComponent(id)}` } : null;
}

function Subject({ delivery, href }: { readonly delivery: DeliveryRow; readonly href: string }): JSX.Element {
  const link = useLink();
  return delivery.trigger === 'test' ? <>none: a test</> : <a href={link(href)}>{delivery.request_id}</a>;
}

function Attempts({ delivery }: { readonly delivery: DeliveryRow }): JSX.Element {
  if (delivery.attempts.length === 0) return <p class="muted">No attempt was made.</p>;
  return (
    <div>
      <h3>Attempts</h3>
      <ol class="attempt-list">
        {delivery.attempts.map((attempt) => (
          <li key={attempt.attempt}>
            <StateMark
              tone={attempt.error === null ? 'good' : 'bad'}
              word={attempt.status_code === null ? 'no response' : String(attempt.status_code)}
            />{' '}
            <span class="muted">
              <Time at={attempt.started_at} />, {formatMs(attempt.duration_ms)}
            </span>
            {attempt.error !== null && <p>{errorWords(attempt.error, null)}</p>}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** Exactly what every attempt sends. Null for records of an extraction. */
function Body({ body }: { readonly body: string | null }): JSX.Element {
  if (body === null) return <p class="muted">It delivered the records of the extraction.</p>;
  return (
    <div class="stack-small">
      <h3>Body</h3>
      <CodeBlock text={body} label="Body" wrap />
    </div>
  );
}
