import type { FailureDetail } from '../../work/extraction-job.ts';
import type { Store } from '../../state/feed/open-store.ts';
import type { Cli } from '../context.ts';
import { failure, ok, type CommandOutcome } from '../command-outcome.ts';
import { tableText, timeText } from '../text-table.ts';
import { withStore } from '../with-store.ts';

const REQUEST_ID_FORM = /^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export function addFailures(cli: Cli): void {
  cli.program
    .command('failures')
    .description('details of failed extractions')
    .command('show <request_id>')
    .description('show the errors of the job that a request created')
    .action((requestId: string) =>
      cli.run(async () => {
        if (!REQUEST_ID_FORM.test(requestId)) {
          return failure(
            'malformed_request_id',
            'a request id consists of req_ and 26 digits and capital letters; jobs show it as request_id',
          );
        }
        return withStore(cli.globals().dataDir, (store) => show(store, requestId));
      }),
    );
}

function show(store: Store, requestId: string): CommandOutcome {
  const found = store.extract?.failures.find(requestId) ?? null;
  if (found === null) {
    return failure(
      'not_found',
      'there are no errors for that request id: its job has not failed so far, or has expired',
    );
  }
  const customer = store.customers.find(found.customer)?.id ?? null;
  const entries = found.entries.map(({ atMs, reason, step, detail }) => ({
    at: Math.floor(atMs / 1000),
    reason,
    step,
    detail,
  }));
  const json = {
    request_id: requestId,
    extraction_id: found.jobId,
    customer_id: customer,
    count: found.count,
    entries,
  };
  return ok(json, textOf(found, customer ?? 'a deleted customer'));
}

/** Choice: lines instead of a table, because details are long and are copied. */
function textOf({ requestId, jobId, entries, count }: FailureDetail, customer: string): string {
  const left = count - entries.length;
  return [
    tableText(['Request', 'Extraction', 'Customer', 'Failures'], [[requestId, jobId, customer, String(count)]], ''),
    ...entries.flatMap(({ atMs, reason, step, detail }) => [
      `${timeText(Math.floor(atMs / 1000))}  ${reason}${step === '' ? '' : `  ${step}`}`,
      ...detail.split('\n').map((line) => `  ${line}`),
    ]),
    ...(left > 0 ? [`... and ${left} more in between that were not kept`] : []),
  ].join('\n');
}
