import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ENVIRONMENT_FORMATS } from '../../kernel/formats.ts';
import type { Committed, CommitOptions, Origin } from '../../ports/change-feed.ts';
import { CHANGE_FORMATS } from '../../state/feed/change-formats.ts';
import type { Change, OutcomeOf, StateFeed } from '../../state/feed/changes.ts';
import { lackOfRoom } from '../../state/tables/disk-room.ts';
import { durably, fault, type StoreFault, type StoreWrite } from '../../state/tables/durable.ts';
import type { FeedPosition, FeedPositions } from '../../state/feed/feed-position.ts';
import type { FeedParts } from '../../state/feed/lmdb-feed.ts';
import { STATE_BOUNDS } from '../../state/tables/state-tables.ts';
import { type Arrived, ChangeApplier } from './change-applier.ts';
import { malformationOf, packChange } from './change-codec.ts';
import { FEED_FORMAT } from './feed-keys.ts';
import { FeedReader, type ReadState } from './feed-reader.ts';
import type { StoredEntry } from './feed-store.ts';
import { AWAY, COMMIT_MS_MAX, FeedWriter, UNCONFIRMED } from './feed-writer.ts';
import { joinCluster } from './join-cluster.ts';
import { LagMeter } from './lag-meter.ts';
import { REPORT_MS, type ReplicaFacts, Replicas } from './replicas.ts';
import type { ChainPosition } from './change-chain.ts';
import type { FeedOptions } from './feed-options.ts';
import { FeedSnapshots } from './data-snapshot.ts';
import { endTurn, acquireTurn } from './restart-turn.ts';
import { KEEP_BYTES_MAX, KEEP_MS, trimChanges } from './trim-changes.ts';

export type FeedOpened =
  | { readonly kind: 'ok'; readonly how: 'founded' | 'joined' | 'continued' | 'alone' }
  | StoreFault;

interface Waiting {
  readonly change: Change;
  readonly until: 'durable' | 'visible';
  readonly settle: (write: StoreWrite<unknown>) => void;
}

type Listener = (committed: Committed<Change>) => void;

const TRIM_MS = 10_000;
const POLL_MS = 5;
/** Choice: a store that fails over answers within a second or two. A node with data then serves what it has, and `/readyz` shows it. */
const START_MS_MAX = 10_000;
/** Choice: milliseconds that a start requests a snapshot before it fails. */
const SNAPSHOT_MS_MAX = 60_000;

/**
 * The change feed of several nodes: every change is an entry of one stream in the cluster's store, and each node applies the entries in
 * order to its own tables. A commit resolves when this node has applied its entry; the outcome is decided there, equally on all nodes.
 * `open` must have resolved before changes are committed.
 *
 * Measured: see bench/cluster/feed.ts and docs/performance.md.
 */
export class RedisFeed implements StateFeed {
  readonly lag = new LagMeter();
  readonly #parts: FeedParts;
  readonly #startedAtMs = Date.now();
  readonly #listeners = new Set<Listener>();
  readonly #listenersToOthers = new Set<Listener>();
  /** Own changes in the stream, by their token. */
  readonly #waiting = new Map<string, Waiting>();
  #options: FeedOptions | null = null;
  #writer: FeedWriter | null = null;
  #reader: FeedReader | null = null;
  #replicas: Replicas | null = null;
  #state: ReadState = { kind: 'away', detail: 'the feed is not open yet' };
  #cluster = '';
  #isOpen = false;
  #snapshots: FeedSnapshots | null = null;
  #isClosed = false;
  #trimmedMs = 0;
  #brokenEntries = 0;

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  get state(): ReadState {
    return this.#state;
  }

  /** Id of the cluster; empty until `open` has resolved. */
  get cluster(): string {
    return this.#cluster;
  }

  /** Number of the last change that this node has applied. */
  get position(): number {
    return this.#reader?.position.number ?? 0;
  }

  /** Entries of the stream that no node of the cluster wrote for their place, and that were skipped, since the start. */
  get brokenEntries(): number {
    return this.#brokenEntries;
  }

