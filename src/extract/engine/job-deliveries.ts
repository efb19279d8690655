import type { CustomerNumber } from '../../kernel/brand.ts';
import { newId } from '../../kernel/ids.ts';
import type { Extraction } from '../../work/extraction-job.ts';
import type { DeliveryId, WebhookSecrets } from '../../work/webhook.ts';
import type { StoreFault, StoreWrite } from '../../state/tables/durable.ts';
import type { ExtractStore } from '../../state/tables/extract-store.ts';
import type { Job } from '../../state/tables/extractions/job-row.ts';
import { columnsOf } from '../shape/columns.ts';
import type { Connector } from '../base/connector.ts';
import type { JobReading } from './job-reading.ts';
import type { JobLogLine } from './canonical-log-line.ts';
import {
  type DeliveryLine,
  type ResultDeliveryLog,
  type DeliveryState,
  type JobRef,
  ResultDeliveries,
} from '../sinks/result-deliveries.ts';
import type { SentPart } from '../sinks/s3.ts';
import { uploadTaskOf } from '../sinks/upload.ts';
import type { Uploads } from '../sinks/uploads.ts';

export interface JobDeliveriesParts {
  readonly store: Pick<ExtractStore, 'extractions'>;
  /** Returns whether this node runs the job; another one delivers its results then. */
  owns(job: Pick<Job, 'number'>): boolean;
  readonly control: Pick<JobReading, 'find' | 'records' | 'deliverySecretsOf'>;
  readonly uploads: Uploads;
  readonly connectors: readonly Connector[];
  readonly deliveryLog: ResultDeliveryLog;
  readonly log: JobLogLine;
  nowMs(): number;
  after(ms: number, then: () => void): () => void;
  yieldToEventLoop(): Promise<void>;
  onStoreFault(fault: StoreFault): void;
}

/** Creates the delivery of results on top of the job store. */
export function createJobDeliveries(parts: JobDeliveriesParts): ResultDeliveries {
  const { store, control, uploads, connectors } = parts;
  const { extractions } = store;
  const find = ({ customer, id }: JobRef): Extraction | null => {
    const job = extractions.find(customer, id)?.job;
    return job === undefined || !parts.owns(job) ? null : control.find(customer, id);
  };
  const numberOf = ({ customer, id }: JobRef): number | null => extractions.find(customer, id)?.job.number ?? null;
  /** A missing job is not an error: the code that drives its delivery detects that by itself. */
  const write = async (ref: JobRef, change: (job: number) => Promise<StoreWrite<boolean>>): Promise<void> => {
    const number = numberOf(ref);
    const written = number === null ? null : await change(number);
    if (written?.kind !== 'fault') return;
    parts.onStoreFault(written);
    throw new Error(written.detail);
  };
  const readerOf = ({
    customer,
    id,
  }: JobRef): { read: (query: Parameters<JobReading['records']>[2]) => RecordsRead } => ({
    read: (query) => control.records(customer, id, query),
  });
  return new ResultDeliveries({
    find,
    stateOf(ref) {
      const number = numberOf(ref);
      const json = number === null ? null : extractions.deliveries.stateOf(number);
      return json === null ? null : (JSON.parse(json) as DeliveryState);
    },
    save: (ref, state) => write(ref, (job) => extractions.saveDelivery(job, JSON.stringify(state))),
    finish: (ref, status) => write(ref, (job) => extractions.delivered(job, status)),
    reader: readerOf,
    log: parts.deliveryLog,
    upload(job, uploadId, saveUpload): Promise<SentPart> {
      const { customer, id, output } = job;
      const secrets = control.deliverySecretsOf(customer, id);
      const task = uploadTaskOf(job, secrets, columnsOf(job, output.format, connectors), uploadId);
      if (task.kind === 'failed') return Promise.resolve(task);
      return uploads.run(task, { reader: readerOf(job), saveUpload });
    },
    newDeliveryId: () => newId('dlv', parts.nowMs()) as DeliveryId,
    nowMs: () => parts.nowMs(),
    after: (ms, then) => parts.after(ms, then),
    pause: () => parts.yieldToEventLoop(),
    note: (line) => noteLine(parts.log, line),
  });
}

type RecordsRead = ReturnType<JobReading['records']>;

/** Adds the pending deliveries of the previous run. Those that had started come first, because the log may contain what they sent. */
export function addPending(deliveries: ResultDeliveries, { extractions }: Pick<ExtractStore, 'extractions'>): void {
  const pending = [...extractions.deliveries.pending()];
  for (const isBegun of [true, false])
    for (const { customer, id, ...rest } of pending) if (rest.isBegun === isBegun) deliveries.add({ customer, id });
}

export interface JobEndpoint {
  readonly url: string;
  readonly secrets: WebhookSecrets;
}

/** Returns the destination of a job's batches; null if there is no such job, or if its secret cannot be decrypted. */
export function endpointOf(control: Pick<JobReading, 'find' | 'deliverySecretsOf'>, ref: JobRef): JobEndpoint | null {
  const job = control.find(ref.customer, ref.id);
  const secret = job === null ? null : secretOf(control, job.customer, job);
  const url = job?.delivery.url ?? null;
  if (url === null || secret === null) return null;
  return { url, secrets: { current: secret, previous: [] } };
}

function secretOf(
  control: Pick<JobReading, 'deliverySecretsOf'>,
  customer: CustomerNumber,
  { id, delivery }: Extraction,
): string | null {
  return delivery.kind === 'webhook' ? (control.deliverySecretsOf(customer, id)?.['secret'] ?? null) : null;
}

function noteLine(log: JobLogLine, line: DeliveryLine): void {
  if (line.event === 'extraction_delivered') log.info(line, 'the records of an extraction were delivered');
  else if (line.event === 'extraction_delivery_waits') log.info(line, 'the delivery of an extraction is retried later');
  else log.warn(line, 'the records of an extraction could not be delivered');
}
