import type { CustomerNumber } from '../kernel/brand.ts';
import { isTestCustomer } from '../kernel/test-customers.ts';
import { ProvenIds, type RequestIds } from '../kernel/ids.ts';
import { DECISIONS, type Decision } from '../risk/decision.ts';
import { type LinkTail, writeRecord } from '../risk/decision-record.ts';
import { parseDecideRequest } from '../risk/decide-request.ts';
import { hasFired, type Evaluated } from '../risk/evaluate.ts';
import { fuse, fusedScore, sessionMode, unsilenced } from '../risk/fuse.ts';
import type { Velocity } from '../ports/velocity.ts';
import type { AttributeValue } from '../risk/facts.ts';
import type { HistoryEvent } from '../risk/history.ts';
import { evaluateUnder } from './evaluate-under.ts';
import type { DecisionInput } from '../risk/conditions/decision-input.ts';
import type { CompiledCounter } from '../risk/policy/compile-counters.ts';
import { ASKED_CONTRIBUTION, askedVerdict } from './asked-decision.ts';
import { noteNames, NOT_NOTED, ownFindings } from './own-findings.ts';
import type { ActivePolicy } from '../risk/policy/policy-set.ts';
import { countedAttributes } from '../risk/policy/attributes.ts';
import { observedVerdict } from '../risk/policy/observe-mode.ts';
import { sessionDraw } from '../risk/link-tail.ts';
import { sampleOf, shadowReason } from '../risk/shadow.ts';
import { CollectorGrants } from '../risk/signals/collector-grant.ts';
import { SIGHTING_FAMILIAR_DAYS } from '../kernel/limits.ts';
import {
  ANSWER_DEGRADED,
  ANSWER_FAMILIAR,
  ANSWER_OBSERVED,
  ANSWER_REVIEW,
  ANSWER_SHADOW_ROUTED,
  ANSWER_SIGHTING,
  ANSWER_STORE_FAILED,
  ANSWER_TRUSTED,
  type AnswerWriter,
  type BatchReader,
  REQUEST_DEGRADED,
  REQUEST_PUBLIC_KEY,
  REQUEST_SIMULATION,
  REQUEST_WARM_UP,
  type RequestMeta,
} from '../frames/batch-buffer.ts';
import { DECISION_HEAD, DecisionTails, decisionTail, FINGERPRINT_LINK, problemText } from './response-text.ts';
import { Gatherer, type GatheredFacts, type Sources } from './gather.ts';
import type { RecordKeys } from '../frames/score-messages.ts';
import { eventCounters } from './event-counters.ts';
import { historyEvent } from './history-event.ts';
import { Linker } from './linker.ts';
import { ListKeys } from '../risk/lists/list-key.ts';
import type { ModelAsset } from './model.ts';
import { challengerFinding, learningNote, modelDisagrees, type RunningModels, runModels } from './model-findings.ts';
import { NamedListMatcher } from '../risk/lists/named-list-matcher.ts';
import type { WorkerPolicies } from './policies.ts';
import { NO_SESSION, NO_SESSION_CONTRIBUTIONS } from './no-session.ts';
import type { SessionMemo } from './session-memo.ts';

export interface EngineParts {
  readonly sources: Sources;
  readonly model: Pick<ModelAsset, 'current'>;
  /** Runs beside the model and decides nothing; absent in a replay. */
  readonly challengerModel?: Pick<ModelAsset, 'current'>;
  readonly policies: Pick<WorkerPolicies, 'current'> & Partial<Pick<WorkerPolicies, 'attributes'>>;
  readonly velocity: Velocity;
  readonly keys: RecordKeys;
  /** Default: new ids that prove themselves. A replay gives those that the decisions had. */
  readonly ids?: RequestIds;
  /** Counts the synthetic requests of the warm-up, so that the real velocity store never contains them. */
  readonly warmUpVelocity: Velocity;
  /** Returns what `velocity` would, and changes nothing in it. */
  readonly simulatedVelocity: Velocity;
  /** Returns whether a configured asset is unavailable at the moment. Called once a batch, after its facts were gathered. */
  isDegraded(): boolean;
  /** Returns whether reads of the store failed in this batch. Called once a batch. */
  takeStoreFailure(): boolean;
  /** Called when the velocity store was unavailable for a batch. */
  onMemoryFailed(error: unknown): void;
}

