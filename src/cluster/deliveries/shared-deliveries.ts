import type { Delivery, DeliveryId, WebhookRetry } from '../../work/webhook.ts';
import type { StoreWrite } from '../../state/tables/durable.ts';
import type { Link } from '../store/link.ts';
import { RepeatedCall } from '../store/repeated-call.ts';
import type { StoreResult } from '../store/store-calls.ts';
import { type Claim, RedisWorkQueue } from './redis-work-queue.ts';
import { takenOver } from './taken-delivery.ts';

/** The deliveries of this node. */
export interface LocalDeliveries {
  /** Yields all pending rows, a bounded number at a time. */
  pending(): Iterable<readonly Delivery[]>;
  /** Returns this delivery as the log has it, pending or ended; null if it does not. */
  find(row: Delivery): Delivery | null;
  /** Stores rows of another node, without handing them out. */
  adopt(rows: readonly Delivery[]): Promise<StoreWrite<null>>;
  /** Hands out stored rows. */
  handOut(rows: readonly Delivery[]): void;
  /** Removes pending rows that another node has. */
  drop(rows: readonly Delivery[]): Promise<unknown>;
  /** Attempts may begin until then, Unix ms. */
  lease(untilMs: number): void;
  retryOf(endpointId: string): WebhookRetry;
}

export interface SharedDeliveriesParts {
  readonly link: Link;
  /** Encrypts the rows. */
  readonly key: Uint8Array;
  readonly node: string;
  /** True if this node sends deliveries. If not, other nodes take over its rows at once. */
  readonly sends: boolean;
  /** True if the store has stored a heartbeat of this node within the time after which others declare it dead. */
  readonly isJoined: () => boolean;
  /** Ids of all live nodes that send deliveries. */
  readonly senders: () => readonly string[];
  /** The store's clock, Unix ms. */
  readonly storeNowMs: () => number;
  readonly nowMs: () => number;
  /** Called with the number of deliveries that were taken over from a node. */
  readonly onTakenOver: (node: string, count: number) => void;
  /** Called once for a node that is gone if this build cannot read its deliveries: they wait for an upgraded node, or for their own. */
  readonly onUnreadable: (node: string, count: number) => void;
  readonly tickMs?: number;
  readonly scanMs?: number;
}

/** Choice: how often the lease is renewed, and lapses are noticed. */
const TICK_MS = 300;
/** Choice: a lease outlasts a few late ticks, and ends before others take over: see `SCAN_MS`. */
const LEASE_MS = 1_200;
/**
 * Choice: a node that is gone is taken over when two scans in a row find it gone, so 2 to 4 s after membership declares it dead; by then
 * its last lease has ended.
 */
const SCAN_MS = 2_000;
/** Choice: rows of one command, some 200 KB. */
const ROWS_AT_ONCE = 200;
const NAME = 'deliveries';
/**
 * Choice: longer than the plan of any delivery takes, with an outage in between, and well below the 30 days for which the log knows it. An
 * older one is a copy, or its own node sends it when it is back.
 */
const AGE_MS_MAX = 7 * 86_400_000;

/**
 * The pending deliveries of all nodes in the store: each node keeps a lane with its own, and those that live claim the work of a node that
 * is gone. What this node has not been able to write there must not change: without the store no attempt begins.
 */
export class SharedDeliveries {
  readonly #parts: SharedDeliveriesParts;
  readonly #queue: RedisWorkQueue;
  #local: LocalDeliveries | null = null;
  /** The store has everything that this node has. */
  #isCurrent = false;
  readonly #ticking: RepeatedCall<void>;
  #scannedMs = Number.NEGATIVE_INFINITY;
  #goneBefore = new Set<string>();
  /** Nodes that are gone → their deliveries that this build cannot read. */
  readonly #unreadable = new Map<string, number>();
  /** Attempts that ended. */
  #changes = 0;
  #refused = 0;
  #writes: Promise<unknown> = Promise.resolve();

  constructor(parts: SharedDeliveriesParts) {
    this.#parts = parts;
    const { link, key } = parts;
    this.#ticking = new RepeatedCall(parts.tickMs ?? TICK_MS, () => this.#tick());
    const onUnreadable = (lane: string, count: number): void => this.#onUnreadable(lane, count);
    this.#queue = new RedisWorkQueue({ link, key, name: NAME, onUnreadable });
  }

  /** Whether attempts wait until the store answers again. */
  get isHeldUp(): boolean {
    return !this.#isCurrent;
  }

