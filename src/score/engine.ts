import type { CustomerNumber } from '../base/brand.ts';
import { newId } from '../base/ids.ts';
import { DECISIONS } from '../core/decision.ts';
import { encodeRecord } from '../core/decision-record.ts';
import { parseDecideRequest } from '../core/decide-request.ts';
import { addHit, evaluateRules, hasFired, tuneRules, type Evaluated, type TunedRule } from '../core/evaluate.ts';
import type { Facts } from '../core/facts.ts';
import { fillFeatures } from '../core/features.ts';
import { bandsFor, fuse, sessionMode, type Verdict } from '../core/fuse.ts';
import type { Policy } from '../core/policy.ts';
import { RULES } from '../core/rules/index.ts';
import { shadowReason } from '../core/shadow.ts';
import {
  ANSWER_DEGRADED,
  ANSWER_SHADOW_ROUTED,
  ANSWER_STORE_FAILED,
  type AnswerWriter,
  type FrameReader,
  REQUEST_DEGRADED,
  REQUEST_PUBLIC_KEY,
  type RequestMeta,
} from '../pools/frame.ts';
import { decisionText, problemText } from './answer-text.ts';
import { Gatherer, type Sources } from './gather.ts';
import type { ModelLayer } from './model.ts';

export interface EngineParts {
  readonly sources: Sources;
  readonly model: Pick<ModelLayer, 'current'>;
  readonly policy: Policy;
  /** A layer that is set up cannot run at the moment. Asked once a batch, after its facts were gathered. */
  isDegraded(): boolean;
  /** Reads of the store failed in this batch. Asked once a batch. */
  takeStoreFailure(): boolean;
}

/** Under this probability the model says nothing. Source: open points, section 2. */
const MODEL_PROBABILITY_MIN = 0.5;

/** An answer that is none. */
const NO_DECISION = { decision: 0, flags: 0, score: 0, rulesLow: 0, rulesHigh: 0, record: new Uint8Array(0) } as const;

interface Scored {
  readonly at: number;
  readonly meta: RequestMeta;
  readonly facts: Facts;
  readonly evaluated: Evaluated;
}

/**
 * Scores batches in a worker: gather all facts of the batch, then rules → model (one run for the batch) → fuse → band.
 * A request whose scoring throws gets a 500 of its own and costs the others nothing.
 */
