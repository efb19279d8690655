import type { JSX } from 'preact';
import { useLocation } from 'preact-iso/router';
import type { ExtractionStatus } from '../../../contract/vocabulary.ts';
import type { ExtractionRow } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { FilterChips, ValueSegments } from '../components/filter-chips.tsx';
import { Section } from '../components/pane.tsx';
import { StateMark } from '../components/state-mark.tsx';
import { Empty, EndOfRows, StateView } from '../components/state-view.tsx';
import { LookFurther } from '../components/look-further.tsx';
import { Text } from '../components/text.tsx';
import { Time } from '../components/time.tsx';
import { formatCount } from '../format.ts';
import { useKeys } from '../keyboard.ts';
import { now } from '../now.ts';
import { useUrlState } from '../url-state.ts';
import { useLive } from '../use-live.ts';
import { usePages } from '../use-pages.ts';
import { JobDetail } from './extractions/job-detail.tsx';
import { activityOf, JOB_STATUS, rateOf } from './extractions/job-words.ts';
import { NewJob } from './extractions/new-job.tsx';
import { RecordTable } from './extractions/record-table.tsx';

const STATUSES = Object.keys(JOB_STATUS) as ExtractionStatus[];

const COLUMNS: readonly Column<ExtractionRow>[] = [
  { id: 'at', title: 'Created', render: ({ created_at: at }) => <Time at={at} /> },
  {
    id: 'status',
    title: 'Status',
    render: ({ status }) => <StateMark tone={JOB_STATUS[status].tone} word={JOB_STATUS[status].word} />,
  },
  {
    id: 'what',
    title: 'Operation',
    render: ({ connector, operation }) => <Text value={`${connector} ${operation}`} charactersMax={50} />,
  },
  {
    id: 'doing',
    title: 'Activity',
    grows: true,
    render: (job) => <Text value={activityOf(job, now.value)} charactersMax={120} />,
  },
  {
    id: 'records',
    title: 'Records',
    align: 'right',
    render: ({ counts }) => `${formatCount(counts.collected)} of ${formatCount(counts.target)}`,
  },
  { id: 'rate', title: 'Speed', align: 'right', optional: true, render: (job) => rateOf(job, now.value) ?? '–' },
  { id: 'pages', title: 'Pages', align: 'right', render: ({ counts }) => formatCount(counts.pages) },
];

/** What is pulled from sources: jobs with their progress, records of one, and a form for the next. */
export default function ExtractionsPage(): JSX.Element {
  const url = useUrlState();
  const { route } = useLocation();
  const [status, connector, jobId] = [url.get('status'), url.get('connector'), url.get('job')];
  const jobs = usePages<ExtractionRow>(v1('/extractions', { status, connector, limit: 50 }), {
    idOf: ({ id }) => id,
    everyMs: 3_000,
  });
  const job = useLive<ExtractionRow>(jobId === '' ? null : v1(`/extractions/${encodeURIComponent(jobId)}`), {
    everyMs: 2_000,
  });
  const closeHref = url.href({ job: null, cols: null });
  useKeys(
    'Extractions',
    jobId === '' ? [] : [{ keys: 'Escape', does: 'Close the extraction', run: () => route(closeHref) }],
    [jobId, closeHref, route],
  );
  const isFiltered = status !== '' || connector !== '';
  return (
    <div class="stack">
      {jobId !== '' && (
        <StateView of={job} skeleton="tiles">
          {() =>
            job.data === undefined ? null : (
              <>
                <JobDetail
                  job={job.data}
                  closeHref={closeHref}
                  onChanged={() => {
                    job.refresh();
                    jobs.refresh();
                  }}
                />
                <RecordTable key={job.data.id} job={job.data} />
              </>
            )
          }
        </StateView>
      )}
      <Section title="Extractions" flush>
        <div class="filters padded">
          <ValueSegments
            label="Status"
            name="status"
            values={STATUSES.map((value) => [value, JOB_STATUS[value].word])}
          />
          <FilterChips
            chips={
              connector === ''
                ? []
                : [{ id: 'connector', name: 'connector', value: connector, without: url.href({ connector: null }) }]
            }
            clear={url.href({ connector: null })}
          />
        </div>
        <StateView
          of={jobs}
          isEmpty={jobs.rows.length === 0}
          empty={
            jobs.hasMore ? (
              <LookFurther pages={jobs} what="extractions" />
            ) : (
              <Empty icon="extractions" title={isFiltered ? 'No such extraction' : 'No extraction yet'}>
                {isFiltered ? (
                  'Remove the filter to see others.'
                ) : (
                  <>
                    <p>Start one with the form below, or call:</p>
                    <pre tabIndex={0}>
                      <code>{START_COMMAND}</code>
                    </pre>
                  </>
                )}
              </Empty>
            )
          }
        >
          {() => (
            <DataTable
              caption="Extractions"
              columns={COLUMNS}
              rows={jobs.rows}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => url.href({ job: id, cols: null })}
              selected={jobId || null}
            />
          )}
        </StateView>
        <EndOfRows pages={jobs} retention="Extractions and their records expire some days after they end." />
      </Section>
      <NewJob
        onStarted={(id) => {
          jobs.refresh();
          url.set({ job: id, cols: null });
        }}
      />
    </div>
  );
}

const START_COMMAND = `curl -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  ${location.origin}/v1/extractions \\
  -d '{"connector":"hackernews","operation":"search.posts","input":{"query":"tea"},"collect":{"limit":50}}'`;