  /** Deliveries of nodes that are gone which this build cannot read. */
  get unreadable(): number {
    return [...this.#unreadable.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Deliveries in lanes of nodes that are gone which this node knows already, or which are too old: copies of what there was. */
  get refused(): number {
    return this.#refused;
  }

  start(local: LocalDeliveries): void {
    this.#local = local;
    void this.#ticking.now().finally(() => this.#ticking.start());
  }

  async stored(rows: readonly Delivery[]): Promise<void> {
    if (this.#isCurrent) await this.#write(() => this.#queue.replace(this.#parts.node, rows));
  }

  attempted(rows: readonly Delivery[]): void {
    this.#changes++;
    void this.stored(rows);
  }

  ended(ids: readonly DeliveryId[]): void {
    this.#changes++;
    if (this.#isCurrent && ids.length > 0) void this.#write(() => this.#queue.withdraw(this.#parts.node, ids));
  }

  async close(): Promise<void> {
    void this.#ticking.close();
    await this.#writes;
  }

  /** Renews the lease, writes everything again after a lapse, and takes over what others left. */
  async #tick(): Promise<void> {
    if (!this.#parts.isJoined()) this.#lapse();
    else if (this.#isCurrent || (await this.#reconcile())) {
      this.#local?.lease(this.#parts.nowMs() + LEASE_MS);
      await this.#scan();
    }
  }

  #lapse(): void {
    this.#isCurrent = false;
    this.#local?.lease(0);
  }

  /** Writes in order of the calls. After a fault everything is written again. */
  async #write(write: () => Promise<StoreResult<null>>): Promise<void> {
    const writing = write();
    this.#writes = Promise.all([this.#writes, writing]);
    if ((await writing).kind === 'away') this.#lapse();
  }

  /**
   * Brings the lane of this node up to date after a start or a lapse: what others have taken over meanwhile is theirs, and everything else
   * is this node's. Returns false if the store did not answer.
   */
  async #reconcile(): Promise<boolean> {
    const { node } = this.#parts;
    const local = this.#local;
    if (local === null || (await this.#queue.reclaim(node)).kind === 'away') return false;
    // Rows from here on are written by their own calls as well.
    this.#isCurrent = true;
    const changes = this.#changes;
    const known = new Set<string>();
    for (const rows of local.pending()) {
      const ids = rows.map(({ id }) => id);
      for (const id of ids) known.add(id);
      const taken = await this.#queue.endedOf(node, ids);
      if (taken.kind === 'away') return this.#failed();
      const gone = rows.filter(({ id }) => taken.value.has(id));
      const own = rows.filter(({ id }) => !taken.value.has(id));
      if (gone.length > 0) await local.drop(gone);
      if (own.length > 0 && (await this.#queue.replace(node, own)).kind === 'away') return this.#failed();
    }
    if (!(await this.#withdrawRest(known))) return false;
    // A row that was read before an attempt ended may have replaced the one that was written after it.
    return changes === this.#changes || this.#failed();
  }

  /** Removes what ended while the store did not answer. */
  async #withdrawRest(known: Set<string>): Promise<boolean> {
    const listed = await this.#queue.idsOf(this.#parts.node);
    if (listed.kind === 'away') return this.#failed();
    for (const rows of this.#local?.pending() ?? []) for (const { id } of rows) known.add(id);
    const rest = listed.value.filter((id) => !known.has(id));
    for (let at = 0; at < rest.length; at += ROWS_AT_ONCE) {
      const done = await this.#queue.withdraw(this.#parts.node, rest.slice(at, at + ROWS_AT_ONCE));
      if (done.kind === 'away') return this.#failed();
    }
    return this.#isCurrent;
  }

  #failed(): false {
    this.#lapse();
    return false;
  }

  async #scan(): Promise<void> {
    const { sends, senders, scanMs = SCAN_MS } = this.#parts;
    if (performance.now() - this.#scannedMs < scanMs) return;
    this.#scannedMs = performance.now();
    if (!sends) return this.#removeTakenOver();
    const live = new Set([...senders(), this.#parts.node]);
    const gone = (await this.#queue.lanes()).filter((lane) => !live.has(lane));
    for (const lane of this.#unreadable.keys()) if (!gone.includes(lane)) this.#unreadable.delete(lane);
    for (const lane of gone) if (this.#goneBefore.has(lane)) await this.#takeOver(lane);
    this.#goneBefore = new Set(gone);
  }

  /** A node that sends nothing removes the rows that others have taken over. */
  async #removeTakenOver(): Promise<void> {
    for (const rows of this.#local?.pending() ?? []) {
      const ids = rows.map(({ id }) => id);
      const taken = await this.#queue.endedOf(this.#parts.node, ids);
      if (taken.kind === 'away') return;
      const gone = rows.filter(({ id }) => taken.value.has(id));
      if (gone.length > 0) await this.#local?.drop(gone);
    }
  }

  #onUnreadable(lane: string, count: number): void {
    if (!this.#unreadable.has(lane)) this.#parts.onUnreadable(lane, count);
    this.#unreadable.set(lane, count);
  }

  async #takeOver(lane: string): Promise<void> {
    const { node, storeNowMs, onTakenOver } = this.#parts;
    for (;;) {
      const claims = await this.#queue.claim(lane, { consumer: node, limit: ROWS_AT_ONCE, nowMs: storeNowMs() });
      if (claims.length === 0) return;
      const count = await this.#import(lane, claims);
      if (count > 0) onTakenOver(lane, count);
      if (!this.#isCurrent) return;
      this.#local?.lease(this.#parts.nowMs() + LEASE_MS);
    }
  }

  /**
   * Stores the rows here and in the lane of this node, then ends their claims, then hands out what was still claimed. In this order a node
   * that dies in between leaves each row in at least one place, and none sent.
   */
  async #import(lane: string, all: readonly Claim[]): Promise<number> {
    const { node, nowMs } = this.#parts;
    const claims = await this.#unknown(lane, all);
    if (claims.length === 0) return 0;
    const local = this.#local;
    const rows = claims.map(({ row }) => takenOver(row, local?.retryOf(row.endpointId) ?? 'fast', nowMs()));
    const adopted = await this.#local?.adopt(rows);
    const pending = rows.filter(({ status }) => status === 'pending');
    if (adopted?.kind !== 'ok' || (pending.length > 0 && (await this.#queue.replace(node, pending)).kind === 'away')) {
      await this.#queue.release(lane, claims);
      return 0;
    }
    const isMine = await this.#ending(lane, claims);
    const lost = rows.filter(({ status }, n) => status === 'pending' && isMine[n] !== true);
    if (lost.length > 0) {
      await this.#queue.withdraw(
        node,
        lost.map(({ id }) => id),
      );
      await this.#local?.drop(lost);
    }
    this.#local?.handOut(rows.filter((_row, n) => isMine[n]));
    return rows.length - lost.length;
  }

  /**
   * Returns the claims of deliveries that this node has never had. What it knows it has taken over before, or made itself. Claims of old
   * ones are kept until they lapse, so that they are not read at once again.
   */
  async #unknown(lane: string, claims: readonly Claim[]): Promise<readonly Claim[]> {
    const oldestMs = this.#parts.nowMs() - AGE_MS_MAX;
    const recent = claims.filter(({ row }) => row.createdAtMs >= oldestMs);
    const known = recent.filter(({ row }) => this.#local?.find(row) !== null);
    const ended = known.filter(({ row }) => this.#pendingHere(row) === null);
    if (ended.length > 0) await this.#queue.settle(lane, ended, this.#parts.storeNowMs());
    await this.#resume(
      lane,
      known.filter((claim) => !ended.includes(claim)),
    );
    this.#refused += claims.length - recent.length + ended.length;
    return recent.filter((claim) => !known.includes(claim));
  }

  /**
   * Continues deliveries that are stored here but not in this node's lane, because the store failed, and those still in progress here. Only
   * this node's own state of them counts.
   */
  async #resume(lane: string, claims: readonly Claim[]): Promise<void> {
    // Read and sent without a wait in between: an attempt that ends now is written after it.
    const rows = claims.flatMap(({ row }) => this.#pendingHere(row) ?? []);
    if (rows.length > 0 && (await this.#queue.replace(this.#parts.node, rows)).kind === 'away')
      return this.#queue.release(lane, claims);
    if (claims.length === 0) return;
    const isMine = await this.#ending(lane, claims);
    const mine = claims.filter((_claim, n) => isMine[n]);
    this.#local?.handOut(mine.flatMap(({ row }) => this.#pendingHere(row) ?? []));
  }

  #pendingHere(row: Delivery): Delivery | null {
    const found = this.#local?.find(row) ?? null;
    return found?.status === 'pending' ? found : null;
  }

  /**
   * Ends claims. Returns which of them, by their position, are this node's own from then on. If the store does not answer, all are: it may
   * have ended them, and a delivery sent twice is better than one that is never sent.
   */
  async #ending(lane: string, claims: readonly Claim[]): Promise<readonly boolean[]> {
    const settled = await this.#queue.settle(lane, claims, this.#parts.storeNowMs());
    if (settled.kind === 'ok') return settled.value;
    this.#lapse();
    return claims.map(() => true);
  }
}