/** Makes the sample of feature rows independent of that of shadow reviews. */
const FEATURES_SEED = 0x5f3759df;

/** A response without a decision. */
const NO_DECISION = {
  decision: 0,
  flags: 0,
  score: 0,
  rulesLow: 0,
  rulesHigh: 0,
  record: new Uint8Array(0),
} as const;

/** A request with its gathered facts, and the rules that then fire on them. */
interface Scored {
  readonly at: number;
  readonly meta: RequestMeta;
  readonly requestId: string;
  readonly facts: GatheredFacts;
  readonly active: ActivePolicy;
  readonly session: SessionMemo;
  readonly attributes: ReadonlyMap<string, AttributeValue>;
  /** Null when the velocity store was unavailable. */
  event: HistoryEvent | null;
  evaluated: Evaluated;
  /** The same facts under the challenger's policy; null without one. */
  challenger: Evaluated | null;
  /** The model's; null without one. */
  probability: number | null;
  /** The challenger model's; null without one. */
  challengerProbability: number | null;
}

const NO_PROBABILITIES = { probability: null, challengerProbability: null } as const;
const NOT_EVALUATED: Evaluated = { contributions: [], rulesLow: 0, rulesHigh: 0, rulesTop: 0 };

/**
 * Scores batches in a worker: gathers all facts of the batch, then rules → model (one run for the batch) → fuse → band. A request whose
 * scoring throws gets its own 500 and does not affect the others.
 */
