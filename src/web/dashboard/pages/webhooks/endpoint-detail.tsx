import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { DeliveryRow, WebhookRow, WirePage } from '../../../../contract/wire-types.ts';
import { send, toFault, v1 } from '../../api.ts';
import { Copy } from '../../components/copy.tsx';
import { DecisionBadge } from '../../components/decision-badge.tsx';
import { type Fact, FactList } from '../../components/facts.tsx';
import { Button } from '../../components/fields.tsx';
import { Section } from '../../components/pane.tsx';
import { Sparkline } from '../../components/sparkline.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { Tile, Tiles } from '../../components/tile.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { countOf, formatCount, formatMs, formatShare } from '../../format.ts';
import { now } from '../../now.ts';
import { isReadOnly } from '../../session.ts';
import { useLive } from '../../use-live.ts';
import { RetryDialog } from './retry-dialog.tsx';
import { DeleteDialog, EditDialog, type NewSecret, webhookPathOf, RotateDialog } from './webhook-dialogs.tsx';
import {
  errorWords,
  deliveryFiguresOf,
  FORMAT_CHOICES,
  healthOf,
  NOTICE_WORDS,
  RETRY_CHOICES,
} from './webhook-words.ts';

type DialogName = 'edit' | 'rotate' | 'delete' | 'retry';

/** Choice: a sparkline is readable with this many points. */
const SPARK_MAX = 60;

/** One webhook: its health in words, figures of its newest deliveries, and everything that can be done with it. */
export function EndpointDetail({
  webhook,
  sends,
  onChanged,
  onSent,
  onDeleted,
  onSecret,
}: {
  readonly webhook: WebhookRow;
  /** Changes when something was sent. */
  readonly sends: number;
  readonly onChanged: () => void;
  /** Something was sent: lists of deliveries have new rows. */
  readonly onSent: () => void;
  readonly onDeleted: () => void;
  readonly onSecret: (secret: NewSecret) => void;
}): JSX.Element {
  const [dialog, setDialog] = useState<DialogName | null>(null);
  const [isTesting, setTesting] = useState(false);
  const close = (): void => setDialog(null);
  const health = healthOf(webhook, now.value);

  const test = async (): Promise<void> => {
    setTesting(true);
    try {
      const sent = await send<DeliveryRow>('POST', v1(`${webhookPathOf(webhook)}/test`), {}, { timeoutMs: 40_000 });
      const why = errorWords(sent.last_error, sent.last_status_code);
      const ms = sent.attempts.at(-1)?.duration_ms ?? null;
      toast(why === null ? `The test was delivered in ${formatMs(ms)}` : `The test failed: ${why}`);
    } catch (error) {
      const { title, detail } = toFault(error);
      toast(`The test was not sent: ${detail === '' ? title : detail}`);
    } finally {
      setTesting(false);
      onChanged();
      onSent();
    }
  };
  const pause = async (): Promise<void> => {
    try {
      await send('PATCH', v1(webhookPathOf(webhook)), { disabled: !webhook.disabled });
      toast(webhook.disabled ? 'Deliveries are sent again' : 'Paused: nothing is sent');
    } catch (error) {
      toast(toFault(error).title);
    }
    onChanged();
  };

  return (
    <>
      <Section title="Endpoint" note={<StateMark tone={health.tone} word={health.word} />}>
        <div class="stack">
          <p>{/[.!?]$/.test(health.why) ? health.why : `${health.why}.`}</p>
          <DeliveryTiles id={webhook.id} sends={sends} />
          <FactList
            label="Endpoint"
            facts={[
              { title: 'URL', value: <Text value={webhook.url} charactersMax={2_100} mono /> },
              {
                title: 'Decisions',
                value: (
                  <span class="row">
                    {webhook.event_types.map((event) => (
                      <DecisionBadge key={event} value={event} />
                    ))}
                  </span>
                ),
              },
              ...settingFacts(webhook),
              webhook.description === null
                ? null
                : { title: 'Description', value: <Text value={webhook.description} charactersMax={500} /> },
              { title: 'Secret', value: <code>{webhook.secret}</code> },
              {
                title: 'Id',
                value: (
                  <span class="row">
                    <code>{webhook.id}</code> <Copy text={webhook.id} what="id" />
                  </span>
                ),
              },
              { title: 'Last failure', value: <Time at={webhook.last_failure_at} /> },
              { title: 'Changed', value: <Time at={webhook.updated_at} /> },
            ]}
          />
          {!isReadOnly() && (
            <div class="row">
              <Button kind="primary" disabled={isTesting || webhook.disabled} onClick={() => void test()}>
                {isTesting ? 'Sending…' : 'Send a test'}
              </Button>
              <Button onClick={() => setDialog('edit')}>Edit</Button>
              <Button onClick={() => void pause()}>{webhook.disabled ? 'Resume' : 'Pause'}</Button>
              <Button onClick={() => setDialog('rotate')}>Rotate secret</Button>
              <Button disabled={webhook.disabled} onClick={() => setDialog('retry')}>
                Send failed again
              </Button>
              <Button kind="danger" onClick={() => setDialog('delete')}>
                Delete
              </Button>
            </div>
          )}
        </div>
      </Section>
      {dialog === 'edit' && <EditDialog webhook={webhook} onSecret={onSecret} onClose={close} onDone={onChanged} />}
      {dialog === 'rotate' && <RotateDialog webhook={webhook} onSecret={onSecret} onClose={close} onDone={onChanged} />}
      {dialog === 'delete' && <DeleteDialog webhook={webhook} onClose={close} onDone={onDeleted} />}
      {dialog === 'retry' && (
        <RetryDialog
          webhook={webhook}
          onClose={() => {
            close();
            onSent();
          }}
        />
      )}
    </>
  );
}

