import { problem } from '../contract/problem.ts';
import { JSON_FIELDS } from '../http/reply.ts';
import type { Exchange, RequestHead } from '../http/exchange.ts';
import type { RequestTaker } from '../http/http-thread.ts';
import type { Clock } from '../kernel/clock.ts';
import { BATCH_REQUESTS_MAX, QUEUE_PLACE_BYTES } from '../kernel/limits.ts';
import { ROUTES } from '../contract/routes.ts';
import { accessFault } from '../auth/key-access.ts';
import type { KeyCache } from '../auth/key-cache.ts';
import { checkCredentialForm, verifyRequest } from '../auth/verify.ts';
import { AnswerReader, type BatchBuffer, BatchReader, BatchWriter } from '../frames/batch-buffer.ts';
import type { ScoreTask } from '../frames/score-messages.ts';
import type { Admission, Admitted, AdmissionRequest } from '../ports/admission.ts';
import type { Journal } from './journal.ts';
import type { ObservedKey } from './observer.ts';
import { rateFields } from './rate-fields.ts';
import { answerRefusal, readFault } from './respond.ts';

/** Decisions of one batch, for the thread that records them. */
export interface CellDecisions {
  /** The output of the batch buffer. */
  readonly output: Uint8Array;
  readonly keys: readonly CellKey[];
  readonly latenciesMs: readonly number[];
}

export interface CellKey extends ObservedKey {
  readonly kind: 'secret' | 'public';
  readonly prefix: string;
}

export interface CellDeciderParts {
  readonly clock: Clock;
  /** The keys whose requests may be decided here. */
  readonly keyCache: KeyCache;
  /** Brings the keys up to date. Called before each request is verified. */
  refreshKeys(): void;
  readonly admission: Admission;
  readonly journal: Journal;
  /** Whether there is a model, which only score workers run. */
  hasModel(): boolean;
  /** Whether too many decisions wait to be recorded. */
  isBehind(): boolean;
  readonly frames: readonly BatchBuffer[];
  /** Set in the flags of every request; default 0. */
  readonly flags?: number;
  score(task: ScoreTask): Promise<void>;
  /** Returns the used part of a batch buffer's output, as a copy. */
  outputOf(frame: number): Uint8Array;
  /** Called before the responses leave. If it throws, nothing was recorded. */
  record(decisions: CellDecisions): void;
  /** Counts and logs a fault. */
  report(error: unknown): void;
  close(): Promise<void>;
}

interface CellRequest extends AdmissionRequest {
  readonly key: CellKey;
  readonly exchange: Exchange;
  readonly startedAtMs: number;
  readonly forward: (body: Uint8Array) => void;
}

interface Frame {
  readonly at: number;
  readonly writer: BatchWriter;
  readonly requests: BatchReader;
  readonly answers: AnswerReader;
  pending: Admitted<CellRequest>[];
}

/**
 * Decides on the thread that has the connection: verifies, admits, scores, journals and answers without another thread. Takes only what it
 * can decide like the main thread: a well-formed request of at most `QUEUE_PLACE_BYTES`, signed with one of the secret keys in its cache,
 * without an `Idempotency-Key`. Everything else, and whatever it would refuse before it has used up the request's id, goes to the main
 * thread, which checks it from the start: so failures, rates of sources and log lines are counted at one place.
 */
export class CellDecider implements RequestTaker {
  readonly #parts: CellDeciderParts;
  readonly #free: Frame[];
  #filled: Frame[] = [];
  #running: Promise<void> | null = null;