  /** Reports of all live nodes, this one included. */
  get replicas(): Replicas | null {
    return this.#replicas;
  }

  /**
   * Founds or joins the cluster, and resolves when this node has applied all changes that the store has. A node with data also starts
   * without the store: it then serves what it has.
   */
  async open(options: FeedOptions): Promise<FeedOpened> {
    const { positions, root } = this.#parts;
    if (positions === null) return fault('store_unusable', 'a store that was opened read-only has no feed');
    this.#options = options;
    const { link, key } = options;
    const check = checkOf(key);
    const replicas = this.#openReplicas(options);
    const { turns } = this.#parts;
    const canServe = (): boolean => this.#state.kind === 'current';
    const snapshots = new FeedSnapshots({ ...options, root, positions, turns, tables: tablesOf(options), canServe });
    this.#snapshots = snapshots;
    const joined = await joinCluster({
      link,
      key,
      root,
      positions,
      check,
      format: FEED_FORMAT,
      waitMs: this.#startMs,
      reportMs: options.reportMs ?? REPORT_MS,
      isAlive: async (cluster) => (await replicas.read()) && replicas.isAlive(cluster),
    });
    if (joined.kind === 'fault') return joined;
    this.#cluster = joined.cluster;
    this.#replicas = replicas;
    await replicas.report();
    replicas.start();
    snapshots.copies.start();
    let { position } = joined;
    if (position === null) {
      this.#state = { kind: 'loading' };
      const loaded = await snapshots.load(this.#cluster, SNAPSHOT_MS_MAX, NOTHING);
      if (loaded.kind === 'fault') return loaded;
      ({ position } = loaded);
    }
    this.#begin(options, position, check);
    if (joined.position === null) {
      // Until the others know its position, they remove changes that this node has not read yet.
      this.#state = { kind: 'catching-up' };
      await replicas.report();
    }
    await this.#caughtUp(joined.how === 'alone');
    this.#isOpen = true;
    await endTurn(options);
    return { kind: 'ok', how: joined.position === null ? 'joined' : joined.how };
  }

  async commit<One extends Change>(
    change: One,
    origin: Origin,
    { until = 'durable', slices }: CommitOptions = {},
  ): Promise<StoreWrite<OutcomeOf<One['kind']>>> {
    const [options, writer, replicas] = [this.#options, this.#writer, this.#replicas];
    if (options === null || writer === null || replicas === null || this.#isClosed) return AWAY;
    // Every node finds the same expired rows; one of them removes them for all, but none by a clock that is ahead.
    if (change.kind === 'rows.expired' && (!replicas.isKeeper || replicas.isAhead)) return { kind: 'ok', value: 0 };
    const refused = this.#refusalOf(change);
    if (refused !== null) return refused;
    const formats = options.formats ?? CHANGE_FORMATS;
    const version = replicas.commonVersion(change.kind);
    const format = formats[change.kind];
    if (version === 0 || format === undefined) return notKnownByAll(change.kind);
    const parts = await packChange(change, origin, version, format, slices);
    return (await this.#append(writer, parts, change, until)) as StoreWrite<OutcomeOf<One['kind']>>;
  }

  onCommitted(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Like `onCommitted`, for changes that another node has made. */
  onOthersCommitted(listener: Listener): () => void {
    this.#listenersToOthers.add(listener);
    return () => this.#listenersToOthers.delete(listener);
  }

  /** Stops reading and writing. Changes that were not confirmed yet fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#writer?.close();
    await this.#snapshots?.copies.close();
    await this.#reader?.close();
    await this.#replicas?.stop();
    // Settling removes from the map, which its iterator allows.
    for (const { settle } of this.#waiting.values()) settle(UNCONFIRMED);
  }

  #refusalOf(change: Change): StoreFault | null {
    const malformed = malformationOf(change);
    if (malformed !== null) return fault('store_write_failed', malformed);
    const lack = lackOfRoom(this.#parts.root);
    if (lack !== null) return fault('store_full', lack);
    const { kind } = this.#state;
    if (kind !== 'stopped' && kind !== 'loading') return null;
    const detail = 'detail' in this.#state ? this.#state.detail : 'its data is being replaced';
    return fault('cluster_unavailable', `this node does not apply changes at the moment: ${detail}`);
  }

  #append(
    writer: FeedWriter,
    parts: readonly Buffer[],
    change: Change,
    until: Waiting['until'],
  ): Promise<StoreWrite<unknown>> {
    return new Promise((resolve) => {
      let sentAs: string | null = null;
      const settle = (write: StoreWrite<unknown>): void => {
        clearTimeout(timer);
        if (sentAs !== null) this.#waiting.delete(sentAs);
        resolve(write);
      };
      const timer = setTimeout(() => settle(sentAs === null ? AWAY : UNCONFIRMED), this.#commitMsMax);
      writer.add({
        parts,
        sending: (token) => {
          sentAs = token;
          this.#waiting.set(token, { change, until, settle });
        },
        fail: settle,
      });
    });
  }

  get #commitMsMax(): number {
    return this.#options?.commitMsMax ?? COMMIT_MS_MAX;
  }

  get #startMs(): number {
    return this.#options?.startMs ?? START_MS_MAX;
  }

  #begin(options: FeedOptions, position: FeedPosition, check: string): void {
    const { link, waiting, key, formats = CHANGE_FORMATS, bounds, foundWaitMs, onFault = () => {} } = options;
    const { root, tables, revocations, turns } = this.#parts;
    const applier = new ChangeApplier({
      root,
      tables,
      revocations,
      positions: this.#positions,
      turns,
      bounds: { ...STATE_BOUNDS, ...bounds },
      cluster: this.#cluster,
    });
    const reader = new FeedReader(
      {
        link,
        waiting,
        key,
        formats,
        check,
        format: FEED_FORMAT,
        ...(foundWaitMs !== undefined && { foundWaitMs }),
        applier,
        onRead: (token) => this.#writer?.onRead(token),
        onApplied: (arrived, outcome, durable) => this.#onApplied(arrived, outcome, durable),
        onState: (state) => (this.#state = state),
        onFault,
        onBroken: (entry) => this.#onBroken(entry),
        onTerm: (at) => this.#putTerm(at),
        isFurthest: (at) => this.#isFurthest(at),
        isAlive: (cluster) => this.#replicas?.isAlive(cluster) ?? false,
        replace: (detail, at) => this.#replace(detail, at),
      },
      position,
    );
    this.#reader = reader;
    const { commitMsMax = COMMIT_MS_MAX } = options;
    const parts = { link, key, cluster: this.#cluster, position: () => reader.tip, commitMsMax };
    this.#writer = new FeedWriter({ ...parts, onLost: () => reader.onLost() });
    reader.start();
  }

  get #positions(): FeedPositions {
    if (this.#parts.positions === null) throw new Error('a store that was opened read-only has no feed');
    return this.#parts.positions;
  }

  #onApplied(arrived: Arrived, outcome: unknown, durable: Promise<StoreFault | null>): void {
    const { token, change, origin, atMs } = arrived;
    if (this.#replicas !== null) this.lag.add(this.#replicas.storeNowMs - atMs);
    const own = this.#waiting.get(token);
    const committed = { ...origin, change: own?.change ?? change };
    for (const listener of this.#listeners) listener(committed);
    if (own === undefined) {
      for (const listener of this.#listenersToOthers) listener(committed);
      return;
    }
    if (own.until === 'visible') own.settle({ kind: 'ok', value: outcome });
    else void durable.then((failed) => own.settle(failed ?? { kind: 'ok', value: outcome }));
  }

  #onBroken({ number, part }: StoredEntry): void {
    this.#brokenEntries++;
    this.#options?.onBroken?.(`${number}-${part}`);
  }

  async #putTerm(at: ChainPosition): Promise<void> {
    const { root } = this.#parts;
    await durably(root, () => this.#positions.put({ ...at, cluster: this.#cluster, isLoading: false }));
  }

  #openReplicas(options: FeedOptions): Replicas {
    const { link, key, node, version, formats = CHANGE_FORMATS, reportMs } = options;
    const known = Object.fromEntries(Object.entries(formats).map(([kind, format]) => [kind, format.version]));
    const facts = (): ReplicaFacts => ({
      cluster: this.#cluster,
      term: this.#reader?.position.term ?? 0,
      number: this.position,
      state: this.#state.kind,
      detail: 'detail' in this.#state ? this.#state.detail : '',
      lagMs: Math.round(this.lag.drainWorst()),
      version,
      formats: known,
      tables: tablesOf(options),
      startedAtMs: this.#startedAtMs,
    });
    return new Replicas({
      link,
      key,
      id: node,
      formats,
      facts,
      onReported: () => void this.#trim(),
      ...(reportMs !== undefined && { reportMs }),
    });
  }

  /** Resolves when this node has what the store had at the last read. A node that starts alone does not wait for the store. */
  async #caughtUp(isAlone: boolean): Promise<void> {
    const deadline = isAlone ? 0 : performance.now() + this.#startMs;
    for (;;) {
      const { kind } = this.#state;
      if (kind === 'current' || this.#isClosed) return;
      const isStuck = kind === 'away' || kind === 'stopped' || kind === 'mending';
      if (isStuck && performance.now() > deadline) return;
      await sleep(POLL_MS);
    }
  }

  async #isFurthest(at: ChainPosition): Promise<boolean> {
    const replicas = this.#replicas;
    return replicas !== null && (await replicas.report()) && replicas.isFurthest(this.#cluster, at);
  }

  /** Before it is open, a node takes the snapshot itself; later it ends for that, one node at a time and never the furthest. */
  async #replace(detail: string, at: ChainPosition): Promise<FeedPosition | StoreFault | string | null> {
    const [options, replicas, snapshots] = [this.#options, this.#replicas, this.#snapshots];
    if (options === null || replicas === null || snapshots === null) return 'the feed is not open yet';
    if (!(await replicas.report())) return 'the store does not answer';
    if (!replicas.hasLater(this.#cluster, at, tablesOf(options))) return 'no live node has later changes';
    if (this.#isOpen && options.onReplace !== undefined) {
      if (!(await acquireTurn(options, replicas.storeNowMs))) return 'another node takes the data of a later one first';
      options.onReplace(detail);
      return null;
    }
    this.#state = { kind: 'loading' };
    const loaded = await snapshots.load(this.#cluster, 0, at);
    return loaded.kind === 'ok' ? loaded.position : loaded;
  }

  async #trim(): Promise<void> {
    const [options, replicas] = [this.#options, this.#replicas];
    if (options === null || replicas === null || !replicas.isKeeper || this.#state.kind !== 'current') return;
    const { link, trimMs = TRIM_MS, keepMs = KEEP_MS, keepBytesMax = KEEP_BYTES_MAX } = options;
    if (performance.now() - this.#trimmedMs < trimMs) return;
    this.#trimmedMs = performance.now();
    const live = replicas.live().filter(({ cluster, state }) => cluster === this.#cluster && state !== 'loading');
    const appliedByAll = Math.min(this.position, ...live.map(({ number }) => number));
    const head = { cluster: this.#cluster, number: this.position };
    await trimChanges(link, head, appliedByAll, replicas.storeNowMs, { keepMs, keepBytesMax });
  }
}

const NOTHING = { term: 0, number: 0 };

function tablesOf({ tables = ENVIRONMENT_FORMATS.state.version }: FeedOptions): number {
  return tables;
}

function checkOf(key: Buffer): string {
  return createHash('sha256').update('gatehouse feed').update(key).digest('hex').slice(0, 32);
}

function notKnownByAll(kind: string): StoreFault {
  return fault(
    'cluster_unavailable',
    `a node of an older version does not know the change ${kind}; it can be made when all nodes are upgraded`,
  );
}