export class Engine {
  readonly #parts: EngineParts;
  readonly #gatherer: Gatherer;
  readonly #tails = new DecisionTails();
  readonly #ids: RequestIds;
  readonly #linker: Linker;
  readonly #namedLists: NamedListMatcher;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { sources, keys } = parts;
    this.#gatherer = new Gatherer(sources, new CollectorGrants(keys.grants), keys.lists);
    this.#ids = parts.ids ?? new ProvenIds(keys.requests);
    this.#linker = new Linker(parts.keys.links);
    this.#namedLists = new NamedListMatcher(sources, new ListKeys(keys.lists));
  }

  async scoreBatch(requests: BatchReader, answers: AnswerWriter, from: number, count: number): Promise<void> {
    answers.reset();
    const gathered: Scored[] = [];
    for (let at = from; at < from + count; at++) {
      try {
        this.#gather(requests, answers, at, gathered);
      } catch (error) {
        answerFailed(answers, at, error);
      }
    }
    const remembered = await this.#remember(gathered);
    const scored: Scored[] = [];
    for (const one of gathered) {
      try {
        if (one.facts.token.kind === 'none') this.#answerNoSession(answers, one);
        else {
          evaluate(one);
          scored.push(one);
        }
      } catch (error) {
        answerFailed(answers, one.at, error);
      }
    }
    const { model, challengerModel } = this.#parts;
    const running: RunningModels = { model: model.current(), challenger: challengerModel?.current() ?? null };
    await runModels(scored, running);
    const storeFailed = this.#parts.takeStoreFailure();
    const degraded = storeFailed || !remembered || this.#parts.isDegraded();
    const flags = (degraded ? ANSWER_DEGRADED : 0) | (storeFailed ? ANSWER_STORE_FAILED : 0);
    for (const one of scored) {
      try {
        const isDegraded = (one.meta.flags & REQUEST_DEGRADED) !== 0;
        this.#answer(answers, one, running, isDegraded ? flags | ANSWER_DEGRADED : flags);
      } catch (error) {
        answerFailed(answers, one.at, error);
      }
    }
  }

  #gather(requests: BatchReader, answers: AnswerWriter, at: number, into: Scored[]): void {
    const meta = requests.meta(at);
    const parsed = parseDecideRequest(requests.body(at));
    if (parsed.kind === 'fault') {
      const text = problemText(parsed.problem);
      answers.write(at, { ...NO_DECISION, status: parsed.problem.status, text });
      return;
    }
    const isPublicKey = (meta.flags & REQUEST_PUBLIC_KEY) !== 0;
    // Anyone can sign with a public key, so its outcomes are ignored.
    const isIgnored = isPublicKey && parsed.request.outcome !== null;
    const request = isIgnored ? { ...parsed.request, outcome: null } : parsed.request;
    const customer = meta.customerNumber as CustomerNumber;
    const active = this.#parts.policies.current().of(customer, request.eventType);
    noteNames(this.#parts.policies, customer, meta, parsed, active);
    const { nowMs, originHash } = meta;
    const attributes = countedAttributes(request.attributes, active.policy.attributes, isPublicKey);
    const isReal = (meta.flags & NOT_NOTED) === 0;
    const givenFor = { customer, nowMs, originHash, isPublicKey, isReal, attributes };
    const { facts, session } = this.#gatherer.gather(request, givenFor);
    const kind = isPublicKey ? 'public' : 'secret';
    const requestId = this.#ids.create(meta.customerNumber, kind, meta.nowMs, at);
    const found = { event: null, evaluated: NOT_EVALUATED, challenger: null, ...NO_PROBABILITIES };
    into.push({ at, meta, requestId, facts, session, active, attributes: request.attributes, ...found });
  }

  /**
   * Counts the batch's events and adds their history to the facts. Requests get here only after verification and admission, so rejected or
   * replayed ones never count. Returns false when the velocity store was unavailable.
   */
  async #remember(gathered: readonly Scored[]): Promise<boolean> {
    try {
      const events: HistoryEvent[] = [];
      for (const one of gathered) {
        const { facts, session, meta, active, requestId } = one;
        const publicKey = (meta.flags & REQUEST_PUBLIC_KEY) !== 0;
        const by = { customer: meta.customerNumber as CustomerNumber, publicKey, nowMs: meta.nowMs, requestId };
        const event = historyEvent(facts, session, by, active);
        one.event = active.counters === null ? event : this.#counted(event, facts, active.counters);
        events.push(one.event);
      }
      const isAlone = gathered.some(({ meta }) => (meta.flags & REQUEST_DEGRADED) !== 0);
      const answered = this.#velocityFor(gathered[0]?.meta.flags ?? 0).observe(events, isAlone);
      // A promise costs every batch a turn of the microtask queue, so a synchronous result is used without awaiting.
      const histories = answered instanceof Promise ? await answered : answered;
      let at = 0;
      for (const { facts } of gathered) {
        facts.history = histories[at++] ?? null;
        if (facts.history?.device?.isCommon === true) facts.registry = null;
      }
      return true;
    } catch (error) {
      this.#parts.onMemoryFailed(error);
      return false;
    }
  }

  #counted(event: HistoryEvent, facts: GatheredFacts, counters: readonly CompiledCounter[]): HistoryEvent {
    const { customer } = event;
    const { nowSeconds } = facts;
    const inList: DecisionInput['inList'] = (name, value, kinds) =>
      this.#namedLists.has({ customer, nowSeconds, name, kinds }, value);
    return { ...event, counters: eventCounters(counters, event, facts, inList) };
  }

  /** A batch is all real requests, all warm-up or one simulation: each of them has batch buffers of its own. */
  #velocityFor(flags: number): Velocity {
    const { velocity, warmUpVelocity, simulatedVelocity } = this.#parts;
    if ((flags & REQUEST_SIMULATION) !== 0) return simulatedVelocity;
    return (flags & REQUEST_WARM_UP) !== 0 ? warmUpVelocity : velocity;
  }

  #answer(answers: AnswerWriter, scored: Scored, running: RunningModels, flags: number): void {
    const { at, meta, requestId, facts, active, evaluated, session, event } = scored;
    const counting = unsilenced(evaluated.contributions, facts.list);
    const own = ownFindings(scored, active, counting, this.#namedLists);
    const fused = own.enforced.length === 0 ? counting : [...counting, ...own.enforced];
    const asked = askedVerdict(meta.flags, fused);
    const real = asked ?? fuse(fused, facts, active.policy, own);
    const observed = asked === null ? observedVerdict(active.policy.mode, real, facts.list) : null;
    const found = asked === null ? fused : [ASKED_CONTRIBUTION, ...fused];
    const verdict = observed ?? real;
    const wouldBe = observed === null ? null : real.decision;
    const publicKey = (meta.flags & REQUEST_PUBLIC_KEY) !== 0;
    const { decision, score } = real;
    const challenger = challengerDecision(scored, this.#namedLists);
    const beside = challengerFinding(scored, running.challenger, counting, own);
    const isChallenged =
      (challenger !== null && challenger !== decision) || modelDisagrees(scored, running.challenger, beside, decision);
    const shadow = shadowReason(requestId, decision, score, active.bands, active.policy.sampleRate, isChallenged);
    const mode = sessionMode(facts.token, (flags & ANSWER_DEGRADED) !== 0);
    const { logFeaturesSample, logIdentities } = active.policy;
    const links = event === null ? null : this.#linker.tailOf(session, facts, event, logIdentities);
    const rate = decision !== 'ALLOW' || isChallenged ? 1 : drawnRate(requestId, links, logFeaturesSample);
    // Choice: a customer in observe mode has made no decision of its own, so its decisions do not count for the registry.
    const isSighting = verdict.decision === 'BLOCK' && !publicKey && isOwnEvidence(scored);
    const isFamiliar = isSighting && (facts.history?.device?.days ?? 0) >= SIGHTING_FAMILIAR_DAYS;
    const { bytes: record, length: recordBytes } = writeRecord({
      requestId,
      occurredAtMs: meta.nowMs,
      verdict,
      wouldBe,
      sessionMode: mode,
      shadow,
      challenger,
      publicKey,
      eventType: facts.eventType,
      facts,
      contributions: own.observed.length === 0 ? found : [...found, ...own.observed],
      beside,
      links,
      learning: rate === null ? null : learningNote(scored, rate, running.model),
    });
    answers.write(at, {
      status: 200,
      decision: DECISIONS.indexOf(verdict.decision),
      wouldBe: wouldBe === null ? null : DECISIONS.indexOf(wouldBe),
      flags:
        flags |
        (shadow === null ? 0 : ANSWER_SHADOW_ROUTED) |
        (verdict.decision === 'REVIEW' ? ANSWER_REVIEW : 0) |
        (isSighting ? ANSWER_SIGHTING : 0) |
        (isFamiliar ? ANSWER_FAMILIAR : 0) |
        (wouldBe === null || wouldBe === 'ALLOW' ? 0 : ANSWER_OBSERVED) |
        (active.trusted !== null && hasFired(evaluated, 'trusted_source') ? ANSWER_TRUSTED : 0),
      score,
      rulesLow: evaluated.rulesLow,
      rulesHigh: evaluated.rulesHigh,
      rulesTop: evaluated.rulesTop,
      text: DECISION_HEAD,
      id: requestId,
      link: FINGERPRINT_LINK,
      fingerprint: facts.fingerprintHash,
      // Only the rules of the service determine a text that is kept.
      tail:
        found === evaluated.contributions
          ? this.#tails.get(verdict, evaluated, mode, shadow !== null, wouldBe)
          : decisionTail(verdict, mode, shadow !== null, wouldBe),
      record,
      recordBytes,
    });
  }

  /**
   * Never BLOCK for this reason, and without evaluating rules. The event was counted, so that people whose browsers send no token become
   * known. Source: contract, 4.3.
   */
  #answerNoSession(answers: AnswerWriter, { at, meta, requestId, facts, active: { bands, policy } }: Scored): void {
    const asked = askedVerdict(meta.flags, NO_SESSION_CONTRIBUTIONS);
    const verdict = asked ?? NO_SESSION;
    const { decision, score } = verdict;
    const shadow = shadowReason(requestId, decision, score, bands, policy.sampleRate);
    const { bytes: record, length: recordBytes } = writeRecord({
      requestId,
      occurredAtMs: meta.nowMs,
      verdict,
      sessionMode: 'no_session',
      shadow,
      publicKey: (meta.flags & REQUEST_PUBLIC_KEY) !== 0,
      eventType: facts.eventType,
      facts: null,
      counted: facts,
      contributions: asked === null ? NO_SESSION_CONTRIBUTIONS : [ASKED_CONTRIBUTION, ...NO_SESSION_CONTRIBUTIONS],
    });
    answers.write(at, {
      ...NO_DECISION,
      status: 200,
      decision: DECISIONS.indexOf(decision),
      flags: (shadow === null ? 0 : ANSWER_SHADOW_ROUTED) | (decision === 'REVIEW' ? ANSWER_REVIEW : 0),
      score,
      text: DECISION_HEAD,
      id: requestId,
      tail: decisionTail(verdict, 'no_session', shadow !== null),
      record,
      recordBytes,
    });
  }
}

