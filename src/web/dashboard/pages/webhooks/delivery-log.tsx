import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { DeliveryEvent, DeliveryStatus } from '../../../../contract/vocabulary.ts';
import type { DeliveryRow } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Select } from '../../components/fields.tsx';
import { type Chip, FilterChips, ValueSegments } from '../../components/filter-chips.tsx';
import { Section } from '../../components/pane.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Empty, EndOfRows, StateView } from '../../components/state-view.tsx';
import { LookFurther } from '../../components/look-further.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { DECISION_WORDS, formatMs, shortId } from '../../format.ts';
import { useUrlState } from '../../url-state.ts';
import { usePages } from '../../use-pages.ts';
import { attemptsOf, errorWords, STATUS_WORDS, TRIGGER_WORDS } from './webhook-words.ts';

const EVENT_WORDS: Readonly<Record<DeliveryEvent, string>> = {
  ...DECISION_WORDS,
  'extraction.records': 'Records',
  'extraction.completed': 'Extraction completed',
  'extraction.failed': 'Extraction failed',
};
const STATUSES = Object.keys(STATUS_WORDS) as DeliveryStatus[];

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

/** Deliveries of one webhook or of all, by status, event and decision; all filters are in the URL. */
export function DeliveryLog({
  webhookId,
  turn,
}: {
  readonly webhookId: string;
  /** Changes when something was sent. */
  readonly turn: number;
}): JSX.Element {
  const url = useUrlState();
  const [status, event, requestId] = [url.get('status'), url.get('event'), url.get('request_id')];
  const query = { webhook_id: webhookId, status, event, request_id: requestId, limit: 50 };
  const pages = usePages<DeliveryRow>(v1('/webhooks/deliveries', query), { idOf: ({ id }) => id, everyMs: 5_000 });
  const { refresh } = pages;
  useEffect(() => {
    if (turn > 0) refresh();
  }, [turn]);
  const isFiltered = status !== '' || event !== '' || requestId !== '';
  const chips: Chip[] = [
    ['webhook', 'endpoint', shortId(webhookId)],
    ['request_id', 'about', shortId(requestId)],
  ].flatMap(([id = '', name = '', value = '']) =>
    value === '' ? [] : [{ id, name, value, without: url.href({ [id]: null, delivery: null }) }],
  );
  return (
    <Section title="Deliveries" flush>
      <div class="filters padded">
        <ValueSegments
          label="Status"
          name="status"
          values={STATUSES.map((value) => [value, STATUS_WORDS[value].word])}
        />
        <Select
          label="Event"
          labelHidden
          value={event}
          onValue={(value) => url.set({ event: value })}
          choices={[
            { value: '', title: 'All events' },
            ...Object.entries(EVENT_WORDS).map(([value, title]) => ({ value, title })),
          ]}
        />
        <FilterChips chips={chips} clear={url.href({ webhook: null, request_id: null, delivery: null })} />
      </div>
      <StateView
        of={pages}
        isEmpty={pages.rows.length === 0}
        empty={
          pages.hasMore ? (
            <LookFurther pages={pages} what="deliveries" />
          ) : (
            <Empty icon="webhooks" title={isFiltered ? 'No such delivery' : 'Nothing was sent yet'}>
              {isFiltered
                ? 'Deliveries are kept for 30 days. Remove a filter to see others.'
                : 'Every decision that a webhook subscribes to is listed here within a second. Open an endpoint to send a test.'}
            </Empty>
          )
        }
      >
        {() => (
          <>
            <DataTable
              caption="Deliveries"
              columns={COLUMNS}
              rows={pages.rows}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => url.href({ delivery: id })}
              selected={url.get('delivery') || null}
            />
          </>
        )}
      </StateView>
      <EndOfRows pages={pages} retention="Deliveries are kept for 30 days, at most 10,000." />
    </Section>
  );
}
