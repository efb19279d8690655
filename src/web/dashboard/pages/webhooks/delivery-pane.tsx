import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { DeliveryRow, ExplainedDecisionBody } from '../../../../contract/wire-types.ts';
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
  const found = useLive<DeliveryRow>(url, { everyMs: 3_000 });
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
  readonly delivery: DeliveryRow;
  readonly onSent: (id: string) => void;
}): JSX.Element {
  const link = useLink();
  const [isBusy, setBusy] = useState(false);
  const { status, trigger, request_id: requestId, webhook_id: webhookId } = delivery;
  const isDecision = delivery.event in DECISION_WORDS;
  const isExtraction = delivery.event.startsWith('extraction.');
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
          {
            title: isDecision ? 'Decision' : 'Extraction',
            value:
              trigger === 'test' ? (
                'none: a test'
              ) : (
                <a
                  href={
                    isDecision
                      ? link(`/dashboard/decisions/${encodeURIComponent(requestId)}`)
                      : link('/dashboard/extractions')
                  }
                >
                  {requestId}
                </a>
              ),
          },
          { title: 'Created', value: <Time at={delivery.created_at} /> },
          { title: 'Ended', value: <Time at={delivery.completed_at} /> },
          delivery.next_attempt_at === null
            ? null
            : { title: 'Next attempt', value: <Time at={delivery.next_attempt_at} /> },
          { title: 'webhook-id', value: <code>{delivery.id}</code> },
        ]}
      />
      <Attempts delivery={delivery} />
      {isDecision && trigger !== 'test' && <Body delivery={delivery} />}
      {trigger === 'test' && <p class="muted">A test sends an example; its body is not kept.</p>}
      {isExtraction && <p class="muted">It delivered the records of the extraction.</p>}
    </div>
  );
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

/** The log of deliveries has no bodies; an event's six fields all come from its decision. Source: contract, 10.3. */
function Body({ delivery }: { readonly delivery: DeliveryRow }): JSX.Element {
  const found = useLive<ExplainedDecisionBody>(v1(`/decisions/${encodeURIComponent(delivery.request_id)}`));
  return (
    <div class="stack-small">
      <h3>Body</h3>
      {found.fault?.status === 404 ? (
        <p class="muted">The body cannot be shown, because its decision is no longer in the log.</p>
      ) : (
        <StateView of={found} skeleton="text">
          {(decision) => <CodeBlock text={eventBodyOf(decision)} label="Body" wrap />}
        </StateView>
      )}
    </div>
  );
}

function eventBodyOf({ request_id, decision, score, reasons, occurred_at }: ExplainedDecisionBody): string {
  return JSON.stringify({ event: decision, request_id, decision, score, reasons, timestamp: occurred_at });
}
