import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { DeliveryEvent } from '../../../../contract/vocabulary.ts';
import type { DeliveryRow } from '../../../../contract/wire-types.ts';
import type { Column } from '../../components/data-table.tsx';
import { ResourceList, type ResourceSpec, useResource } from '../../components/resource-list.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { DECISION_WORDS, formatMs, shortId } from '../../format.ts';
import { useUrlState } from '../../url-state.ts';
import { DeliveryPane } from './delivery-pane.tsx';
import { NOTICE_WORDS } from './webhook-words.ts';
import { attemptsOf, errorWords, STATUS_WORDS, TRIGGER_WORDS } from './webhook-words.ts';

const EVENT_WORDS: Readonly<Record<DeliveryEvent, string>> = {
  ...DECISION_WORDS,
  'extraction.records': 'Records',
  'extraction.completed': 'Extraction completed',
  'extraction.failed': 'Extraction failed',
  ...NOTICE_WORDS,
};

const COLUMNS: readonly Column<DeliveryRow>[] = [
  { id: 'at', title: 'Created', render: ({ created_at: at }) => <Time at={at} /> },
  {
    id: 'status',
    title: 'Status',
    render: ({ status }) => <StateMark tone={STATUS_WORDS[status].tone} word={STATUS_WORDS[status].word} />,
  },
  { id: 'event', title: 'Event', render: ({ event }) => EVENT_WORDS[event] },
  {
    id: 'why',
    title: 'Result',
    grows: true,
    render: ({ last_error: error, last_status_code: code }) => errorWords(error, code) ?? (code === null ? '–' : code),
  },
  { id: 'trigger', title: 'Trigger', optional: true, render: ({ trigger }) => TRIGGER_WORDS[trigger] },
  { id: 'to', title: 'To', optional: true, render: ({ url }) => <Text value={url} charactersMax={34} /> },
  { id: 'attempts', title: 'Attempts', align: 'right', render: attemptsOf },
  {
    id: 'ms',
    title: 'Response',
    align: 'right',
    render: ({ attempts }) => formatMs(attempts.at(-1)?.duration_ms ?? null),
  },
];

const DELIVERIES: ResourceSpec<DeliveryRow> = {
  title: 'Deliveries',
  icon: 'webhooks',
  path: '/webhooks/deliveries',
  pageRows: 50,
  everyMs: 5_000,
  keyOf: ({ id }) => id,
  columns: COLUMNS,
  filters: [
    {
      name: 'status',
      form: 'segments',
      label: 'Status',
      values: Object.entries(STATUS_WORDS).map(([value, { word }]) => [value, word]),
    },
    { name: 'event', form: 'select', label: 'Event', all: 'All events', values: Object.entries(EVENT_WORDS) },
    {
      name: 'webhook',
      form: 'chip',
      label: 'endpoint',
      textOf: shortId,
      query: (webhook) => ({ webhook_id: webhook }),
      also: { delivery: null },
      isSubject: true,
    },
    { name: 'request_id', form: 'chip', label: 'about', textOf: shortId, also: { delivery: null } },
  ],
  opens: { name: 'delivery' },
  empty: {
    title: 'Nothing was sent yet',
    text: 'Every decision that a webhook subscribes to is listed here within a second. Open an endpoint to send a test.',
  },
  noMatch: {
    title: 'No such delivery',
    text: 'Deliveries are kept for 30 days. Remove a filter to see others.',
  },
  retention: 'Deliveries are kept for 30 days, at most 10,000.',
};

/** Deliveries of one webhook or of all, with the chosen one beside them. `sends` changes when something was sent. */
export function DeliveryLog({ sends, onSent }: { readonly sends: number; readonly onSent: () => void }): JSX.Element {
  const url = useUrlState();
  const deliveries = useResource(DELIVERIES);
  const { openKey, pages } = deliveries;
  useEffect(() => {
    if (sends > 0) pages.refresh();
  }, [sends]);
  return (
    <ResourceList
      of={deliveries}
      pane={
        openKey === '' ? null : (
          <DeliveryPane
            id={openKey}
            closeHref={url.href({ delivery: null })}
            onSent={(id) => {
              onSent();
              url.set({ delivery: id });
            }}
          />
        )
      }
    />
  );
}
