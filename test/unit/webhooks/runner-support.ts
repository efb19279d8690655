import type { DeliveryTrigger } from '../../../src/work/webhook.ts';
import { DeliveryWorker, type AttemptEnd, type AttemptRequest } from '../../../src/webhooks/delivery-worker.ts';
import type { DeliverResult, DeliverTask } from '../../../src/webhooks/deliver-messages.ts';
import { VirtualTime } from './virtual-time.ts';

export type Receiver = (request: AttemptRequest, attempt: number) => Answer;
/** `never`: silent until the attempt times out. `lack`: this machine lacks the resources for the attempt. */
export type Answer =
  | { readonly status: number; readonly afterMs?: number }
  | { readonly lack: string }
  | 'refused'
  | 'never';

export interface Seen {
  readonly url: string;
  readonly deliveryId: string;
  /** Since the bench was created. */
  readonly atMs: number;
}

/** A runner on virtual time, with a network simulated by functions. */
export class RunnerBench {
  readonly time = new VirtualTime();
  readonly results: DeliverResult[] = [];
  readonly batches: number[] = [];
  readonly seen: Seen[] = [];
  readonly faults: unknown[] = [];
  stopped = 0;
  inFlight = 0;
  inFlightMost = 0;
  heldMost = 0;
  readonly runner: DeliveryWorker;
  readonly #startMs = this.time.nowMs;
  readonly #attempts = new Map<string, number>();

  constructor(receiver: Receiver, attemptsInFlightMax = 512, needsLease = false) {
    const { time } = this;
    this.runner = new DeliveryWorker({
      attemptsInFlightMax,
      needsLease,
      nowMs: () => time.nowMs,
      monotonicMs: () => time.nowMs - this.#startMs,
      after: (ms, then) => time.after(ms, then),
      endOfTurn: (then) => void time.after(0, then),
      headersFor: ({ deliveryId }) => ({ 'webhook-id': deliveryId }),
      send: (request) => this.#send(receiver, request),
      connections: () => ({ connectionsOpened: 0, connectionsReused: 0, blockedAddresses: 0 }),
      onResults: (results, stats) => {
        this.results.push(...results);
        this.batches.push(results.length);
        this.heldMost = Math.max(this.heldMost, stats.held);
      },
      onStopped: () => this.stopped++,
      onFault: (error) => this.faults.push(error),
    });
  }

  async #send(receiver: Receiver, request: AttemptRequest): Promise<AttemptEnd> {
    const deliveryId = request.headers['webhook-id'] ?? '';
    const attempt = (this.#attempts.get(deliveryId) ?? 0) + 1;
    this.#attempts.set(deliveryId, attempt);
    this.seen.push({ url: request.url, deliveryId, atMs: this.time.nowMs - this.#startMs });
    this.inFlight++;
    this.inFlightMost = Math.max(this.inFlightMost, this.inFlight);
    try {
      return await this.#answer(receiver(request, attempt), request.timeoutMs);
    } finally {
      this.inFlight--;
    }
  }

  async #answer(answer: Answer, timeoutMs: number): Promise<AttemptEnd> {
    if (answer === 'refused')
      return { outcome: { kind: 'failed', error: 'connection_refused' }, statusCode: null, durationMs: 0 };
    if (answer !== 'never' && 'lack' in answer) {
      const outcome = { kind: 'failed' as const, error: 'connection_refused' as const, lack: answer.lack };
      return { outcome, statusCode: null, durationMs: 0 };
    }
    if (answer === 'never' || (answer.afterMs ?? 0) > timeoutMs) {
      await this.#sleep(timeoutMs);
      return { outcome: { kind: 'failed', error: 'timeout' }, statusCode: null, durationMs: timeoutMs };
    }
    const { status, afterMs = 0 } = answer;
    if (afterMs > 0) await this.#sleep(afterMs);
    return { outcome: { kind: 'response', status }, statusCode: status, durationMs: afterMs };
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((done) => void this.time.after(ms, done));
  }

  /** Registers endpoints; each URL has its own host unless one is given. */
  meet(...ids: readonly string[]): void {
    for (const id of ids) this.meetAt(id, `http://${id}.test/hook`);
  }

  meetAt(endpointId: string, url: string): void {
    const secrets = { current: 'whsec_AAAA', previous: [] };
    this.runner.order({ kind: 'endpoint', endpoint: { endpointId, url, secrets } });
  }

  /** Hands over deliveries `<endpoint>/0` and so on. */
  deliver(endpointId: string, count = 1, changes: Partial<DeliverTask> = {}): void {
    const tasks = Array.from({ length: count }, (_none, at) => task(endpointId, `${endpointId}/${at}`, changes));
    this.runner.order({ kind: 'deliver', tasks });
  }

  /** Since the bench was created. */
  get elapsedMs(): number {
    return this.time.nowMs - this.#startMs;
  }

  /** Times of one delivery's attempts, ms. */
  attemptsOf(deliveryId: string): number[] {
    return this.seen.filter((seen) => seen.deliveryId === deliveryId).map(({ atMs }) => atMs);
  }

  ends(): DeliverResult[] {
    return this.results.filter(({ outcome }) => outcome.kind !== 'waiting');
  }
}

export function task(endpointId: string, deliveryId: string, changes: Partial<DeliverTask> = {}): DeliverTask {
  const trigger: DeliveryTrigger = 'decision';
  const body = Buffer.from('{}');
  return { deliveryId, endpointId, trigger, body, attemptsMade: 0, elapsedMs: 0, notBeforeMs: 0, ...changes };
}
