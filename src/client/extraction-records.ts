import type { ApiCall } from './api-call.ts';
import type { Api } from './api-types.ts';

export interface RecordsOptions {
  /** Reads the records that there are, without waiting for the job's end. */
  readonly partial?: boolean;
  /** Records per request; default 500. */
  readonly pageSize?: number;
}

/** Choice: below the 60 s after which proxies end silent requests. */
const WAIT_SECONDS = 50;
const WAIT_SLACK_MS = 10_000;
const PAGE_SIZE = 500;

/** Yields the records of a job. Rejects with a `GatehouseError` if the job failed and `partial` is not set. */
export async function* extractionRecords(
  call: ApiCall,
  path: string,
  { partial = false, pageSize = PAGE_SIZE }: RecordsOptions = {},
): AsyncGenerator<Api.Record, void, undefined> {
  if (!partial) await jobEnd(call, path);
  let cursor: string | undefined;
  for (;;) {
    const query = { format: 'json', limit: pageSize, cursor, ...(partial && { partial }) };
    const page = await call('listRecords', 'GET', `${path}/records`, { query, timeoutMs: WAIT_SLACK_MS * 3 });
    yield* page.records;
    if (!page.has_more || page.next_cursor === null) return;
    cursor = page.next_cursor;
  }
}

async function jobEnd(call: ApiCall, path: string): Promise<void> {
  for (;;) {
    const timeoutMs = WAIT_SECONDS * 1_000 + WAIT_SLACK_MS;
    const job = await call('findExtraction', 'GET', path, { query: { wait: WAIT_SECONDS }, timeoutMs });
    if (job.status !== 'queued' && job.status !== 'running') return;
  }
}