export class Engine {
  readonly #parts: EngineParts;
  readonly #gatherer: Gatherer;
  readonly #rules: readonly TunedRule[];
  readonly #modelRule: TunedRule | undefined;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#gatherer = new Gatherer(parts.sources);
    this.#rules = tuneRules(RULES, parts.policy);
    this.#modelRule = this.#rules.find(({ rule }) => rule.code === 'model_score');
  }

  async scoreBatch(requests: FrameReader, answers: AnswerWriter, from: number, count: number): Promise<void> {
    answers.reset();
    const scored: Scored[] = [];
    for (let at = from; at < from + count; at++) {
      this.#guarded(answers, at, () => this.#evaluate(requests, answers, at, scored));
    }
    await this.#addModel(scored);
    const storeFailed = this.#parts.takeStoreFailure();
    const degraded = storeFailed || this.#parts.isDegraded();
    const flags = (degraded ? ANSWER_DEGRADED : 0) | (storeFailed ? ANSWER_STORE_FAILED : 0);
    for (const one of scored) {
      const own = (one.meta.flags & REQUEST_DEGRADED) === 0 ? flags : flags | ANSWER_DEGRADED;
      this.#guarded(answers, one.at, () => this.#answer(answers, one, own));
    }
  }

  #guarded(answers: AnswerWriter, at: number, work: () => void): void {
    try {
      work();
    } catch (error) {
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      answers.write(at, { ...NO_DECISION, status: 500, text: '', record: Buffer.from(detail) });
    }
  }

  #evaluate(requests: FrameReader, answers: AnswerWriter, at: number, scored: Scored[]): void {
    const meta = requests.meta(at);
    const parsed = parseDecideRequest(requests.body(at));
    if (parsed.kind === 'fault') {
      const text = problemText(parsed.problem);
      answers.write(at, { ...NO_DECISION, status: parsed.problem.status, text });
      return;
    }
    const gathered = this.#gatherer.gather(parsed.request, meta.customerNumber as CustomerNumber, meta.nowMs);
    if (gathered.kind === 'no_session') {
      this.#answerNoSession(answers, at, meta, parsed.request.eventType);
      return;
    }
    const { facts } = gathered;
    scored.push({ at, meta, facts, evaluated: evaluateRules(this.#rules, facts, this.#parts.policy) });
  }

  async #addModel(scored: readonly Scored[]): Promise<void> {
    const model = this.#parts.model.current();
    const rule = this.#modelRule;
    if (model === null || rule === undefined || scored.length === 0) return;
    const { columns } = model;
    const features = new Float32Array(scored.length * columns.length);
    for (const [row, { facts, evaluated }] of scored.entries()) {
      fillFeatures(columns, facts, (code) => hasFired(evaluated, code), features, row * columns.length);
    }
    const probabilities = await model.run(features, scored.length);
    if (probabilities === null) return;
    for (const [row, { evaluated }] of scored.entries()) {
      const p = probabilities[row] ?? Number.NaN;
      if (p >= MODEL_PROBABILITY_MIN) addHit(evaluated, rule, 'default', p, `probability ${p.toFixed(3)}`);
    }
  }

  #answer(answers: AnswerWriter, { at, meta, facts, evaluated }: Scored, flags: number): void {
    const { policy } = this.#parts;
    const verdict = fuse(evaluated.contributions, facts, policy);
    const requestId = newId('req', meta.nowMs);
    const bands = bandsFor(facts.eventType, policy);
    const shadow = shadowReason(requestId, verdict.decision, verdict.score, bands, policy.sampleRate);
    const mode = sessionMode(facts.token, (flags & ANSWER_DEGRADED) !== 0);
    answers.write(at, {
      status: 200,
      decision: DECISIONS.indexOf(verdict.decision),
      flags: flags | (shadow === null ? 0 : ANSWER_SHADOW_ROUTED),
      score: verdict.score,
      rulesLow: evaluated.rulesLow,
      rulesHigh: evaluated.rulesHigh,
      text: decisionText(requestId, verdict, mode, shadow !== null),
      record: encodeRecord({
        requestId,
        occurredAtMs: meta.nowMs,
        verdict,
        sessionMode: mode,
        shadow,
        publicKey: (meta.flags & REQUEST_PUBLIC_KEY) !== 0,
        eventType: facts.eventType,
        facts,
        contributions: evaluated.contributions,
      }),
    });
  }

  /** Never BLOCK for this cause, and without the engine. Source: risk specification, section 4.1. */
  #answerNoSession(answers: AnswerWriter, at: number, meta: RequestMeta, eventType: string): void {
    const requestId = newId('req', meta.nowMs);
    const bands = bandsFor(eventType, this.#parts.policy);
    const { decision, score } = NO_SESSION;
    const shadow = shadowReason(requestId, decision, score, bands, this.#parts.policy.sampleRate);
    answers.write(at, {
      ...NO_DECISION,
      status: 200,
      decision: DECISIONS.indexOf(decision),
      flags: shadow === null ? 0 : ANSWER_SHADOW_ROUTED,
      score,
      text: decisionText(requestId, NO_SESSION, 'no_session', shadow !== null),
      record: encodeRecord({
        requestId,
        occurredAtMs: meta.nowMs,
        verdict: NO_SESSION,
        sessionMode: 'no_session',
        shadow,
        publicKey: (meta.flags & REQUEST_PUBLIC_KEY) !== 0,
        eventType,
        facts: null,
        contributions: NO_SESSION_CONTRIBUTIONS,
      }),
    });
  }
}

/** Source: open points, section 2. */
const NO_SESSION: Verdict = {
  decision: 'SOFT_CHALLENGE',
  score: 50,
  reasons: ['missing_session_token'],
  reviewHint: 'Strongest evidence: the request carries no session token (missing_session_token).',
};

const NO_SESSION_CONTRIBUTIONS = [
  { rule: { code: 'missing_session_token' }, weight: 0.5, evidence: 'no session token' },
] as const;
