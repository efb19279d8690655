import { unreachable } from '../../kernel/brand.ts';
import type { Extraction } from '../../work/extraction-job.ts';
import type { Delivery, DeliveryId } from '../../work/webhook.ts';
import { type Batch, type BatchPlace, makeBatch, type RecordReader } from './batches.ts';
import { finalFault, RecordsMissing, type ResultFault } from './sink-outcome.ts';

/**
 * The batch of a job that is in flight or about to be sent. It is stored before the batch's row is, so after a crash it identifies the row
 * to look for. A batch is sent a second time only if the log has lost its row.
 */
export interface WebhookState extends BatchPlace {
  readonly kind: 'webhook';
  /** Index of the first record after the batch, from 0. */
  readonly toSeq: number;
  readonly isFinal: boolean;
  readonly deliveryId: DeliveryId;
}

/** The part of a row that shows its outcome. */
export type RowState = Pick<Delivery, 'status' | 'error' | 'attempts'>;

export interface WebhookParts {
  readonly reader: RecordReader;
  /** Finds the row in the log of deliveries, even if it was just added; null if there is none. */
  findRow(id: DeliveryId): Promise<RowState | null>;
  /** Resolves when the state is on disk, or committed so that the end of the process does not undo it. Rejects on failure. */
  save(state: WebhookState): Promise<void>;
  /** Adds the row to the log and starts its delivery. Resolves to false if there is no room. */
  enqueue(row: Delivery): Promise<boolean>;
  newDeliveryId(): DeliveryId;
  nowMs(): number;
}

export type WebhookTurn =
  | { readonly kind: 'delivered' }
  /** The batch is in flight. The next turn is due when its row has ended. */
  | { readonly kind: 'sending'; readonly state: WebhookState }
  /** The log accepts no more rows at the moment. */
  | { readonly kind: 'no_room'; readonly state: WebhookState }
  | ResultFault;

/**
 * Performs one step of the delivery to a webhook: checks the outcome of the batch in flight, and sends the next one. A batch is sent only
 * after the previous one has succeeded, so a receiver gets them in order, and a job has at most one pending row. The delivery ends with a
 * batch that failed permanently, because sending the later ones would leave a gap.
 */
export async function webhookTurn(
  job: Extraction,
  state: WebhookState | null,
  parts: WebhookParts,
): Promise<WebhookTurn> {
  try {
    return await turn(job, state, parts);
  } catch (error) {
    if (error instanceof RecordsMissing) return finalFault('records_missing', error.message);
    throw error;
  }
}

async function turn(job: Extraction, state: WebhookState | null, parts: WebhookParts): Promise<WebhookTurn> {
  if (state === null) return begin(job, { sequence: 1, fromSeq: 0 }, parts);
  const row = await parts.findRow(state.deliveryId);
  // The row was not written before a crash, there was no room for it, or the log has removed it.
  if (row === null) return send(job, state, await makeBatch(job, state, parts.reader), parts);
  switch (row.status) {
    case 'pending':
      return { kind: 'sending', state };
    case 'succeeded':
      if (state.isFinal) return { kind: 'delivered' };
      return begin(job, { sequence: state.sequence + 1, fromSeq: state.toSeq }, parts);
    case 'failed':
    case 'skipped':
      return finalFault(errorOf(row), `batch ${state.sequence} failed after ${row.attempts.length} attempts`);
    default:
      return unreachable(row.status);
  }
}

function errorOf({ error, attempts }: RowState): ResultFault['error'] {
  return error ?? attempts.at(-1)?.error ?? 'internal_error';
}

async function begin(job: Extraction, { sequence, fromSeq }: BatchPlace, parts: WebhookParts): Promise<WebhookTurn> {
  const batch = await makeBatch(job, { sequence, fromSeq }, parts.reader);
  const { toSeq, isFinal } = batch;
  const state: WebhookState = {
    kind: 'webhook',
    sequence,
    fromSeq,
    toSeq,
    isFinal,
    deliveryId: parts.newDeliveryId(),
  };
  await parts.save(state);
  return send(job, state, batch, parts);
}

async function send(job: Extraction, state: WebhookState, batch: Batch, parts: WebhookParts): Promise<WebhookTurn> {
  const kind = (await parts.enqueue(rowOf(job, state.deliveryId, batch, parts.nowMs()))) ? 'sending' : 'no_room';
  return { kind, state };
}

function rowOf(job: Extraction, id: DeliveryId, { event, body }: Batch, createdAtMs: number): Delivery {
  return {
    id,
    customer: job.customer,
    endpointId: job.id,
    url: job.delivery.url ?? '',
    event,
    requestId: job.requestId,
    status: 'pending',
    trigger: 'extraction',
    attempts: [],
    error: null,
    elapsedMs: 0,
    createdAtMs,
    completedAtMs: null,
    nextAttemptAtMs: null,
    body,
  };
}