/**
 * Returns the rate of the sample that has the ALLOW's feature row; null if it is left out. A session is in the sample with all of its rows,
 * because labels spread over sessions. Without links, which takes a velocity store that is unavailable, the id decides.
 * Other decisions, and those that a challenger would decide otherwise, are all kept: they are reviewed and compared later.
 */
function drawnRate(requestId: string, links: LinkTail | null, rate: number): number | null {
  const bytes = links?.bytes ?? null;
  return (bytes === null ? sampleOf(requestId, FEATURES_SEED) : sessionDraw(bytes)) < rate ? rate : null;
}

/** Gives a request whose scoring threw its own 500. */
function answerFailed(answers: AnswerWriter, at: number, error: unknown): void {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  answers.write(at, { ...NO_DECISION, status: 500, text: '', record: Buffer.from(detail) });
}

function evaluate(one: Scored): void {
  const { facts, active, meta } = one;
  const publicKey = (meta.flags & REQUEST_PUBLIC_KEY) !== 0;
  one.evaluated = evaluateUnder(active, facts, publicKey);
  if (active.challenger !== null) one.challenger = evaluateUnder(active.challenger, facts, publicKey);
}

/** Returns what the challenger's policy decides; null without one. */
function challengerDecision(scored: Scored, lists: NamedListMatcher): Decision | null {
  const { facts, active, challenger } = scored;
  if (challenger === null || active.challenger === null) return null;
  const counting = unsilenced(challenger.contributions, facts.list);
  const own = ownFindings(scored, active.challenger, counting, lists);
  return fuse([...counting, ...own.enforced], facts, active.challenger.policy, own).decision;
}

/**
 * Returns whether a BLOCK is justified without other customers' evidence: no list entry, and a score that reaches the band without the
 * registry's evidence, and without the model's if the model used the registry's evidence. Only a collector's fingerprint is meaningful to
 * other customers, and only one that is not common. Never for a test key.
 */
function isOwnEvidence({ meta, facts, active, evaluated: { contributions } }: Scored): boolean {
  if (isTestCustomer(meta.customerNumber as CustomerNumber)) return false;
  if (facts.list?.decides === 'block' || facts.token.kind !== 'collector' || !facts.token.hasFingerprint) return false;
  if (facts.history?.device?.isCommon === true) return false;
  if (facts.registry === null) return true;
  const own = contributions.filter(({ rule }) => rule.family !== 'registry' && rule.family !== 'model');
  return fusedScore(own) >= active.bands.block;
}
