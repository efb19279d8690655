import type { FingerprintHash } from '../../kernel/brand.ts';
import { DECISIONS, type Decision } from '../../risk/decision.ts';
import { decodeRecord } from '../../risk/decision-record.ts';
import { REVIEW_REASONS, type ReviewReason, type ReviewVerdict, VERDICTS } from '../../risk/judgement.ts';
import type { JudgedDecision } from './label-table.ts';
import {
  field,
  FLAG_FIELD,
  packedNumber,
  MAYBE_FINGERPRINT,
  MAYBE_NUMBER,
  MAYBE_TEXT,
  numberedField,
  packedFields,
} from './packed-fields.ts';
import type { Codec } from './typed-table.ts';

/** What people do about a row, apart from its verdict. */
export interface ReviewWork {
  readonly assignee: string | null;
  readonly note: string | null;
  /** When it was closed without a verdict. */
  readonly closedAtSeconds: number | null;
}

export const NO_WORK: ReviewWork = { assignee: null, note: null, closedAtSeconds: null };

/** A decision that was copied to the review queue. */
export interface ShadowReview extends JudgedDecision {
  readonly decision: Decision;
  /** Decision that observe mode replaced by ALLOW; null outside of it. */
  readonly wouldBe: Decision | null;
  readonly score: number;
  readonly reasons: readonly string[];
  readonly why: ReviewReason;
  readonly occurredAtMs: number;
  readonly verdict: ReviewVerdict | null;
  readonly work: ReviewWork;
}

export type ReviewValue = Omit<ShadowReview, 'requestId'>;

/** What a scan reads of a row without unpacking it. */
export type ReviewHead = Pick<ShadowReview, 'verdict' | 'why'>;

/** Returns null if the bytes are no decision record, or the decision was not routed here. */
export function reviewRowOf(bytes: Buffer): ShadowReview | null {
  try {
    const record = decodeRecord(bytes);
    const why = record.shadow ?? (record.decision === 'REVIEW' ? 'review' : null);
    if (why === null) return null;
    return {
      requestId: record.requestId,
      fingerprintHash: record.fingerprintHash as FingerprintHash | null,
      publicKey: record.publicKey,
      decision: record.decision,
      wouldBe: record.wouldBe,
      score: record.score,
      reasons: record.contributions.map(({ code }) => code),
      why,
      occurredAtMs: record.occurredAtMs,
      verdict: null,
      work: NO_WORK,
    };
  } catch {
    return null;
  }
}

/**
 * Row format, without a version byte: the verdict's number (0 for none), the number of the shadow reason, then the other fields packed. A
 * filtered scan unpacks only matching rows. Measured: 10,000 rows in 16 ms instead of some 90.
 */
const REST_AT = 2;

export function reviewHeadOf(stored: Uint8Array): ReviewHead {
  const why = REVIEW_REASONS[stored[1] ?? -1];
  if (why === undefined) throw new Error('a stored review has the wrong form');
  return { verdict: VERDICTS[(stored[0] ?? 0) - 1] ?? null, why };
}

const REST = packedFields<Omit<ReviewValue, keyof ReviewHead | 'work'> & ReviewWork>({
  decision: numberedField(DECISIONS),
  score: packedNumber(),
  occurredAtMs: packedNumber(),
  fingerprintHash: MAYBE_FINGERPRINT,
  publicKey: FLAG_FIELD,
  reasons: field((stored) => {
    if (!Array.isArray(stored)) throw new Error('a stored review has the wrong form');
    return stored.map(String);
  }),
  // Rows of older builds end before one of these.
  wouldBe: field(
    (stored) => DECISIONS[Number(stored)] ?? null,
    (decision) => (decision === null ? -1 : DECISIONS.indexOf(decision)),
  ),
  assignee: MAYBE_TEXT,
  note: MAYBE_TEXT,
  closedAtSeconds: MAYBE_NUMBER,
});

export const REVIEW_VALUE: Codec<ReviewValue> = {
  encode({ work, ...row }) {
    const verdict = row.verdict === null ? 0 : VERDICTS.indexOf(row.verdict) + 1;
    const head = Buffer.from([verdict, REVIEW_REASONS.indexOf(row.why)]);
    return Buffer.concat([head, REST.encode({ ...row, ...work })]);
  },
  decode(bytes) {
    const { assignee, note, closedAtSeconds, ...row } = REST.decode(bytes.subarray(REST_AT));
    return { ...row, work: { assignee, note, closedAtSeconds }, ...reviewHeadOf(bytes) };
  },
};
