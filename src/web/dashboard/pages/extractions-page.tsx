import type { JSX } from 'preact';
import { useLocation } from 'preact-iso/router';
import type { ExtractionRow } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import type { Column } from '../components/data-table.tsx';
import { ResourceList, type ResourceSpec, useResource } from '../components/resource-list.tsx';
import { StateMark } from '../components/state-mark.tsx';
import { StateView } from '../components/state-view.tsx';
import { Text } from '../components/text.tsx';
import { Time } from '../components/time.tsx';
import { formatCount } from '../format.ts';
import { useKeys } from '../keyboard.ts';
import { now } from '../now.ts';
import { useUrlState } from '../url-state.ts';
import { useLive } from '../use-live.ts';
import { JobDetail } from './extractions/job-detail.tsx';
import { activityOf, JOB_STATUS, rateOf } from './extractions/job-words.ts';
import { NewJob } from './extractions/new-job.tsx';
import { RecordTable } from './extractions/record-table.tsx';

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

const START_COMMAND = `curl -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  ${location.origin}/v1/extractions \\
  -d '{"connector":"hackernews","operation":"search.posts","input":{"query":"tea"},"collect":{"limit":50}}'`;

const EXTRACTIONS: ResourceSpec<ExtractionRow> = {
  title: 'Extractions',
  icon: 'extractions',
  path: '/extractions',
  pageRows: 50,
  everyMs: 3_000,
  keyOf: ({ id }) => id,
  columns: COLUMNS,
  filters: [
    {
      name: 'status',
      form: 'segments',
      label: 'Status',
      values: Object.entries(JOB_STATUS).map(([value, { word }]) => [value, word]),
    },
    { name: 'connector', form: 'chip', label: 'connector' },
  ],
  opens: { name: 'job', also: { cols: null } },
  empty: {
    title: 'No extraction yet',
    text: (
      <>
        <p>Start one with the form below, or call:</p>
        <pre tabIndex={0}>
          <code>{START_COMMAND}</code>
        </pre>
      </>
    ),
  },
  noMatch: { title: 'No such extraction', text: 'Remove the filter to see others.' },
  retention: 'Extractions and their records expire some days after they end.',
};

/** Extraction jobs with their progress, the records of one, and a form for the next. */
export default function ExtractionsPage(): JSX.Element {
  const url = useUrlState();
  const { route } = useLocation();
  const jobs = useResource(EXTRACTIONS);
  const { openKey } = jobs;
  const job = useLive<ExtractionRow>(openKey === '' ? null : v1(`/extractions/${encodeURIComponent(openKey)}`), {
    everyMs: 2_000,
  });
  const closeHref = url.href({ job: null, cols: null });
  useKeys(
    'Extractions',
    openKey === '' ? [] : [{ keys: 'Escape', does: 'Close the extraction', run: () => route(closeHref) }],
    [openKey, closeHref, route],
  );
  return (
    <div class="stack">
      {openKey !== '' && (
        <StateView of={job} skeleton="tiles">
          {(data) => (
            <>
              <JobDetail
                job={data}
                closeHref={closeHref}
                onChanged={() => {
                  job.refresh();
                  jobs.pages.refresh();
                }}
              />
              <RecordTable key={data.id} job={data} />
            </>
          )}
        </StateView>
      )}
      <ResourceList of={jobs} />
      <NewJob
        onStarted={(id) => {
          jobs.pages.refresh();
          url.set({ job: id, cols: null });
        }}
      />
    </div>
  );
}
