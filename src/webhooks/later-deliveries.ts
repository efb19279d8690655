import type { DeliveryId } from '../work/webhook.ts';

export interface LaterParts {
  /** Unix ms. */
  nowMs(): number;
  /** Called when these deliveries of the endpoint are due. */
  onDue(endpointId: string, ids: readonly DeliveryId[]): void;
}

/**
 * Choice: deliveries of one endpoint that wait for a late retry, some 1 MB; reading past that many rows takes some 10 ms. What fails its
 * fast attempts beyond that has failed.
 */
export const LATER_PER_ENDPOINT_MAX = 10_000;

interface Waiting {
  /** Unix ms. */
  readonly dueAtMs: Map<DeliveryId, number>;
  timer: NodeJS.Timeout | null;
  timerAtMs: number;
}

/**
 * Deliveries whose next attempt is too far away to hold them in the worker. They are in the store; here is only when each is due, with one
 * timer an endpoint.
 */
export class LaterDeliveries {
  readonly #parts: LaterParts;
  readonly #waiting = new Map<string, Waiting>();

  constructor(parts: LaterParts) {
    this.#parts = parts;
  }

  has(endpointId: string, id: DeliveryId): boolean {
    return this.#waiting.get(endpointId)?.dueAtMs.has(id) ?? false;
  }

  countOf(endpointId: string): number {
    return this.#waiting.get(endpointId)?.dueAtMs.size ?? 0;
  }

  isFull(endpointId: string): boolean {
    return this.countOf(endpointId) >= LATER_PER_ENDPOINT_MAX;
  }

  add(endpointId: string, id: DeliveryId, dueAtMs: number): void {
    let waiting = this.#waiting.get(endpointId);
    if (waiting === undefined) {
      waiting = { dueAtMs: new Map(), timer: null, timerAtMs: Infinity };
      this.#waiting.set(endpointId, waiting);
    }
    waiting.dueAtMs.set(id, dueAtMs);
    if (dueAtMs < waiting.timerAtMs) this.#wake(endpointId, waiting, dueAtMs);
  }

  /** Forgets when the endpoint's deliveries are due: they are read from the store again. */
  clear(endpointId: string): void {
    const waiting = this.#waiting.get(endpointId);
    if (waiting === undefined) return;
    if (waiting.timer !== null) clearTimeout(waiting.timer);
    this.#waiting.delete(endpointId);
  }

  #wake(endpointId: string, waiting: Waiting, atMs: number): void {
    if (waiting.timer !== null) clearTimeout(waiting.timer);
    waiting.timerAtMs = atMs;
    waiting.timer = setTimeout(() => this.#due(endpointId, waiting), atMs - this.#parts.nowMs()).unref();
  }

  #due(endpointId: string, waiting: Waiting): void {
    const nowMs = this.#parts.nowMs();
    const due: DeliveryId[] = [];
    let nextMs = Infinity;
    for (const [id, dueAtMs] of waiting.dueAtMs) {
      if (dueAtMs <= nowMs) due.push(id);
      else nextMs = Math.min(nextMs, dueAtMs);
    }
    for (const id of due) waiting.dueAtMs.delete(id);
    if (waiting.dueAtMs.size === 0) this.clear(endpointId);
    else this.#wake(endpointId, waiting, nextMs);
    if (due.length > 0) this.#parts.onDue(endpointId, due);
  }
}
