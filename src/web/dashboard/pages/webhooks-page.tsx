import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WebhookRow } from '../../../contract/wire-types.ts';
import type { Column } from '../components/data-table.tsx';
import { ResourceList, type ResourceSpec, useResource } from '../components/resource-list.tsx';
import { Button } from '../components/fields.tsx';
import { StateMark } from '../components/state-mark.tsx';
import { Text } from '../components/text.tsx';
import { DECISION_WORDS } from '../format.ts';
import { useKeys } from '../keyboard.ts';
import { now } from '../now.ts';
import { isReadOnly } from '../session.ts';
import { useUrlState } from '../url-state.ts';
import { DeliveryLog } from './webhooks/delivery-log.tsx';
import { EndpointDetail } from './webhooks/endpoint-detail.tsx';
import { VerifyBox } from './webhooks/verify-box.tsx';
import { EditDialog, type NewSecret, WebhookSecretDialog } from './webhooks/webhook-dialogs.tsx';
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

const CREATE_COMMAND = `curl -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  ${location.origin}/v1/webhooks \\
  -d '{"url":"https://shop.example/risk-events","event_types":["REVIEW","BLOCK"]}'`;

const ENDPOINTS: ResourceSpec<WebhookRow> = {
  title: 'Endpoints',
  icon: 'webhooks',
  path: '/webhooks',
  pageRows: 100,
  everyMs: 5_000,
  keyOf: ({ id }) => id,
  columns: COLUMNS,
  opens: { name: 'webhook', also: { delivery: null } },
  hasKeys: false,
  empty: {
    title: 'No webhook yet',
    text: (
      <>
        <p>A webhook gets a signed POST for each decision that you choose. Press “New webhook”, or call:</p>
        <pre tabIndex={0}>
          <code>{CREATE_COMMAND}</code>
        </pre>
      </>
    ),
  },
  retention: 'A customer may have 20.',
};

/** Shows whether the customer's servers get events: endpoints with their health, deliveries, and a check of signatures. */
export default function WebhooksPage(): JSX.Element {
  const url = useUrlState();
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<NewSecret | null>(null);
  const [sends, setSends] = useState(0);
  const onSent = (): void => setSends((n) => n + 1);
  const endpoints = useResource(ENDPOINTS);
  const { refresh } = endpoints.pages;
  const chosen = endpoints.rows.find(({ id }) => id === endpoints.openKey);
  useKeys('Webhooks', isReadOnly() ? [] : [{ keys: 'n', does: 'New webhook', run: () => setCreating(true) }], []);
  return (
    <div class="stack">
      <ResourceList
        of={endpoints}
        actions={
          isReadOnly() ? undefined : (
            <Button icon="plus" onClick={() => setCreating(true)}>
              New webhook
            </Button>
          )
        }
      />
      {chosen !== undefined && (
        <EndpointDetail
          key={chosen.id}
          webhook={chosen}
          sends={sends}
          onChanged={refresh}
          onSent={onSent}
          onDeleted={() => {
            refresh();
            url.set({ webhook: null, delivery: null });
          }}
          onSecret={setSecret}
        />
      )}
      <DeliveryLog sends={sends} onSent={onSent} />
      <VerifyBox />
      {isCreating && (
        <EditDialog webhook={null} onSecret={setSecret} onClose={() => setCreating(false)} onDone={refresh} />
      )}
      {secret !== null && <WebhookSecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </div>
  );
}
