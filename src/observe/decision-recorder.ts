import {
  ANSWER_SHADOW_ROUTED,
  ANSWER_STORE_FAILED,
  ANSWER_TRUSTED,
  type AnswerReader,
} from '../frames/batch-buffer.ts';
import { DECISIONS } from '../risk/decision.ts';
import { decodeRecord, trustedName, type DecisionRecord } from '../risk/decision-record.ts';
import { LogSampler, type Log, withoutRedaction } from './log.ts';
import type { DecisionCounts } from './decision-counts.ts';

/** The data of a decision's log line that the main thread contributes. */
export interface DecisionContext {
  readonly request: { readonly key: { readonly prefix: string; readonly kind: string; readonly customer: number } };
}

/** Minimum interval between two log lines about the same kind of failure on the decide path, ms. */
const QUIET_MS = 1_000;

/**
 * Counts every decision and writes the canonical log line of sampled ones: one JSON object with everything that a reader needs about that
 * decision. `sampled` is the number of decisions that a line represents.
 */
export class DecisionRecorder {
  /** `performance.now()` of the last answer whose worker could not read the store. */
  storeFailedAtMs = Number.NEGATIVE_INFINITY;
  readonly #counts: DecisionCounts;
  readonly #log: Log;
  /** For the lines of decisions. */
  readonly #lines: Log;
  readonly #sampler: Pick<LogSampler, 'next'>;
  readonly #lastLineMs = new Map<string, number>();

  constructor(counts: DecisionCounts, log: Log, sampler: Pick<LogSampler, 'next'> = new LogSampler()) {
    this.#counts = counts;
    this.#log = log;
    this.#lines = withoutRedaction(log);
    this.#sampler = sampler;
  }

  refused(code: string): void {
    this.#counts.refused(code);
  }

  batchLeft(count: number): void {
    this.#counts.batches[count] = (this.#counts.batches[count] ?? 0) + 1;
  }

  batchFailed(error: unknown): void {
    this.#counts.batchFailures++;
    this.#sometimes('batch', () =>
      this.#log.error({ err: error }, 'a batch failed in its worker; its requests are scored one by one'),
    );
  }

  decided(context: DecisionContext, answers: AnswerReader, at: number, latencyMs: number): void {
    const flags = answers.flags(at);
    const [low, high, top] = [answers.rulesLow(at), answers.rulesHigh(at), answers.rulesTop(at)];
    this.#counts.decided(answers.decision(at), low, high, latencyMs, top);
    const wouldBe = answers.wouldBe(at);
    if (wouldBe >= 0) this.#counts.observed[wouldBe] = (this.#counts.observed[wouldBe] ?? 0) + 1;
    if ((flags & ANSWER_SHADOW_ROUTED) !== 0) this.#counts.shadowRouted++;
    if ((flags & ANSWER_TRUSTED) !== 0) this.#countTrusted(answers.record(at));
    if ((flags & ANSWER_STORE_FAILED) !== 0) this.storeFailedAtMs = performance.now();
    const sampled = this.#log.isLevelEnabled('info') ? this.#sampler.next(performance.now()) : 0;
    if (sampled > 0) this.#line(context, answers, at, latencyMs, sampled);
  }

  scoreRefused(code: string, internalDetail: string): void {
    this.#counts.refused(code);
    if (internalDetail === '') return;
    this.#sometimes('poisoned', () => this.#log.error({ detail: internalDetail }, 'a request could not be scored'));
  }

  /** Unpacks the record, because trusted sources are few and their names are defined by the policy. */
  #countTrusted(record: Buffer): void {
    if (record.length > 0) this.#counts.trustedSource(trustedName(decodeRecord(record)) ?? '');
  }

  /** `sampled` is how many decisions this line represents. */
  #line(
    { request: { key } }: DecisionContext,
    answers: AnswerReader,
    at: number,
    latencyMs: number,
    sampled: number,
  ): void {
    const record = answers.record(at);
    this.#lines.info(
      {
        event: 'decision',
        ...(record.length === 0 ? {} : fieldsOf(decodeRecord(record))),
        decision: DECISIONS[answers.decision(at)],
        score: answers.score(at),
        customer: key.customer,
        key_prefix: key.prefix,
        key_kind: key.kind,
        latency_ms: Math.round(latencyMs * 1000) / 1000,
        sampled,
      },
      'decision',
    );
  }

  #sometimes(name: string, write: () => void): void {
    const nowMs = performance.now();
    if (nowMs - (this.#lastLineMs.get(name) ?? Number.NEGATIVE_INFINITY) < QUIET_MS) return;
    this.#lastLineMs.set(name, nowMs);
    write();
  }
}

/** Returns the log fields from the record. Omits evidence: it may contain the client's text. */
function fieldsOf(record: DecisionRecord): Record<string, unknown> {
  const { contributions } = record;
  return {
    request_id: record.requestId,
    ...(record.wouldBe !== null && { would_be: record.wouldBe }),
    reasons: contributions.map(({ code }) => code),
    session_mode: record.sessionMode,
    event_type: record.eventType,
    ...(record.ip !== null && { ip: record.ip }),
    country: record.country,
    asn: record.asn,
    weights: Object.fromEntries(contributions.map(({ code, weight }) => [code, weight])),
  };
}
