import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ExtractionRow } from '../../../../contract/wire-types.ts';
import { send, v1 } from '../../api.ts';
import { Copy } from '../../components/copy.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { FactList } from '../../components/facts.tsx';
import { Button } from '../../components/fields.tsx';
import { Icon } from '../../components/icon.tsx';
import { Section } from '../../components/pane.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Text } from '../../components/text.tsx';
import { Tile, Tiles } from '../../components/tile.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { formatCount } from '../../format.ts';
import { now } from '../../now.ts';
import { isReadOnly } from '../../session.ts';
import { activityOf, deliveryWords, JOB_STATUS, rateOf } from './job-words.ts';

/** One job: how far it is, what it waits for or why it failed, and the button that cancels it. */
export function JobDetail({
  job,
  closeHref,
  onChanged,
}: {
  readonly job: ExtractionRow;
  readonly closeHref: string;
  readonly onChanged: () => void;
}): JSX.Element {
  const [isCancelling, setCancelling] = useState(false);
  const { counts, status } = job;
  const isActive = status === 'queued' || status === 'running';
  const state = JOB_STATUS[status];
  return (
    <Section
      title="Extraction"
      note={<StateMark tone={state.tone} word={state.word} />}
      actions={
        <>
          {isActive && !isReadOnly() && (
            <Button small kind="danger" onClick={() => setCancelling(true)}>
              Cancel
            </Button>
          )}
          <a
            class="button button-quiet button-icon button-small"
            href={closeHref}
            aria-label="Close"
            title="Close (Esc)"
          >
            <Icon name="close" />
          </a>
        </>
      }
    >
      <div class="stack">
        <p role="status">
          <Text value={activityOf(job, now.value)} charactersMax={400} />
        </p>
        <progress
          class="progress"
          max={Math.max(1, counts.target)}
          value={counts.collected}
          aria-label="Records collected"
        />
        <Tiles label="Progress">
          <Tile
            title="Records"
            value={formatCount(counts.collected)}
            note={`of ${formatCount(counts.target)}${rateOf(job, now.value) === null ? '' : `, ${rateOf(job, now.value) ?? ''}`}`}
          />
          <Tile title="Pages" value={formatCount(counts.pages)} note={`${formatCount(job.usage.credits)} credits`} />
          <Tile
            title="Errors"
            value={formatCount(counts.errors)}
            note="failed fetches, dropped records"
            tone={counts.errors > 0 ? 'warn' : undefined}
          />
          <Tile title="Duplicates" value={formatCount(counts.duplicates)} note="left out" />
        </Tiles>
        {job.notes.length > 0 && (
          <ul class="stack-small">
            {job.notes.map(({ code, message }) => (
              <li key={code} class="notice">
                <Text value={message} charactersMax={400} />
              </li>
            ))}
          </ul>
        )}
        <FactList
          label="Extraction"
          facts={[
            {
              title: 'Operation',
              value: (
                <>
                  <Text value={job.connector} /> <Text value={job.operation} mono />
                </>
              ),
            },
            { title: 'Records are', value: deliveryWords(job) },
            { title: 'Created', value: <Time at={job.created_at} /> },
            { title: 'Ended', value: <Time at={job.finished_at} /> },
            job.expires_at === null ? null : { title: 'Expires', value: <Time at={job.expires_at} /> },
            {
              title: 'Id',
              value: (
                <span class="row">
                  <code>{job.id}</code> <Copy text={job.id} what="id" />
                </span>
              ),
            },
            { title: 'Request id', value: <code>{job.request_id}</code> },
          ]}
        />
      </div>
      {isCancelling && (
        <Confirm
          title="Cancel the extraction"
          confirm="Cancel it"
          danger
          onConfirm={async () => {
            await send('POST', v1(`/extractions/${encodeURIComponent(job.id)}/cancel`), {});
            toast('The extraction is cancelled');
            onChanged();
          }}
          onClose={() => setCancelling(false)}
        >
          <p>
            The job ends as failed. Its {formatCount(counts.collected)} records so far can be read until it expires.
          </p>
        </Confirm>
      )}
    </Section>
  );
}
