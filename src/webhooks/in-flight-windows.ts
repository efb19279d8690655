import type { CustomerNumber } from '../kernel/brand.ts';
import { Turn, TurnQueue } from '../kernel/turn-queue.ts';
import type { DeliveryId, DeliveryTrigger } from '../work/webhook.ts';
import {
  DELIVERIES_HELD_MAX,
  DELIVERIES_HELD_PER_ENDPOINT_MAX,
  DELIVERIES_HELD_TROUBLED_MAX,
} from '../kernel/delivery-limits.ts';

/** What the main thread keeps of a delivery that the worker holds. */
export interface HandedOut {
  readonly customer: CustomerNumber;
  readonly id: DeliveryId;
  readonly trigger: DeliveryTrigger;
  readonly requestId: string;
  readonly createdAtMs: number;
  /** Recorded attempts, including those that a shutdown aborted. */
  attempts: number;
}

/** In-flight window: the main thread's record of what the worker holds for one endpoint. */
export class EndpointWindow {
  readonly id: string;
  readonly held = new Map<string, HandedOut>();
  readonly turn = new Turn<EndpointWindow>(this);
  /** Whether its last attempt failed. */
  troubled: boolean;
  /** Whether the store has pending deliveries of it that were not handed out; new ones queue behind them. */
  overflowing = false;
  /** Id up to which its stored rows have been handed out; null if all may have to be scanned again. */
  readUpTo: DeliveryId | null = null;
  /** Reads since the last full scan. */
  reads = 0;

  constructor(id: string, troubled: boolean) {
    this.id = id;
    this.troubled = troubled;
  }
}

/**
 * In-flight windows: limit how many pending deliveries the worker holds, per endpoint and in total. The others stay in the store and are
 * handed out round-robin as room becomes free, so memory is bounded whatever is down. When many endpoints have pending deliveries, each
 * gets its share of the total; failing endpoints never get all of it.
 */
export class InFlightWindows {
  readonly #windows = new Map<string, EndpointWindow>();
  readonly #calm = new TurnQueue<EndpointWindow>();
  readonly #troubled = new TurnQueue<EndpointWindow>();
  #held = 0;
  #heldTroubled = 0;

  get held(): number {
    return this.#held;
  }

  /** Returns the window, creating it if necessary; `troubled` is the initial state of a new one. */
  of(id: string, troubled: boolean): EndpointWindow {
    let window = this.#windows.get(id);
    if (window === undefined) {
      window = new EndpointWindow(id, troubled);
      this.#windows.set(id, window);
    }
    return window;
  }

  find(id: string): EndpointWindow | undefined {
    return this.#windows.get(id);
  }

  /** Returns how many deliveries of the endpoint may be handed out now. */
  room(window: EndpointWindow): number {
    const whole = this.#wholeRoom(window.troubled);
    return Math.max(0, Math.min(this.#share() - window.held.size, whole));
  }

  #share(): number {
    const share = Math.max(1, Math.floor(DELIVERIES_HELD_MAX / Math.max(1, this.#windows.size)));
    return Math.min(share, DELIVERIES_HELD_PER_ENDPOINT_MAX);
  }

  #wholeRoom(troubled: boolean): number {
    const whole = DELIVERIES_HELD_MAX - this.#held;
    return troubled ? Math.min(whole, DELIVERIES_HELD_TROUBLED_MAX - this.#heldTroubled) : whole;
  }

  /** Records that the delivery was handed out. */
  take(window: EndpointWindow, delivery: HandedOut): void {
    if (window.held.has(delivery.id)) return;
    window.held.set(delivery.id, delivery);
    this.#count(window, 1);
  }

  /** Removes a delivery whose end is stored. */
  finish(window: EndpointWindow, deliveryId: string): void {
    if (window.held.delete(deliveryId)) this.#count(window, -1);
    // Choice: refill when half of the share is free, so that one read of the store returns more than one delivery.
    if (window.overflowing && 2 * window.held.size <= this.#share()) this.line(window);
    this.#forgetIdle(window);
  }

  /** Records that the store has nothing left of the endpoint to hand out. */
  drained(window: EndpointWindow): void {
    window.overflowing = false;
    this.#calm.remove(window.turn);
    this.#troubled.remove(window.turn);
    this.#forgetIdle(window);
  }

  #forgetIdle(window: EndpointWindow): void {
    if (window.held.size === 0 && !window.overflowing) this.#windows.delete(window.id);
  }

  /** Removes the endpoint. */
  delete(window: EndpointWindow): void {
    this.#count(window, -window.held.size);
    window.held.clear();
    this.drained(window);
  }

  /** Called when the worker died: everything it held is only in the store. */
  loseAll(): void {
    for (const window of this.#windows.values()) {
      if (window.held.size === 0) continue;
      this.#count(window, -window.held.size);
      window.held.clear();
      window.readUpTo = null;
      this.line(window);
    }
  }

  #count(window: EndpointWindow, change: number): void {
    this.#held += change;
    if (window.troubled) this.#heldTroubled += change;
  }

  /** Updates the state after an attempt of the endpoint. */
  learn(window: EndpointWindow, troubled: boolean): void {
    if (window.troubled === troubled) return;
    this.#heldTroubled += troubled ? window.held.size : -window.held.size;
    window.troubled = troubled;
    if (!window.overflowing) return;
    (troubled ? this.#calm : this.#troubled).remove(window.turn);
    this.line(window);
  }

  /** Queues the endpoint for room, because it has more in the store. Keeps its position if it is already queued. */
  line(window: EndpointWindow): void {
    window.overflowing = true;
    (window.troubled ? this.#troubled : this.#calm).put(window.turn);
  }

  /**
   * Returns the endpoint to be handed more deliveries; null if there is no room or none is queued. An endpoint that already has its share
   * leaves the queue and re-enters it when its deliveries end.
   */
  next(): EndpointWindow | null {
    for (const queue of [this.#calm, this.#troubled]) {
      while (queue.size > 0 && this.#wholeRoom(queue === this.#troubled) > 0) {
        const window = queue.take();
        if (window !== null && this.room(window) > 0) return window;
      }
    }
    return null;
  }
}
