import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WebhookRow } from '../../../../contract/wire-types.ts';
import { send, v1 } from '../../api.ts';
import { Checks } from '../../components/checks.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Field, Select } from '../../components/fields.tsx';
import { ShownOnceDialog } from '../../components/shown-once-dialog.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { DECISION_ORDER, DECISION_WORDS } from '../../format.ts';
import { visibleText } from '../../visible-text.ts';
import { type GivenHeaders, headersIn, HeadersField } from './headers-field.tsx';
import { FORMAT_CHOICES, NOTICE_WORDS, RETRY_CHOICES } from './webhook-words.ts';

interface DialogProps {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** A secret that is shown once, and until when the one before it signs too. */
export interface NewSecret {
  readonly url: string;
  readonly secret: string;
  /** Unix seconds; null if there is no older one. */
  readonly oldEndsAt: number | null;
}

export function webhookPathOf(webhook: WebhookRow): string {
  return `/webhooks/${encodeURIComponent(webhook.id)}`;
}

/** Creates a webhook, or changes `webhook`. */
export function EditDialog({
  webhook,
  onSecret,
  onClose,
  onDone,
}: DialogProps & { readonly webhook: WebhookRow | null; readonly onSecret: (secret: NewSecret) => void }): JSX.Element {
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [events, setEvents] = useState<readonly string[]>(webhook?.event_types ?? ['REVIEW', 'BLOCK']);
  const [notices, setNotices] = useState<readonly string[]>(webhook?.events ?? []);
  const [description, setDescription] = useState(webhook?.description ?? '');
  const [filter, setFilter] = useState(webhook?.filter ?? '');
  const [format, setFormat] = useState<string>(webhook?.format ?? 'standard');
  const [fields, setFields] = useState<string>(webhook?.fields ?? 'event');
  const [retry, setRetry] = useState<string>(webhook?.retry ?? 'fast');
  const [headers, setHeaders] = useState<GivenHeaders>({ text: '', isRemoved: false });
  const run = async (): Promise<void> => {
    const body = {
      url: url.trim(),
      event_types: events,
      events: notices,
      filter: filter.trim() || null,
      format,
      fields,
      retry,
      description: description.trim() || null,
      ...headersIn(headers),
    };
    if (webhook === null) {
      const made = await send<WebhookRow>('POST', v1('/webhooks'), body);
      onSecret({ url: made.url, secret: made.secret, oldEndsAt: null });
    } else {
      await send<WebhookRow>('PATCH', v1(webhookPathOf(webhook)), body);
      toast('The webhook is changed');
    }
    onDone();
  };
  return (
    <Confirm
      title={webhook === null ? 'New webhook' : 'Edit the webhook'}
      confirm={webhook === null ? 'Create' : 'Save'}
      disabled={url.trim() === '' || events.length + notices.length === 0}
      onConfirm={run}
      onClose={onClose}
    >
      <Field
        label="URL"
        type="url"
        value={url}
        onValue={setUrl}
        placeholder="https://shop.example/risk-events"
        maxLength={2_048}
        required
        autoFocus
        hint={
          webhook === null
            ? 'A public address. For your own machine or network, start the server with GATEHOUSE_EGRESS_ALLOW=127.0.0.0/8 (or the network).'
            : 'A new URL starts as healthy.'
        }
      />
      <Checks
        legend="Decisions to send"
        choices={DECISION_ORDER.map((value) => ({ value, title: DECISION_WORDS[value] }))}
        chosen={events}
        onChosen={setEvents}
      />
      <Checks
        legend="Further events"
        choices={Object.entries(NOTICE_WORDS).map(([value, title]) => ({ value, title }))}
        chosen={notices}
        onChosen={setNotices}
      />
      <Field
        label="Filter"
        value={filter}
        onValue={setFilter}
        placeholder="score > 90"
        maxLength={1_000}
        rows={2}
        spellcheck={false}
        hint="Optional. A condition as in own rules: only decisions for which it is true are sent."
      />
      <Select label="Format" value={format} onValue={setFormat} choices={FORMAT_CHOICES} />
      {format === 'standard' && <Select label="Fields" value={fields} onValue={setFields} choices={FIELD_CHOICES} />}
      <Select label="Retries" value={retry} onValue={setRetry} choices={RETRY_CHOICES} />
      <HeadersField webhook={webhook} value={headers} onValue={setHeaders} />
      <Field
        label="Description"
        value={description}
        onValue={setDescription}
        maxLength={500}
        hint="Optional. Only you see it."
      />
    </Confirm>
  );
}

const FIELD_CHOICES = [
  { value: 'event', title: 'The six fields of the event' },
  { value: 'full', title: 'All that is known of the decision' },
] as const;

const GRACES = [
  { value: '0', title: 'At once: receivers with the old secret fail' },
  { value: '3600', title: 'After 1 hour' },
  { value: '86400', title: 'After 1 day' },
  { value: '604800', title: 'After 7 days' },
] as const;

export function RotateDialog({
  webhook,
  onSecret,
  onClose,
  onDone,
}: DialogProps & { readonly webhook: WebhookRow; readonly onSecret: (secret: NewSecret) => void }): JSX.Element {
  const [grace, setGrace] = useState('86400');
  const run = async (): Promise<void> => {
    const seconds = Number(grace);
    const made = await send<WebhookRow>('POST', v1(`${webhookPathOf(webhook)}/rotate`), { grace_seconds: seconds });
    onSecret({ url: made.url, secret: made.secret, oldEndsAt: made.updated_at + seconds });
    onDone();
  };
  return (
    <Confirm title="Rotate the secret" confirm="Make a new secret" onConfirm={run} onClose={onClose}>
      <p>
        Meanwhile <code>webhook-signature</code> has a signature by each secret, and{' '}
        <code>X-SVC-Webhook-Signature</code> is still made with the oldest one. Give the receiver the new secret before
        the old one expires.
      </p>
      <Select label="The old secret expires" value={grace} onValue={setGrace} choices={GRACES} />
    </Confirm>
  );
}

export function DeleteDialog({
  webhook,
  onClose,
  onDone,
}: DialogProps & { readonly webhook: WebhookRow }): JSX.Element {
  return (
    <Confirm
      title="Delete the webhook"
      confirm="Delete"
      danger
      onConfirm={async () => {
        await send('DELETE', v1(webhookPathOf(webhook)));
        toast('The webhook is deleted');
        onDone();
      }}
      onClose={onClose}
    >
      <p class="text">
        <bdi>{visibleText(webhook.url)}</bdi> receives nothing more. Its pending deliveries are skipped, its secret is
        gone, and its deliveries stay in the log. To pause it instead, choose Pause.
      </p>
    </Confirm>
  );
}

export function WebhookSecretDialog({
  secret: { url, secret, oldEndsAt },
  onClose,
}: {
  readonly secret: NewSecret;
  readonly onClose: () => void;
}): JSX.Element {
  return (
    <ShownOnceDialog
      title="The secret"
      secrets={[{ label: 'Secret', text: secret }]}
      after={
        oldEndsAt !== null && (
          <p>
            The new secret signs from now on and does not expire. The old one signs as well until{' '}
            <Time at={oldEndsAt} />.
          </p>
        )
      }
      onClose={onClose}
    >
      Store it where the receiver of <bdi class="text">{visibleText(url)}</bdi> reads it. No later call shows it again;
      you can always make a new one.
    </ShownOnceDialog>
  );
}
