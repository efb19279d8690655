import type { CustomerNumber, FingerprintHash } from '../kernel/brand.ts';
import { type KeyKind, timeOfId } from '../kernel/ids.ts';
import { LABELS_KEEP_SECONDS } from '../kernel/limits.ts';
import { problem } from '../contract/problem.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { keptRowOf } from '../history/kept-row.ts';
import type { History } from '../ports/decision-history.ts';
import type { JudgedDecision } from '../state/tables/label-table.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { AnyRequest, EndpointResponse, EndpointHandler } from './kit/endpoint-types.ts';
import { originOf } from './kit/actor.ts';
import { schemaBody } from './kit/body-readers.ts';
import type { BodyOf } from './kit/request-body.ts';

const LABEL = schemaBody('labelDecision');

/** Dependencies of the endpoint for labels of a customer's own decisions. Source: contract, 9.2. */
export interface LabelParts {
  readonly store: Pick<Store, 'feedback' | 'labels' | 'shadowReviews' | 'learningRows'>;
  readonly decisions: Pick<History, 'find'>;
  /** Returns the kind of key with which the customer made the decision, as its id proves; null if the id proves nothing. */
  readonly prove: (customer: CustomerNumber, requestId: string) => KeyKind | null;
}

export function labelHandlers(endpoint: EndpointFactory, parts: LabelParts): SecretHandlers<'labelDecision'> {
  const { feedback, labels, shadowReviews, learningRows } = parts.store;

  const add: EndpointHandler<BodyOf<typeof LABEL>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const { request_id: requestId, label, note = null } = read.value;
    const { customer } = request.caller;
    const decision = await find(customer, requestId, request);
    if (decision === null) return NOT_FOUND;
    const written = await feedback.label(customer, decision, label, note, request.nowSeconds, originOf(request).by);
    if (written.kind === 'fault') return written;
    const { createdAtSeconds } = written.value;
    return { kind: 'json', status: 201, body: { request_id: requestId, label, note, created_at: createdAtSeconds } };
  };

  /**
   * Returns the fields of the customer's own decision that a label needs. Choice: an earlier label also proves that the decision is the
   * customer's own, so a label can be corrected after the decision has expired.
   */
  async function find(
    customer: CustomerNumber,
    requestId: string,
    { nowMs, coverage }: AnyRequest,
  ): Promise<JudgedDecision | null> {
    const logged = await parts.decisions.find(customer, requestId, nowMs, coverage);
    if (logged === null) {
      return (
        shadowReviews.find(customer, requestId) ??
        labels.find(customer, requestId) ??
        proven(customer, requestId, nowMs)
      );
    }
    const { fingerprintHash, publicKey } = logged.record;
    // The label outlives the decision, and is of no use to a model without its row.
    const row = keptRowOf(logged.record, 'label');
    if (row !== null) learningRows?.keep(customer, row);
    return { requestId, fingerprintHash: fingerprintHash as FingerprintHash | null, publicKey };
  }

  /** The fingerprint of a decision that has left the log is not known, so its label changes nothing in the registry. */
  function proven(customer: CustomerNumber, requestId: string, nowMs: number): JudgedDecision | null {
    const kind = parts.prove(customer, requestId);
    if (kind === null) return null;
    const ageMs = nowMs - timeOfId(requestId, 'req');
    if (ageMs < 0 || ageMs > LABELS_KEEP_SECONDS * 1000) return null;
    return { requestId, fingerprintHash: null, publicKey: kind === 'public' };
  }

  return { labelDecision: endpoint({ body: LABEL }, add) };
}

/** The same response for another customer's id and for an id that does not exist. */
const NOT_FOUND: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'There is no decision with this request id.'),
};
