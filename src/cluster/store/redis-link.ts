import { BucketCounts } from '../../kernel/bucket-counts.ts';
import {
  type ClusterAddress,
  type Command,
  LINK_DEADLINE_MS,
  type LinkCounts,
  type LinkStatus,
  type MeasuredLink,
  type Reply,
  type SendFault,
  type Sent,
  WAITING_DEADLINE_MS,
} from './link.ts';
import { openRoutes, type Routes } from './store-routes.ts';
import { isUnknownFunction } from './functions.ts';
import { readRedirect } from './hash-slots.ts';
import type { StoreConnection } from './store-connection.ts';

const LATE: SendFault = { kind: 'fault', what: 'unknown', detail: 'the store did not answer in time' };
const UNKNOWN_STORE: SendFault = { kind: 'fault', what: 'down', detail: 'the primary of this key is not known yet' };
/** Choice: a timer that is later than this waited for this thread. */
const PAUSE_MS = 2;
/** Choice: one for a slot that moved, one for a slot that is moving, and one more. */
const REDIRECTS_MAX = 3;

/** Opens a link and returns it at once; it is up as soon as the store answers. Connects again by itself, without end. */
export function openLink(address: ClusterAddress): MeasuredLink {
  return new RedisLink(openRoutes(address), LINK_DEADLINE_MS);
}

/**
 * Opens a link for commands that block, such as `XREAD BLOCK` and `BLPOP`: it has connections of its own, because a blocked connection
 * delays everything behind it. `send` waits for `WAITING_DEADLINE_MS`; block for less. Send one blocking command at a time.
 */
export function openWaitingLink(address: ClusterAddress): MeasuredLink {
  return new RedisLink(openRoutes(address), WAITING_DEADLINE_MS);
}

const ROUND_TRIP_BOUNDS = [0.000_25, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 1];

class RedisLink implements MeasuredLink {
  readonly #routes: Routes;
  readonly #deadlineMs: number;
  readonly #faults = { refused: 0, unknown: 0, down: 0 };
  readonly #roundTripSeconds = new BucketCounts(ROUND_TRIP_BOUNDS);
  #sends = 0;
  #commands = 0;
  #redirected = 0;
  #refusal: string | null = null;

  constructor(routes: Routes, deadlineMs: number) {
    this.#routes = routes;
    this.#deadlineMs = deadlineMs;
  }

  get isUp(): boolean {
    for (const { isUp } of this.#routes.stores) if (isUp) return true;
    return false;
  }

  get counts(): LinkCounts {
    let opened = this.#routes.openedBefore;
    for (const store of this.#routes.stores) opened += store.opened;
    return {
      sends: this.#sends,
      commands: this.#commands,
      faults: this.#faults,
      opened,
      redirected: this.#redirected,
      roundTripSeconds: this.#roundTripSeconds,
    };
  }

  status(): LinkStatus {
    const stores = [...this.#routes.stores];
    const isDown = stores.filter(({ isUp }) => !isUp);
    return {
      stores: stores.length,
      storesUp: stores.length - isDown.length,
      details: isDown.map(({ detail }) => detail),
      refusal: this.#refusal,
    };
  }

  send(commands: readonly Command[], deadlineMs = this.#deadlineMs): Promise<readonly Sent[]> {
    if (commands.length === 0) return Promise.resolve([]);
    this.#sends++;
    this.#commands += commands.length;
    return new Promise((resolve) => {
      const trip = new RoundTrip(commands, (results) => {
        this.#count(results, trip.startedAtMs);
        resolve(results);
      });
      for (let at = 0; at < commands.length; at++) this.#sendOne(trip, at, deadlineMs);
      trip.arm(deadlineMs);
    });
  }

  close(): Promise<void> {
    this.#routes.close();
    return Promise.resolve();
  }

  #sendOne(trip: RoundTrip, at: number, deadlineMs: number): void {
    const command = trip.commands[at];
    if (command === undefined) return;
    const store = this.#routes.find(command.key);
    if (store === null) trip.settle(at, UNKNOWN_STORE);
    else this.#sendTo(store, trip, at, deadlineMs, REDIRECTS_MAX, false);
  }

  #sendTo(
    store: StoreConnection,
    trip: RoundTrip,
    at: number,
    deadlineMs: number,
    redirects: number,
    isAsking: boolean,
  ): void {
    const args = trip.commands[at]?.args ?? [];
    const settle = {
      replied: (reply: Reply): void => trip.replied(at, reply),
      failed: (fault: SendFault): void => {
        const to = fault.what === 'refused' ? readRedirect(fault.detail) : null;
        if (to === null || redirects === 0 || trip.isOver) {
          trip.settle(at, fault);
          return;
        }
        this.#redirected++;
        const next = this.#routes.redirect(to, store);
        this.#sendTo(next, trip, at, deadlineMs, redirects - 1, to.kind === 'ask');
      },
    };
    trip.uses(at, store);
    const unsent = isAsking ? store.sendAsking(args, deadlineMs, settle) : store.send(args, deadlineMs, settle);
    if (unsent !== null) trip.settle(at, unsent);
  }

  #count(results: readonly Sent[], startedAtMs: number): void {
    let isFaultless = true;
    for (const result of results) {
      if (result.kind === 'reply') continue;
      this.#faults[result.what]++;
      // A library that is not loaded yet is no reason: its caller loads it.
      if (result.what === 'refused' && !isUnknownFunction(result.detail)) this.#refusal = result.detail;
      isFaultless = false;
    }
    if (!isFaultless) return;
    this.#roundTripSeconds.add((performance.now() - startedAtMs) / 1_000);
  }
}

