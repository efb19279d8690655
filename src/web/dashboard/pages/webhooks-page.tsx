import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WebhookRow } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Button } from '../components/fields.tsx';
import { Section } from '../components/pane.tsx';
import { StateMark } from '../components/state-mark.tsx';
import { Empty, EndOfRows, StateView } from '../components/state-view.tsx';
import { Text } from '../components/text.tsx';
import { DECISION_WORDS } from '../format.ts';
import { useKeys } from '../keyboard.ts';
import { now } from '../now.ts';
import { isReadOnly } from '../session.ts';
import { useUrlState } from '../url-state.ts';
import { usePages } from '../use-pages.ts';
import { DeliveryLog } from './webhooks/delivery-log.tsx';
import { DeliveryPane } from './webhooks/delivery-pane.tsx';
import { EndpointDetail } from './webhooks/endpoint-detail.tsx';
import { VerifyBox } from './webhooks/verify-box.tsx';
import { EditDialog, type NewSecret, SecretDialog } from './webhooks/webhook-dialogs.tsx';
import { healthOf } from './webhooks/webhook-words.ts';

const COLUMNS: readonly Column<WebhookRow>[] = [
  { id: 'url', title: 'URL', render: ({ url }) => <Text value={url} charactersMax={60} mono /> },
  {
    id: 'health',
    title: 'Health',
    render: (webhook) => {
      const { tone, word } = healthOf(webhook, now.value);
      return <StateMark tone={tone} word={word} />;
    },
  },
  { id: 'why', title: 'Why', grows: true, render: (webhook) => healthOf(webhook, now.value).why },
  {
    id: 'events',
    title: 'Decisions',
    optional: true,
    render: ({ event_types: events }) => events.map((event) => DECISION_WORDS[event]).join(', '),
  },
  {
    id: 'what',
    title: 'Description',
    optional: true,
    render: (row) => <Text value={row.description} charactersMax={40} />,
  },
];

/** Shows whether the customer's servers get events: endpoints with their health, deliveries, and a check of signatures. */
export default function WebhooksPage(): JSX.Element {
  const url = useUrlState();
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<NewSecret | null>(null);
  const [turn, setTurn] = useState(0);
  const onSent = (): void => setTurn((n) => n + 1);
  const webhooks = usePages<WebhookRow>(v1('/webhooks', { limit: 100 }), { idOf: ({ id }) => id, everyMs: 5_000 });
  const webhookId = url.get('webhook');
  const deliveryId = url.get('delivery');
  const chosen = webhooks.rows.find(({ id }) => id === webhookId);
  useKeys('Webhooks', isReadOnly() ? [] : [{ keys: 'n', does: 'New webhook', run: () => setCreating(true) }], []);
  return (
    <div class="stack">
      <Section
        title="Endpoints"
        flush
        actions={
          isReadOnly() ? undefined : (
            <Button icon="plus" onClick={() => setCreating(true)}>
              New webhook
            </Button>
          )
        }
      >
        <StateView
          of={webhooks}
          isEmpty={webhooks.rows.length === 0}
          empty={
            <Empty icon="webhooks" title="No webhook yet">
              <p>A webhook gets a signed POST for each decision that you choose. Press “New webhook”, or call:</p>
              <pre tabIndex={0}>
                <code>{CREATE_COMMAND}</code>
              </pre>
            </Empty>
          }
        >
          {() => (
            <DataTable
              caption="Endpoints"
              columns={COLUMNS}
              rows={webhooks.rows}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => url.href({ webhook: id, delivery: null })}
              selected={webhookId || null}
              keys={false}
            />
          )}
        </StateView>
        <EndOfRows pages={webhooks} retention="A customer may have 20." />
      </Section>
      {chosen !== undefined && (
        <EndpointDetail
          key={chosen.id}
          webhook={chosen}
          turn={turn}
          onChanged={webhooks.refresh}
          onSent={onSent}
          onDeleted={() => {
            webhooks.refresh();
            url.set({ webhook: null, delivery: null });
          }}
          onSecret={setSecret}
        />
      )}
      <div class={deliveryId === '' ? 'with-pane' : 'with-pane with-pane-open'}>
        <DeliveryLog webhookId={webhookId} turn={turn} />
        {deliveryId !== '' && (
          <DeliveryPane
            id={deliveryId}
            closeHref={url.href({ delivery: null })}
            onSent={(id) => {
              onSent();
              url.set({ delivery: id });
            }}
          />
        )}
      </div>
      <VerifyBox />
      {isCreating && (
        <EditDialog webhook={null} onSecret={setSecret} onClose={() => setCreating(false)} onDone={webhooks.refresh} />
      )}
      {secret !== null && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </div>
  );
}

const CREATE_COMMAND = `curl -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  ${location.origin}/v1/webhooks \\
  -d '{"url":"https://shop.example/risk-events","event_types":["REVIEW","BLOCK"]}'`;
