import { unreachable } from '../../base/brand.ts';
import type { Extraction } from '../../core/extraction.ts';
import type { Delivery, DeliveryId } from '../../core/webhook.ts';
import { type Batch, type BatchPlace, makeBatch, type RecordReader } from './batches.ts';
import { finalFault, RecordsMissing, type ResultFault } from './outcome.ts';

/**
 * The batch of a job that is out, or about to be. It is in the store before the batch's row is, so after a crash it tells which row
 * to look for: a batch goes out a second time only when the log has lost its row.
 */
export interface WebhookState extends BatchPlace {
  readonly kind: 'webhook';
  /** The first record behind the batch, from 0. */
  readonly toSeq: number;
  readonly isFinal: boolean;
  readonly deliveryId: DeliveryId;
}

/** What of a row tells how it went. */
export type RowState = Pick<Delivery, 'status' | 'error' | 'attempts'>;

export interface WebhookParts {
  readonly reader: RecordReader;
  /** The row in the log of deliveries, also one that was just added; null when there is none. */
  findRow(id: DeliveryId): Promise<RowState | null>;
  /** It is on the disk, or committed so that the end of the process does not undo it, before this resolves. Rejects on a fault. */
  save(state: WebhookState): Promise<void>;
  /** To the log and on its way. False when there is no room. */
  enqueue(row: Delivery): boolean;
  newDeliveryId(): DeliveryId;
  nowMs(): number;
}

export type WebhookTurn =
  | { readonly kind: 'delivered' }
  /** The batch is out: the next turn is due when its row has ended. */
  | { readonly kind: 'sending'; readonly state: WebhookState }
  /** The log takes no more for now. */
  | { readonly kind: 'no_room'; readonly state: WebhookState }
  | ResultFault;

/**
 * One step of the delivery to a webhook: looks what came of the batch that is out, and sends the next one. A batch is only sent
 * when the one before has succeeded, so a receiver gets them in order, and a job has one row pending at most. With a batch that
 * failed for good, the delivery ends: what is behind would leave a gap.
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
  // Its row was not written before a crash, or there was no room for it, or the log has let go of it.
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

function send(job: Extraction, state: WebhookState, batch: Batch, parts: WebhookParts): WebhookTurn {
  const kind = parts.enqueue(rowOf(job, state.deliveryId, batch, parts.nowMs())) ? 'sending' : 'no_room';
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