/** The commands of one call of `send`, with one timer for all of them. */
class RoundTrip {
  readonly startedAtMs = performance.now();
  readonly commands: readonly Command[];
  readonly #results: (Sent | undefined)[];
  readonly #stores: (StoreConnection | undefined)[];
  readonly #resolve: (results: readonly Sent[]) => void;
  #open: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(commands: readonly Command[], resolve: (results: readonly Sent[]) => void) {
    this.commands = commands;
    this.#open = commands.length;
    this.#results = Array.from({ length: commands.length }, () => undefined);
    this.#stores = Array.from({ length: commands.length }, () => undefined);
    this.#resolve = resolve;
  }

  /** The results were returned. Replies that come later are dropped. */
  get isOver(): boolean {
    return this.#open === 0;
  }

  uses(at: number, store: StoreConnection): void {
    this.#stores[at] = store;
  }

  replied(at: number, reply: Reply): void {
    if (this.isOver) return;
    this.#stores[at]?.onTime();
    this.settle(at, { kind: 'reply', reply });
  }

  settle(at: number, sent: Sent): void {
    if (this.isOver || this.#results[at] !== undefined) return;
    this.#results[at] = sent;
    if (--this.#open === 0) this.#finish();
  }

  /**
   * Starts the deadline after the commands have left: the client writes them at the end of this turn of the event loop. When it has
   * passed, replies that have already arrived are still read: after a pause of this thread its timers run before its sockets, and a store
   * that answered in time must not count as late.
   */
  arm(deadlineMs: number): void {
    if (this.isOver) return;
    // Runs after the client's own, which was queued before.
    setImmediate(() => this.#expireAfter(deadlineMs, performance.now() + deadlineMs));
  }

  /**
   * Node.js counts a timer from the beginning of the turn, so one that is set after a pause within it is too short. One that fires late
   * shows that this thread was busy, which is no silence of the store: that time is added once, up to the deadline again.
   */
  #expireAfter(delayMs: number, untilMs: number, pausedMsMax = delayMs): void {
    if (this.isOver) return;
    this.#timer = setTimeout(() => {
      const pausedMs = Math.min(performance.now() - untilMs, pausedMsMax);
      setImmediate(() => {
        const leftMs = untilMs - performance.now();
        if (leftMs > 0) this.#expireAfter(leftMs, untilMs, pausedMsMax);
        else if (pausedMs > PAUSE_MS) this.#expireAfter(pausedMs, performance.now() + pausedMs, 0);
        else this.#expire();
      });
    }, delayMs);
  }

  #expire(): void {
    if (this.isOver) return;
    const late = new Set<StoreConnection>();
    for (const [at, result] of this.#results.entries()) {
      const store = this.#stores[at];
      if (result === undefined && store !== undefined) late.add(store);
    }
    for (const store of late) store.late();
    this.#open = 0;
    this.#finish();
  }

  #finish(): void {
    clearTimeout(this.#timer);
    this.#resolve(this.#results.map((result) => result ?? LATE));
  }
}