/** What is sent, and in which form. */
function settingFacts({
  events,
  filter,
  filter_error: fault,
  format,
  retry,
  headers,
}: WebhookRow): readonly (Fact | null)[] {
  const names = Object.keys(headers);
  const words = FORMAT_CHOICES.find(({ value }) => value === format)?.title;
  return [
    events.length === 0
      ? null
      : { title: 'Further events', value: events.map((event) => NOTICE_WORDS[event]).join(', ') },
    filter === null ? null : { title: 'Filter', value: <Text value={filter} charactersMax={1_000} mono /> },
    fault === null ? null : { title: 'Filter ignored', value: <Text value={fault} charactersMax={500} /> },
    { title: 'Format', value: words ?? format },
    retry === 'fast' ? null : { title: 'Retries', value: RETRY_CHOICES[1].title },
    names.length === 0
      ? null
      : { title: 'Headers', value: <Text value={names.join(', ')} charactersMax={1_100} mono /> },
  ];
}

/** Success and latency of the newest 100 deliveries. */
function DeliveryTiles({ id, sends }: { readonly id: string; readonly sends: number }): JSX.Element {
  const newest = useLive<WirePage<DeliveryRow>>(v1('/webhooks/deliveries', { webhook_id: id, limit: 100 }), {
    everyMs: 10_000,
  });
  const { refresh } = newest;
  useEffect(() => {
    if (sends > 0) refresh();
  }, [sends]);
  return (
    <StateView of={newest} skeleton="tiles">
      {({ data: rows }) => {
        const { succeeded, failed, durationsMs, p50Ms, p95Ms } = deliveryFiguresOf(rows);
        const ended = succeeded + failed;
        return (
          <Tiles label="The newest deliveries">
            <Tile
              title="Delivered"
              value={formatShare(succeeded, ended)}
              note={`${formatCount(succeeded)} of ${formatCount(ended)} completed`}
              tone={failed === 0 ? undefined : 'warn'}
            />
            <Tile title="Median within" value={formatMs(p50Ms)} note="until the response" />
            <Tile title="95 % within" value={formatMs(p95Ms)} note={countOf(durationsMs.length, 'attempt')} />
            <Tile
              title="Response times"
              value={durationsMs.length < 2 ? '–' : ''}
              note={`Of the newest ${countOf(rows.length, 'delivery', 'deliveries')}`}
            >
              <Sparkline values={durationsMs.slice(-SPARK_MAX)} label="Milliseconds" format={(ms) => formatMs(ms)} />
            </Tile>
          </Tiles>
        );
      }}
    </StateView>
  );
}