  constructor(parts: CellDeciderParts) {
    this.#parts = parts;
    this.#free = parts.frames.map((frame, at) => ({
      at,
      writer: new BatchWriter(frame),
      requests: new BatchReader(frame),
      answers: new AnswerReader(frame),
      pending: [],
    }));
  }

  wants(head: RequestHead): boolean {
    return (
      head.path === ROUTES.decide.path &&
      head.method === 'POST' &&
      head.contentLength <= QUEUE_PLACE_BYTES &&
      head.lengthFault === null &&
      head.formFault === null &&
      head.cold.get('origin') === '' &&
      head.cold.get('idempotency-key') === '' &&
      checkCredentialForm(head) === null &&
      !this.#parts.hasModel() &&
      !this.#parts.isBehind()
    );
  }

  take(head: RequestHead, exchange: Exchange, body: Uint8Array, forward: (body: Uint8Array) => void): void {
    const startedAtMs = performance.now();
    const { clock, keyCache, admission, journal } = this.#parts;
    this.#parts.refreshKeys();
    const frame = this.#room(body.length);
    const verified = frame === null || journal.broken !== null ? null : verifyRequest(head, body, keyCache, clock);
    if (frame === null || verified?.kind !== 'verified' || accessFault(verified.key, 'decide', exchange) !== null) {
      forward(body);
      return;
    }
    const { key, timestampSeconds } = verified;
    const nowMs = clock.nowMs();
    const request: CellRequest = {
      window: 'decide',
      keyNumber: key.number,
      allowance: key.rateLimit,
      source: null,
      requestId: head.svcRequestId,
      timestampSeconds,
      nowSeconds: Math.floor(nowMs / 1000),
      key,
      exchange,
      startedAtMs,
      forward,
    };
    const verdicts = admission.admit([request]);
    const verdict = verdicts instanceof Promise ? undefined : verdicts[0];
    if (verdict?.outcome !== 'admitted') {
      forward(body);
      return;
    }
    frame.writer.add(body, key.customer, this.#parts.flags ?? 0, nowMs);
    frame.pending.push(verdict);
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    while (this.#running !== null) await this.#running;
    await this.#parts.close();
  }

  /** Returns a batch with room; null if all are in use. */
  #room(bodyBytes: number): Frame | null {
    const last = this.#filled.at(-1);
    if (last !== undefined && last.pending.length < BATCH_REQUESTS_MAX && last.writer.hasRoom(bodyBytes)) return last;
    const next = this.#free.pop() ?? null;
    if (next !== null) this.#filled.push(next);
    return next;
  }

  /** Decides what arrives in this turn of the event loop together. */
  async #run(): Promise<void> {
    await new Promise((endOfTurn) => setImmediate(endOfTurn));
    for (let batch = this.#filled.shift(); batch !== undefined; batch = this.#filled.shift()) {
      const latenciesMs = await this.#decide(batch);
      if (latenciesMs === null) this.#giveBack(batch);
      else this.#respond(batch, latenciesMs);
      batch.writer.reset();
      batch.pending = [];
      this.#free.push(batch);
    }
    this.#running = null;
  }

  /** Scores, journals and records the batch. Returns the latency of each decision; null if none was recorded. */
  async #decide({ at: frame, pending }: Frame): Promise<readonly number[] | null> {
    const { clock, admission, journal } = this.#parts;
    try {
      await this.#parts.score({ frame, from: 0, count: pending.length });
      for (const { id } of pending) if (id !== null) admission.stage(id);
      if (!journal.commit(Math.floor(clock.nowMs() / 1000))) return null;
      const nowMs = performance.now();
      const latenciesMs = pending.map(({ request }) => nowMs - request.startedAtMs);
      this.#parts.record({
        output: this.#parts.outputOf(frame),
        keys: pending.map(({ request: { key } }) => {
          const { customer, number, kind, prefix } = key;
          return { customer, number, kind, prefix };
        }),
        latenciesMs,
      });
      return latenciesMs;
    } catch (error) {
      this.#parts.report(error);
      return null;
    }
  }

  #respond({ pending, answers }: Frame, latenciesMs: readonly number[]): void {
    for (const [at, verdict] of pending.entries()) {
      const { exchange } = verdict.request;
      try {
        if (answers.status(at) !== 200) answerRefusal(exchange, readFault(answers, at), verdict);
        else {
          const body = `${answers.text(at)}${Math.round(latenciesMs[at] ?? 0)}}`;
          exchange.send(200, JSON_FIELDS + rateFields(verdict), body);
        }
      } catch (error) {
        // Only this request is lost, and not decided again. If it was answered already, this second response is dropped.
        this.#parts.report(error);
        answerRefusal(exchange, problem('internal_error', 'The decision failed.'), verdict);
      }
    }
  }

  /** Nothing of these requests has left: their ids may be used again, by the main thread, which finds one that is at fault. */
  #giveBack({ pending, requests }: Frame): void {
    for (const [at, { id, request }] of pending.entries()) {
      if (id !== null) this.#parts.admission.release(id);
      request.forward(requests.body(at));
    }
  }
}
