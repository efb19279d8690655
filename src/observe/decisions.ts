import { ANSWER_SHADOW_ROUTED, ANSWER_STORE_FAILED, ANSWER_TRUSTED, type AnswerReader } from '../pools/frame.ts';
import { DECISIONS } from '../core/decision.ts';
import { decodeRecord, trustedName, type DecisionRecord } from '../core/decision-record.ts';
import { LogSampler, type Log } from './log.ts';
import type { DecisionCounts } from './metrics.ts';

/** What a decision's log line takes from the main thread. */
export interface DecisionContext {
  readonly key: { readonly prefix: string; readonly kind: string; readonly customer: number };
  readonly logged: number;
}

/** Log lines of the decide path that are not about one decision, at most one a second each. */
const QUIET_MS = 1_000;

/**
 * Counts every decision and writes the canonical line of those that are sampled: one JSON object with everything that a reader
 * needs of that decision. `sampled` says how many decisions a line stands for.
 */
export class DecisionRecorder {
  /** `performance.now()` of the last answer whose worker could not read the store. */
  storeFailedAtMs = Number.NEGATIVE_INFINITY;
  readonly #counts: DecisionCounts;
  readonly #log: Log;
  readonly #sampler = new LogSampler();
  readonly #lastLineMs = new Map<string, number>();

  constructor(counts: DecisionCounts, log: Log) {
    this.#counts = counts;
    this.#log = log;
  }

  /** How many decisions this one's line stands for; 0 without a line. */
  sampleLine(): number {
    return this.#log.isLevelEnabled('info') ? this.#sampler.next(performance.now()) : 0;
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
    if (context.logged > 0) this.#line(context, answers, at, latencyMs);
  }

  scoreRefused(code: string, internalDetail: string): void {
    this.#counts.refused(code);
    if (internalDetail === '') return;
    this.#sometimes('poisoned', () => this.#log.error({ detail: internalDetail }, 'a request could not be scored'));
  }

  /** Unpacks the record, since trusted sources are few and their names are the policy's. */
  #countTrusted(record: Buffer): void {
    if (record.length > 0) this.#counts.trustedSource(trustedName(decodeRecord(record)) ?? '');
  }

  #line({ key, logged }: DecisionContext, answers: AnswerReader, at: number, latencyMs: number): void {
    const record = answers.record(at);
    this.#log.info(
      {
        event: 'decision',
        ...(record.length === 0 ? {} : fieldsOf(decodeRecord(record))),
        decision: DECISIONS[answers.decision(at)],
        score: answers.score(at),
        customer: key.customer,
        key_prefix: key.prefix,
        key_kind: key.kind,
        latency_ms: Math.round(latencyMs * 1000) / 1000,
        sampled: logged,
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

/** What the line takes from the record. Evidence stays out: it may hold the client's text. */
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
