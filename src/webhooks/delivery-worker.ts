import { unreachable } from '../kernel/brand.ts';
import {
  afterAttempt,
  attemptError,
  attemptLimitMs,
  HELD_WAIT_MS_MAX,
  isHeldWhileUnhealthy,
  planOf,
  type AttemptOutcome,
} from '../work/webhook-schedule.ts';
import type { DeliveryAttempt, DeliveryError, WebhookSecrets } from '../work/webhook.ts';
import { ATTEMPT_LATE_MS } from '../kernel/delivery-limits.ts';
import type { DeliverResult, DeliverStats, DeliverTask, TaskList, WorkerOrder } from './deliver-messages.ts';
import { type EndpointQueue, type Held, Run } from './endpoint-queue.ts';
import type { AttemptCourse } from './slots.ts';
import { LaneTurns, type LanePlace } from './fair-scheduler.ts';

/** One attempt, as passed to the sender. */
export interface AttemptRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
}

/** Result of an attempt. */
export interface AttemptEnd {
  /** With `lack` there was no attempt: this machine lacked the resources for it; `lack` is the system's error code. */
  readonly outcome: AttemptOutcome & { readonly lack?: string };
  readonly statusCode: number | null;
  readonly durationMs: number;
}

export interface DeliveryWorkerParts {
  readonly attemptsInFlightMax: number;
  /** Whether attempts begin only under a lease; false by default. */
  readonly needsLease?: boolean;
  /** Unix ms, for records and retries. */
  nowMs(): number;
  /** Monotonic clock, for durations. */
  monotonicMs(): number;
  /** Calls back once after this time; returns a function that cancels it. */
  after(ms: number, then: () => void): () => void;
  /** Calls back at the end of this turn of the event loop. */
  endOfTurn(then: () => void): void;
  headersFor(delivery: {
    readonly deliveryId: string;
    readonly body: Uint8Array;
    readonly secrets: WebhookSecrets;
    readonly nowMs: number;
  }): Readonly<Record<string, string>>;
  send(request: AttemptRequest): Promise<AttemptEnd>;
  connections(): Pick<DeliverStats, 'connectionsOpened' | 'connectionsReused' | 'blockedAddresses'>;
  onResults(results: readonly DeliverResult[], stats: DeliverStats): void;
  /** After `stop`: every attempt in flight has ended, and every result has been passed on. */
  onStopped(): void;
  /** Reports an internal error, which costs one attempt. */
  onFault(error: unknown): void;
}

interface Attempt {
  readonly held: Held;
  readonly number: number;
  readonly startedAtMs: number;
  readonly startedMs: number;
  readonly place: LanePlace;
}

/**
 * Choice: minimum ms between two messages with results, so that thousands of results a second cause few messages and few writes. Measured,
 * with transactions twice as long: 10 µs of CPU per delivery less than with 10 ms, of some 130.
 */
const FLUSH_GAP_MS = 25;
/** Choice: how often attempts in flight are checked for slow ones, ms; takes some 10 µs. */
const LATE_CHECK_MS = 50;
/** Choice: ms until the next attempt after this machine lacked resources, as after a first failure. */
const LACK_WAIT_MS = 2_000;
/** Choice: without a lease since the start of the worker, there is no time to subtract. */
const LAPSED_MS_MAX = 365 * 86_400_000;
/** Choice: minimum interval between two log lines about such a lack, ms, however many deliveries it delays. */
const LACK_TOLD_MS = 60_000;

/**
 * Delivery worker: makes attempts on schedule, in the order of the fair scheduler. Network and clock are passed in. Holds only what the
 * main thread handed out, so the main thread bounds its memory.
 */
export class DeliveryWorker {
  readonly #parts: DeliveryWorkerParts;
  readonly #turns: LaneTurns;
  readonly #held = new Map<string, Held>();
  /** Deliveries that have not begun, by id. */
  readonly #fresh = new Map<string, Run>();
  readonly #attempts = new Set<Attempt>();
  #results: DeliverResult[] = [];
  #flushing = false;
  #flushedMs = Number.NEGATIVE_INFINITY;
  #watching = false;
  #lackToldMs = Number.NEGATIVE_INFINITY;
  #stopping = false;
  #stopped = false;
  /** Unix ms. */
  #leaseUntilMs = Infinity;

  constructor(parts: DeliveryWorkerParts) {
    this.#parts = parts;
    if (parts.needsLease === true) this.#leaseUntilMs = 0;
    this.#turns = new LaneTurns(parts.attemptsInFlightMax);
  }

