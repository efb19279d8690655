import { DELIVERY_ERRORS, DELIVERY_TRIGGERS, type DeliveryError } from '../work/webhook.ts';
import type {
  DeliverOrder,
  DeliverResult,
  DeliverSignal,
  DeliverTask,
  TaskList,
  WorkerOrder,
} from './deliver-messages.ts';

/**
 * Wire format of tasks and results between the threads: all ids of a message as one text, all numbers as one array, all bodies
 * concatenated. Other messages are cloned unchanged.
 *
 * Measured: cloning costs 1.7 µs per task and 2.2 µs per result on both sides together, and each body as its own `ArrayBuffer` is one more
 * object to collect; this format costs 0.8 and 0.3 µs. A body is a view into its message's bytes, which stay in memory as long as one of
 * them is in use.
 */
export type WireOrder = Exclude<DeliverOrder, { kind: 'deliver' }> | PackedTasks;
export type WireSignal = Exclude<DeliverSignal, { kind: 'results' }> | PackedResults;

interface PackedTasks {
  readonly kind: 'tasks';
  /** One delivery per task, separated by `\n`. */
  readonly ids: string;
  /** The endpoints of neighbouring tasks, without repetitions. */
  readonly endpointIds: readonly string[];
  /** `TASK_NUMBERS` per task. */
  readonly numbers: Float64Array;
  readonly bodies: Uint8Array;
}

interface PackedResults {
  readonly kind: 'packed_results';
  /** Two per result, separated by `\n`: delivery, endpoint. */
  readonly ids: string;
  /** `RESULT_NUMBERS` per result. */
  readonly numbers: Float64Array;
  readonly stats: Extract<DeliverSignal, { kind: 'results' }>['stats'];
}

/** Trigger, attempts made, elapsed ms, not before, end of the body, index of the endpoint. */
const TASK_NUMBERS = 6;
const BODY_END_AT = 4;
/** Outcome, its error, its next attempt, elapsed ms, completed at; attempt (0: none), its start, duration, status code, error. */
const RESULT_NUMBERS = 10;
/** Replaces an absent error or status code. */
const NONE = -1;

const OUTCOMES: readonly DeliverResult['outcome']['kind'][] = [
  'waiting',
  'parked',
  'succeeded',
  'failed',
  'skipped',
  'kept',
];

export function packOrder(order: DeliverOrder): WireOrder {
  return order.kind === 'deliver' ? packTasks(order.tasks) : order;
}

export function unpackOrder(order: WireOrder): WorkerOrder {
  return order.kind === 'tasks' ? { kind: 'deliver', tasks: new PackedTaskList(order) } : order;
}

export function packSignal(signal: DeliverSignal): WireSignal {
  return signal.kind === 'results' ? packResults(signal) : signal;
}

export function unpackSignal(signal: WireSignal): DeliverSignal {
  if (signal.kind !== 'packed_results') return signal;
  return { kind: 'results', results: unpackResults(signal), stats: signal.stats };
}

function packTasks(tasks: readonly DeliverTask[]): PackedTasks {
  const ids: string[] = [];
  const endpointIds: string[] = [];
  const numbers = new Float64Array(tasks.length * TASK_NUMBERS);
  const bodies = new Uint8Array(tasks.reduce((sum, { body }) => sum + body.length, 0));
  let at = 0;
  let bodyAt = 0;
  for (const { deliveryId, endpointId, trigger, body, attemptsMade, elapsedMs, notBeforeMs } of tasks) {
    ids.push(deliveryId);
    if (endpointIds.at(-1) !== endpointId) endpointIds.push(endpointId);
    bodies.set(body, bodyAt);
    bodyAt += body.length;
    numbers[at++] = DELIVERY_TRIGGERS.indexOf(trigger);
    numbers[at++] = attemptsMade;
    numbers[at++] = elapsedMs;
    numbers[at++] = notBeforeMs;
    numbers[at++] = bodyAt;
    numbers[at++] = endpointIds.length - 1;
  }
  return { kind: 'tasks', ids: ids.join('\n'), endpointIds, numbers, bodies };
}

/**
 * Creates a task when it is needed: a delivery may wait for hundreds of others, and until then takes only its id's text besides the
 * message, instead of several objects that the garbage collector copies.
 */
class PackedTaskList implements TaskList {
  readonly #ids: readonly string[];
  readonly #packed: PackedTasks;

