import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FeedTokenBody, WatchRow } from '../../../../contract/wire-types.ts';
import { send, toFault, v1 } from '../../api.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { type Fact, FactList } from '../../components/facts.tsx';
import { Button } from '../../components/fields.tsx';
import { Icon } from '../../components/icon.tsx';
import { Section } from '../../components/pane.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { asWords, formatCount } from '../../format.ts';
import { isReadOnly } from '../../session.ts';
import { useLink } from '../../url-state.ts';
import { foundWords, operationOf, scheduleOf, watchPathOf, watchState } from './watch-words.ts';

/** One watch: what it repeats and how its last run went, and everything that can be done with it. */
export function WatchDetail({
  watch,
  closeHref,
  onChanged,
  onDeleted,
  onToken,
}: {
  readonly watch: WatchRow;
  readonly closeHref: string;
  readonly onChanged: () => void;
  readonly onDeleted: () => void;
  readonly onToken: (token: string) => void;
}): JSX.Element {
  const [dialog, setDialog] = useState<'token' | 'delete' | null>(null);
  const { tone, word, why } = watchState(watch);
  const path = v1(watchPathOf(watch));
  const write = async (done: string, ...request: Parameters<typeof send>): Promise<void> => {
    try {
      await send(...request);
      toast(done);
    } catch (error) {
      const { title, detail } = toFault(error);
      toast(detail === '' ? title : detail);
    }
    onChanged();
  };
  const close = (): void => setDialog(null);
  return (
    <Section
      title="Watch"
      note={<StateMark tone={tone} word={word} />}
      actions={
        <a class="button button-quiet button-icon button-small" href={closeHref} aria-label="Close" title="Close (Esc)">
          <Icon name="close" />
        </a>
      }
    >
      <div class="stack">
        {why !== null && (
          <p class="notice" role="status">
            The last run failed: {why}.
          </p>
        )}
        <FactList label="Watch" facts={factsOf(watch)} />
        <LastRun watch={watch} />
        <details>
          <summary>The extraction of each run</summary>
          <CodeBlock text={JSON.stringify(watch.extraction, null, 2)} label="Extraction" wrap />
        </details>
        {!isReadOnly() && (
          <div class="row">
            <Button
              kind="primary"
              disabled={watch.status === 'running'}
              onClick={() => void write('A run has begun', 'POST', `${path}/run`, {})}
            >
              Run now
            </Button>
            <Button
              onClick={() =>
                void write(watch.paused ? 'Runs go on' : 'Paused: no run begins', 'PATCH', path, {
                  paused: !watch.paused,
                })
              }
            >
              {watch.paused ? 'Resume' : 'Pause'}
            </Button>
            <Button onClick={() => setDialog('token')}>New feed token</Button>
            <Button kind="danger" onClick={() => setDialog('delete')}>
              Delete
            </Button>
          </div>
        )}
      </div>
      {dialog === 'token' && (
        <Confirm
          title="New feed token"
          confirm="Make a new token"
          onClose={close}
          onConfirm={async () => onToken((await send<FeedTokenBody>('POST', `${path}/feed-token`, {})).feed_token)}
        >
          <p>Feed readers with the token so far read nothing more. Give them the new address.</p>
        </Confirm>
      )}
      {dialog === 'delete' && (
        <Confirm
          title="Delete the watch"
          confirm="Delete"
          danger
          onClose={close}
          onConfirm={async () => {
            await send('DELETE', path);
            toast('The watch is deleted');
            onDeleted();
          }}
        >
          <p>
            Its changes and its feed go with it. A run on its way ends as an extraction. To stop runs only, choose
            Pause.
          </p>
        </Confirm>
      )}
    </Section>
  );
}

function factsOf(watch: WatchRow): readonly (Fact | null)[] {
  const { name, key, compare, emit, missed_runs: missed } = watch;
  return [
    name === null ? null : { title: 'Name', value: <Text value={name} charactersMax={100} /> },
    { title: 'Operation', value: <Text value={operationOf(watch)} charactersMax={120} mono /> },
    { title: 'Runs', value: <Text value={scheduleOf(watch)} charactersMax={120} /> },
    { title: 'Next run', value: <Time at={watch.next_run_at} /> },
    missed === 0 ? null : { title: 'Missed runs', value: formatCount(missed) },
    { title: 'Key', value: <Text value={key.join(', ')} charactersMax={500} mono /> },
    {
      title: 'Compares',
      value: compare === null ? 'the whole record' : <Text value={compare.join(', ')} charactersMax={500} mono />,
    },
    { title: 'Keeps', value: emit.join(', ') },
    { title: 'Id', value: <code>{watch.id}</code> },
  ];
}

function LastRun({ watch }: { readonly watch: WatchRow }): JSX.Element | null {
  const link = useLink();
  const { last_run: last } = watch;
  if (last === null) return null;
  const { extraction_id: job, notes, drifted_fields: drifted } = last;
  return (
    <FactList
      label="Last run"
      facts={[
        { title: 'Last run', value: <Time at={last.started_at} /> },
        { title: 'Found', value: foundWords(watch) ?? 'nothing' },
        last.complete ? null : { title: 'Incomplete', value: 'Absent records were not counted' },
        notes.length === 0 ? null : { title: 'Notes', value: notes.map(asWords).join(', ') },
        drifted.length === 0
          ? null
          : { title: 'Suddenly empty', value: <Text value={drifted.join(', ')} charactersMax={500} mono /> },
        job === null
          ? null
          : { title: 'Extraction', value: <a href={link('/dashboard/extractions', { job })}>{job}</a> },
      ]}
    />
  );
}