  /** `listening` concerns addresses only and is not handled here. */
  order(order: Exclude<WorkerOrder, { kind: 'listening' }>): void {
    switch (order.kind) {
      case 'endpoint':
        this.#turns.meet(order.endpoint);
        this.#pump();
        break;
      case 'deliver':
        this.#accept(order.tasks);
        this.#pump();
        break;
      case 'skip':
        this.#skip(order.endpointId, order.error, order.all);
        break;
      case 'forget':
        this.#forget(order.endpointId);
        break;
      case 'lease':
        this.#lease(order.untilMs);
        break;
      case 'drop':
        this.#dropAll(order.deliveryIds);
        break;
      case 'stop':
        this.#stop(order.graceMs);
        break;
      default:
        unreachable(order);
    }
  }

  #accept(tasks: TaskList): void {
    let run: Run | undefined;
    for (let i = 0; i < tasks.length; i++) {
      const task = tasks.at(i);
      if (task === undefined) continue;
      const { deliveryId, endpointId, attemptsMade } = task;
      const queue: EndpointQueue | undefined = this.#turns.find(endpointId);
      if (queue === undefined) throw new Error('a delivery arrived before its endpoint');
      if (this.#stopping || this.#held.has(deliveryId) || this.#fresh.has(deliveryId)) continue;
      if (attemptsMade > 0 || task.notBeforeMs > 0 || isUrgent(task)) {
        this.#hold(task, queue);
        continue;
      }
      if (run?.queue !== queue) {
        run = new Run(queue, tasks);
        queue.append(run);
      }
      run.add(i);
      this.#fresh.set(deliveryId, run);
      this.#turns.line(queue);
    }
  }

  #hold(task: DeliverTask, queue: EndpointQueue): void {
    const held = queue.hold(task, task.attemptsMade > 0 ? this.#parts.monotonicMs() : null);
    this.#held.set(task.deliveryId, held);
    const waitMs = task.notBeforeMs - this.#parts.nowMs();
    if (waitMs > 0) this.#wait(held, waitMs);
    else this.#enqueue(held, isUrgent(task) ? queue.urgent : queue.due);
  }