  constructor(packed: PackedTasks) {
    this.#ids = packed.numbers.length === 0 ? [] : packed.ids.split('\n');
    this.#packed = packed;
  }

  get length(): number {
    return this.#ids.length;
  }

  at(index: number): DeliverTask | undefined {
    const deliveryId = this.#ids[index];
    if (deliveryId === undefined) return undefined;
    const { numbers, bodies, endpointIds } = this.#packed;
    const at = index * TASK_NUMBERS;
    const bodyAt = index === 0 ? 0 : numberAt(numbers, at - TASK_NUMBERS + BODY_END_AT);
    return {
      deliveryId,
      endpointId: endpointIds[numberAt(numbers, at + 5)] ?? '',
      trigger: DELIVERY_TRIGGERS[numberAt(numbers, at)] ?? 'decision',
      body: bodies.subarray(bodyAt, numberAt(numbers, at + BODY_END_AT)),
      attemptsMade: numberAt(numbers, at + 1),
      elapsedMs: numberAt(numbers, at + 2),
      notBeforeMs: numberAt(numbers, at + 3),
    };
  }
}

function packResults({ results, stats }: Extract<DeliverSignal, { kind: 'results' }>): PackedResults {
  const ids: string[] = [];
  const numbers = new Float64Array(results.length * RESULT_NUMBERS);
  let at = 0;
  for (const { deliveryId, endpointId, attempt, outcome, elapsedMs, completedAtMs } of results) {
    ids.push(deliveryId, endpointId);
    numbers[at++] = OUTCOMES.indexOf(outcome.kind);
    numbers[at++] = 'error' in outcome ? errorNumber(outcome.error) : NONE;
    numbers[at++] = 'nextAttemptAtMs' in outcome ? outcome.nextAttemptAtMs : 0;
    numbers[at++] = elapsedMs;
    numbers[at++] = completedAtMs;
    numbers[at++] = attempt?.attempt ?? 0;
    numbers[at++] = attempt?.startedAtMs ?? 0;
    numbers[at++] = attempt?.durationMs ?? 0;
    numbers[at++] = attempt?.statusCode ?? NONE;
    numbers[at++] = errorNumber(attempt?.error ?? null);
  }
  return { kind: 'packed_results', ids: ids.join('\n'), numbers, stats };
}

function unpackResults({ ids: joined, numbers }: PackedResults): readonly DeliverResult[] {
  const ids = joined.split('\n');
  const results: DeliverResult[] = [];
  for (let at = 0; at < numbers.length; at += RESULT_NUMBERS) {
    const i = (2 * at) / RESULT_NUMBERS;
    results.push({
      deliveryId: ids[i] ?? '',
      endpointId: ids[i + 1] ?? '',
      attempt: attemptAt(numbers, at + 5),
      outcome: outcomeAt(numbers, at),
      elapsedMs: numberAt(numbers, at + 3),
      completedAtMs: numberAt(numbers, at + 4),
    });
  }
  return results;
}

function attemptAt(numbers: Float64Array, at: number): DeliverResult['attempt'] {
  const attempt = numberAt(numbers, at);
  if (attempt === 0) return null;
  const statusCode = numberAt(numbers, at + 3);
  return {
    attempt,
    startedAtMs: numberAt(numbers, at + 1),
    durationMs: numberAt(numbers, at + 2),
    statusCode: statusCode === NONE ? null : statusCode,
    error: DELIVERY_ERRORS[numberAt(numbers, at + 4)] ?? null,
  };
}

function outcomeAt(numbers: Float64Array, at: number): DeliverResult['outcome'] {
  const kind = OUTCOMES[numberAt(numbers, at)] ?? 'kept';
  switch (kind) {
    case 'waiting':
    case 'parked':
      return { kind, nextAttemptAtMs: numberAt(numbers, at + 2) };
    case 'failed':
    case 'skipped':
      return { kind, error: DELIVERY_ERRORS[numberAt(numbers, at + 1)] ?? 'shutdown' };
    case 'succeeded':
    case 'kept':
      return { kind };
  }
}

function errorNumber(error: DeliveryError | null): number {
  return error === null ? NONE : DELIVERY_ERRORS.indexOf(error);
}

function numberAt(numbers: Float64Array, at: number): number {
  return numbers[at] ?? 0;
}
