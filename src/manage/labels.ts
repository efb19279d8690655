import * as z from 'zod';
import type { CustomerNumber, FingerprintHash } from '../base/brand.ts';
import type { Route } from '../base/exchange.ts';
import { problem } from '../base/problem.ts';
import type { DecisionRecord } from '../core/decision-record.ts';
import { LABELS } from '../core/judgement.ts';
import { NOTE_CHARACTERS_MAX } from '../limits.ts';
import type { JudgedDecision } from '../store/labels.ts';
import type { Store } from '../store/open-store.ts';
import type { Managed, ManagedAnswer, ManagedHandler } from './managed.ts';
import { text, validate } from './validate.ts';

/** What a customer says that a decision of its own was. Source: open points, section 2. */
export interface LabelParts {
  readonly store: Pick<Store, 'feedback' | 'labels' | 'shadowReviews'>;
  readonly findDecision: FindDecision;
}

/** The decision log: the customer's own decision, null when it has none of that id. */
export type FindDecision = (
  customer: CustomerNumber,
  requestId: string,
  nowMs: number,
) => Pick<DecisionRecord, 'requestId' | 'fingerprintHash' | 'publicKey'> | null;

const LABEL = z.object({
  request_id: z.string(),
  label: z.enum(LABELS),
  note: text(NOTE_CHARACTERS_MAX).nullish(),
});

export function labelRoutes(managed: Managed, parts: LabelParts): Route[] {
  const { feedback, labels, shadowReviews } = parts.store;

  const add: ManagedHandler = async (request) => {
    const read = validate(LABEL, request.body);
    if (read.kind === 'problem') return read;
    const { request_id: requestId, label, note = null } = read.value;
    const { customer } = request.caller;
    const decision = find(customer, requestId, request.nowMs);
    if (decision === null) return NOT_FOUND;
    const written = await feedback.label(customer, decision, label, note, request.nowSeconds);
    if (written.kind === 'fault') return written;
    const { createdAtSeconds } = written.value;
    return { kind: 'json', status: 201, body: { request_id: requestId, label, note, created_at: createdAtSeconds } };
  };

  /**
   * The customer's own decision as far as a label needs it. Choice: a label of before tells as well that it is the customer's own, so
   * that one can be put right after the decision itself has run out.
   */
  function find(customer: CustomerNumber, requestId: string, nowMs: number): JudgedDecision | null {
    const logged = parts.findDecision(customer, requestId, nowMs);
    if (logged === null) return shadowReviews.find(customer, requestId) ?? labels.find(customer, requestId);
    const { fingerprintHash, publicKey } = logged;
    return { requestId, fingerprintHash: fingerprintHash as FingerprintHash | null, publicKey };
  }

  return [managed.route('/v1/labels', { POST: managed({ body: 'json' }, add) })];
}

/** The same for another customer's ids as for those of nobody. */
const NOT_FOUND: ManagedAnswer = {
  kind: 'problem',
  problem: problem('not_found', 'There is no decision with this request id.'),
};