  /** Takes deliveries that have not begun out of the queue; they are in no list then. */
  #holdFresh(queue: EndpointQueue, isTaken: (task: DeliverTask) => boolean): void {
    for (const held of queue.takeFresh(isTaken)) {
      const { deliveryId } = held.task;
      this.#fresh.delete(deliveryId);
      this.#held.set(deliveryId, held);
    }
  }

  #enqueue(held: Held, list: Held[]): void {
    list.push(held);
    this.#turns.line(held.queue);
  }

  #wait(held: Held, waitMs: number): void {
    held.cancelWait = this.#parts.after(waitMs, () => {
      held.cancelWait = null;
      this.#enqueue(held, held.queue.due);
      this.#pump();
    });
  }

  /** Deliveries that wait did not use the time without a lease. */
  #lease(untilMs: number): void {
    const lapsedMs = this.#parts.nowMs() - this.#leaseUntilMs;
    this.#leaseUntilMs = untilMs;
    if (lapsedMs > 0 && lapsedMs < LAPSED_MS_MAX) {
      const nowMs = this.#parts.monotonicMs();
      const inFlight = new Set([...this.#attempts].map(({ held }) => held));
      for (const held of this.#held.values())
        if (held.countingSinceMs !== null && !inFlight.has(held))
          held.countingSinceMs = Math.min(nowMs, held.countingSinceMs + lapsedMs);
    }
    this.#pump();
  }

  #dropAll(deliveryIds: readonly string[]): void {
    const inFlight = new Set([...this.#attempts].map(({ held }) => held));
    for (const id of deliveryIds) {
      const queue = this.#fresh.get(id)?.queue;
      if (queue !== undefined) this.#holdFresh(queue, ({ deliveryId }) => deliveryId === id);
      const held = this.#held.get(id);
      if (held === undefined) continue;
      if (inFlight.has(held)) held.skip = 'shutdown';
      else {
        this.#drop(held);
        this.#letGo(held);
      }
    }
  }

  /** Starts every attempt that may start. */
  #pump(): void {
    while (!this.#stopping && (this.#leaseUntilMs === Infinity || this.#leaseUntilMs > this.#parts.nowMs())) {
      const turn = this.#turns.next();
      if (turn === null) return;
      this.#begin(turn.held, turn.place);
    }
  }

  #begin(held: Held, place: LanePlace): void {
    const { task } = held;
    if (this.#fresh.delete(task.deliveryId)) this.#held.set(task.deliveryId, held);
    const startedMs = this.#parts.monotonicMs();
    held.countingSinceMs ??= startedMs;
    const plan = planOf(task.trigger, held.queue.retry);
    const timeoutMs = attemptLimitMs(plan, elapsedAt(held, startedMs));
    const isOver = held.attemptsMade > plan.waitsMs.length;
    if (timeoutMs <= 0 || isOver) {
      this.#turns.give(place);
      this.#end(held, null, { kind: 'failed', error: held.lastError ?? 'timeout' });
      return;
    }
    const number = held.attemptsMade + 1;
    const attempt: Attempt = { held, number, startedAtMs: this.#parts.nowMs(), startedMs, place };
    this.#attempts.add(attempt);
    this.#watch();
    try {
      const { deliveryId, body } = task;
      const { secrets, url, headers: extra } = held.queue;
      const signed = this.#parts.headersFor({ deliveryId, body, secrets, nowMs: attempt.startedAtMs });
      const headers = extra === null ? signed : { ...signed, ...extra };
      // Measured: a further async function around this costs 1 µs per delivery.
      void this.#parts.send({ url, headers, body, timeoutMs }).then(
        (ended) => this.#finish(attempt, ended),
        (error: unknown) => this.#finish(attempt, this.#faulty(attempt, error)),
      );
    } catch (error) {
      // Later, because the caller starts other attempts in a loop.
      queueMicrotask(() => this.#finish(attempt, this.#faulty(attempt, error)));
    }
  }

  #faulty({ startedMs }: Attempt, error: unknown): AttemptEnd {
    this.#parts.onFault(error);
    const durationMs = this.#parts.monotonicMs() - startedMs;
    return { outcome: { kind: 'failed', error: 'connection_reset' }, statusCode: null, durationMs };
  }

  #finish(attempt: Attempt, ended: AttemptEnd): void {
    // The grace period of a stop is over, and the attempt has been abandoned.
    if (!this.#attempts.delete(attempt)) return;
    this.#turns.give(attempt.place);
    const { lack } = ended.outcome;
    if (lack === undefined || attempt.held.task.trigger === 'test') this.#conclude(attempt, ended);
    else this.#undo(attempt, lack);
    this.#pump();
    this.#stoppedWhenIdle();
  }

  #conclude(attempt: Attempt, ended: AttemptEnd): void {
    const { held } = attempt;
    held.attemptsMade = attempt.number;
    const elapsedMs = elapsedAt(held, this.#parts.monotonicMs());
    const { attemptsMade } = held;
    const plan = planOf(held.task.trigger, held.queue.retry);
    const next = afterAttempt(plan, { attemptsMade, elapsedMs, outcome: ended.outcome });
    const error = attemptError(ended.outcome);
    held.lastError = error;
    this.#turns.learn(held.queue, courseOf(error), ended.durationMs);
    const record = recordOf(attempt, ended, error);
    switch (next.kind) {
      case 'succeeded':
        this.#end(held, record, { kind: 'succeeded' });
        break;
      case 'failed':
        this.#end(held, record, { kind: 'failed', error: next.error });
        break;
      case 'waiting':
        this.#retryLater(held, record, next.waitMs);
        break;
      default:
        unreachable(next);
    }
  }

  /**
   * Reverts an attempt that was not made. It is not recorded and does not count as one of the delivery's attempts; it says nothing about
   * the endpoint, and its time does not count against the deadline. Only a test ends with it, because a caller waits for it.
   */
  #undo({ held, startedMs }: Attempt, lack: string): void {
    held.elapsedMs = elapsedAt(held, startedMs);
    held.countingSinceMs = null;
    this.#tellLack(lack);
    if (held.skip !== null) this.#end(held, null, { kind: 'skipped', error: held.skip });
    else if (this.#stopping) this.#letGo(held);
    else this.#wait(held, LACK_WAIT_MS);
    this.#turns.line(held.queue);
  }

  #tellLack(lack: string): void {
    const nowMs = this.#parts.monotonicMs();
    if (nowMs - this.#lackToldMs < LACK_TOLD_MS) return;
    this.#lackToldMs = nowMs;
    this.#parts.onFault(new Error(`deliveries delayed: this machine lacks the resources to connect (${lack})`));
  }

  #retryLater(held: Held, record: DeliveryAttempt, waitMs: number): void {
    if (held.skip !== null) {
      this.#end(held, record, { kind: 'skipped', error: held.skip });
      return;
    }
    const nextAttemptAtMs = this.#parts.nowMs() + waitMs;
    if (waitMs > HELD_WAIT_MS_MAX) {
      this.#end(held, record, { kind: 'parked', nextAttemptAtMs });
      return;
    }
    this.#report(held, record, { kind: 'waiting', nextAttemptAtMs });
    if (this.#stopping) this.#letGo(held);
    else this.#wait(held, waitMs);
  }

  /** Checks for slow attempts while any attempt is in flight. */
  #watch(): void {
    if (this.#watching || this.#attempts.size === 0) return;
    this.#watching = true;
    this.#parts.after(LATE_CHECK_MS, () => {
      this.#watching = false;
      this.#findLate();
      this.#watch();
    });
  }

  #findLate(): void {
    const lateSinceMs = this.#parts.monotonicMs() - ATTEMPT_LATE_MS;
    // In the order of their start.
    for (const attempt of this.#attempts) {
      if (attempt.startedMs > lateSinceMs) break;
      this.#turns.slowDown(attempt.place);
    }
    this.#pump();
  }

  #end(held: Held, attempt: DeliveryAttempt | null, outcome: DeliverResult['outcome']): void {
    this.#letGo(held);
    this.#report(held, attempt, outcome);
  }

  #letGo(held: Held): void {
    this.#held.delete(held.task.deliveryId);
    held.queue.held.delete(held);
  }

  /** Sends the results of one turn of the event loop together; under load, those of several turns. */
  #report(held: Held, attempt: DeliveryAttempt | null, outcome: DeliverResult['outcome']): void {
    const { deliveryId, endpointId } = held.task;
    const elapsedMs = Math.round(elapsedAt(held, this.#parts.monotonicMs()));
    const completedAtMs = this.#parts.nowMs();
    this.#results.push({ deliveryId, endpointId, attempt, outcome, elapsedMs, completedAtMs });
    if (this.#flushing) return;
    this.#flushing = true;
    const sinceMs = this.#parts.monotonicMs() - this.#flushedMs;
    if (sinceMs >= FLUSH_GAP_MS) this.#parts.endOfTurn(() => this.#flush());
    else this.#parts.after(FLUSH_GAP_MS - sinceMs, () => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    this.#flushedMs = this.#parts.monotonicMs();
    const results = this.#results;
    this.#results = [];
    if (results.length > 0) this.#parts.onResults(results, this.stats());
  }

  stats(): DeliverStats {
    return {
      ...this.#parts.connections(),
      attemptsInFlight: this.#attempts.size,
      held: this.#held.size + this.#fresh.size,
    };
  }

  #skip(endpointId: string, error: DeliveryError, all: boolean): void {
    const queue = this.#turns.find(endpointId);
    if (queue === undefined) return;
    const inFlight = new Set([...this.#attempts].map(({ held }) => held));
    this.#holdFresh(queue, ({ trigger }) => all || isHeldWhileUnhealthy(trigger));
    for (const held of queue.held) {
      if (!all && !isHeldWhileUnhealthy(held.task.trigger)) continue;
      if (inFlight.has(held)) held.skip = error;
      else {
        this.#drop(held);
        this.#end(held, null, { kind: 'skipped', error });
      }
    }
  }

  #drop(held: Held): void {
    held.cancelWait?.();
    held.cancelWait = null;
    held.queue.remove(held);
  }

  #forget(endpointId: string): void {
    const queue = this.#turns.find(endpointId);
    if (queue?.isAbandoned === true) this.#turns.forget(queue);
  }

  /** Waiting deliveries stay with the main thread, which has them in the store. */
  #stop(graceMs: number): void {
    this.#stopping = true;
    for (const held of this.#held.values()) this.#drop(held);
    this.#parts.after(graceMs, () => this.#giveUp());
    this.#stoppedWhenIdle();
  }

  /** Abandons the attempts that outlasted the grace period. */
  #giveUp(): void {
    for (const attempt of this.#attempts) {
      const durationMs = this.#parts.monotonicMs() - attempt.startedMs;
      const record = recordOf(attempt, { statusCode: null, durationMs }, 'shutdown');
      this.#attempts.delete(attempt);
      this.#end(attempt.held, record, { kind: 'kept' });
    }
    this.#stoppedWhenIdle();
  }

  #stoppedWhenIdle(): void {
    if (!this.#stopping || this.#stopped || this.#attempts.size > 0) return;
    this.#stopped = true;
    this.#flush();
    this.#parts.onStopped();
  }
}

/** Tests and probes. */
function isUrgent({ trigger }: DeliverTask): boolean {
  return trigger === 'test' || trigger === 'probe';
}

function elapsedAt({ elapsedMs, countingSinceMs }: Held, nowMs: number): number {
  return countingSinceMs === null ? elapsedMs : elapsedMs + nowMs - countingSinceMs;
}

function recordOf(
  { number, startedAtMs }: Attempt,
  { statusCode, durationMs }: Pick<AttemptEnd, 'statusCode' | 'durationMs'>,
  error: DeliveryError | null,
): DeliveryAttempt {
  return { attempt: number, startedAtMs, durationMs: Math.round(durationMs), statusCode, error };
}

function courseOf(error: DeliveryError | null): AttemptCourse {
  if (error === null) return 'succeeded';
  return error === 'timeout' || error === 'connect_timeout' ? 'timed_out' : 'failed';
}
