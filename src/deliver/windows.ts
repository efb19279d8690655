import type { CustomerNumber } from '../base/brand.ts';
import type { DeliveryId, DeliveryTrigger } from '../core/webhook.ts';
import { DELIVERIES_HELD_MAX, DELIVERIES_HELD_PER_ENDPOINT_MAX, DELIVERIES_HELD_TROUBLED_MAX } from '../limits.ts';
import { FairRing } from './fair-ring.ts';

/** What the main thread keeps of a delivery that the worker has. */
export interface HandedOut {
  readonly customer: CustomerNumber;
  readonly id: DeliveryId;
  readonly trigger: DeliveryTrigger;
  readonly requestId: string;
  readonly createdAtMs: number;
  /** Attempts on record, those that a stop cut short included. */
  attempts: number;
}

/** What the worker holds of one endpoint, as the main thread keeps count of it. */
export interface EndpointWindow {
  readonly id: string;
  readonly held: Map<string, HandedOut>;
  /** Its last attempt failed. */
  troubled: boolean;
  /** The store has pending deliveries of it that the worker has not been handed, and new ones queue up behind them. */
  overflowing: boolean;
  /** How far its rows in the store have been handed out; null: all may have to be looked at again. */
  readUpTo: DeliveryId | null;
  /** Reads since all were looked at. */
  reads: number;
}

/**
 * How much of what is pending lies with the worker: so many deliveries of an endpoint and so many in all. What is more stays in
 * the store and is handed out in turns as room comes, so memory is bounded whatever is down. Where many endpoints have something
 * pending each has its share of the whole; those in trouble never have all of it.
 */
export class Windows {
  readonly #windows = new Map<string, EndpointWindow>();
  readonly #calm = new FairRing<EndpointWindow>();
  readonly #troubled = new FairRing<EndpointWindow>();
  #held = 0;
  #heldTroubled = 0;

  get held(): number {
    return this.#held;
  }

  /** Made when it is not there; `troubled` is what is known of the endpoint then. */
  of(id: string, troubled: boolean): EndpointWindow {
    let window = this.#windows.get(id);
    if (window === undefined) {
      window = { id, held: new Map(), troubled, overflowing: false, readUpTo: null, reads: 0 };
      this.#windows.set(id, window);
    }
    return window;
  }

  find(id: string): EndpointWindow | undefined {
    return this.#windows.get(id);
  }

  /** Deliveries of the endpoint that may be handed out now. */
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

  /** The delivery was handed out. */
  take(window: EndpointWindow, delivery: HandedOut): void {
    if (window.held.has(delivery.id)) return;
    window.held.set(delivery.id, delivery);
    this.#count(window, 1);
  }

  /** The delivery ended, and the store says so. */
  finish(window: EndpointWindow, deliveryId: string): void {
    if (window.held.delete(deliveryId)) this.#count(window, -1);
    // Choice: half of its share at once, so that a look into the store brings more than one delivery.
    if (window.overflowing && 2 * window.held.size <= this.#share()) this.line(window);
    this.#forgetIdle(window);
  }

  /** The store has nothing of the endpoint that was not handed out. */
  drained(window: EndpointWindow): void {
    window.overflowing = false;
    this.#calm.delete(window);
    this.#troubled.delete(window);
    this.#forgetIdle(window);
  }

  #forgetIdle(window: EndpointWindow): void {
    if (window.held.size === 0 && !window.overflowing) this.#windows.delete(window.id);
  }

  /** The endpoint is no more. */
  delete(window: EndpointWindow): void {
    this.#count(window, -window.held.size);
    window.held.clear();
    this.drained(window);
  }

  /** The worker died: all it held is in the store alone. */
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

  /** An attempt of the endpoint ended so. */
  learn(window: EndpointWindow, troubled: boolean): void {
    if (window.troubled === troubled) return;
    this.#heldTroubled += troubled ? window.held.size : -window.held.size;
    window.troubled = troubled;
    if (!window.overflowing) return;
    (troubled ? this.#calm : this.#troubled).delete(window);
    this.line(window);
  }

  /** The endpoint has more in the store: it gets in line for room. */
  line(window: EndpointWindow): void {
    window.overflowing = true;
    (window.troubled ? this.#troubled : this.#calm).add(window);
  }

  /**
   * Whose turn it is to be handed more; null where there is no room or nobody is in line. One that has its share already leaves the
   * line and comes back when deliveries of its own end.
   */
  next(): EndpointWindow | null {
    for (const ring of [this.#calm, this.#troubled]) {
      while (ring.size > 0 && this.#wholeRoom(ring === this.#troubled) > 0) {
        const window = ring.take();
        if (window !== null && this.room(window) > 0) return window;
      }
    }
    return null;
  }
}
