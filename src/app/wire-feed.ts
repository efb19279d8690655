import type { AssetStatus } from '../assets/asset-messages.ts';
import { RedisFeed } from '../cluster/feed/redis-feed.ts';
import { readNodeId } from '../cluster/nodes/node-id.ts';
import type { MeasuredLink } from '../cluster/store/link.ts';
import { openLink, openWaitingLink } from '../cluster/store/redis-link.ts';
import { CLUSTER_VALUES_PURPOSE } from '../cluster/store/encrypted-values.ts';
import { endProcess } from '../kernel/end-process.ts';
import { versionOfInstallation } from '../kernel/programs.ts';
import type { Log } from '../observe/log.ts';
import { histogram, level, type Reading, total } from '../observe/reading.ts';
import type { Change, StateFeed } from '../state/feed/changes.ts';
import type { StoreFault } from '../state/tables/durable.ts';
import type { FeedParts } from '../state/feed/lmdb-feed.ts';
import { reportFaults } from './maintenance.ts';
import type { ClusterSettings, Settings } from './settings.ts';
import { EXIT_SETTINGS } from './settings.ts';
import { StartFault } from './start-fault.ts';

/** How often the state is compared with the logged one. */
const WATCH_MS = 500;
/** Choice: long enough to be seen by an operator who looks after an alert. */
const BROKEN_SHOWN_MS = 600_000;
const NEEDS_UPGRADE =
  'a newer node made a change that this one cannot read, see the log; changes are not seen here, and none can be made, until the upgrade';

/**
 * The change feed of a node of a cluster. It has connections of its own: a large change must not delay admission, and its reader waits for
 * entries.
 */
export class WiredFeed {
  readonly #settings: ClusterSettings;
  readonly #log: Log;
  readonly #links: MeasuredLink[] = [];
  #feed: RedisFeed | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** As logged last. */
  #logged = '';
  readonly #broken = { counted: 0, logged: 0, lastId: '', atMs: Number.NEGATIVE_INFINITY };

  constructor(settings: ClusterSettings, log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  /** For `openStore`. */
  readonly make = (parts: FeedParts): StateFeed => {
    this.#feed = new RedisFeed(parts);
    return this.#feed;
  };

  /**
   * Founds or joins the cluster. Resolves to whether this node founded it, when it has all changes that the store has. Throws a
   * StartFault if the data directory and the cluster do not belong together.
   */
  async open({ dataDir }: Settings, keyFor: (purpose: string) => Buffer): Promise<boolean> {
    const feed = this.#feed;
    if (feed === null) throw new Error('the store makes the feed first');
    const [link, waiting] = [openLink(this.#settings), openWaitingLink(this.#settings)];
    this.#links.push(link, waiting);
    const opened = await feed.open({
      link,
      waiting,
      key: keyFor(CLUSTER_VALUES_PURPOSE),
      node: readNodeId(dataDir, this.#settings.nodeId).id,
      version: versionOfInstallation(),
      onFault: (fault) => this.#onFault(fault),
      onReplace: (detail) => this.#restart(detail),
      onBroken: (id) => this.#noteBroken(id),
    });
    if (opened.kind === 'fault') {
      throw new StartFault(opened.detail, opened.code === 'cluster_refused' ? EXIT_SETTINGS : 1);
    }
    this.#log.info({ how: opened.how, position: feed.position }, 'cluster');
    this.#watch();
    this.#timer = setInterval(() => this.#watch(), WATCH_MS).unref();
    return opened.how === 'founded';
  }

  /** Calls `listener` after each change that another node has made. */
  onOthersCommitted(listener: (change: Change) => void): void {
    this.#feed?.onOthersCommitted(({ change }) => listener(change));
  }

  /** Id of the cluster, once it is open. */
  get cluster(): string {
    return this.#feed?.cluster ?? '';
  }

  /** Number of the last change that this node has applied. */
  get position(): number {
    return this.#feed?.position ?? 0;
  }

  /** The layer `feed` of `/readyz`; its detail is public. */
  status(): AssetStatus {
    const state = this.#feed?.state ?? { kind: 'away', detail: '' };
    const version = String(this.position);
    if (state.kind === 'current' || state.kind === 'catching-up') {
      const isRecent = performance.now() - this.#broken.atMs < BROKEN_SHOWN_MS;
      const skipped = isRecent ? `; ${this.#broken.counted} broken entries of the shared store were skipped` : '';
      return { state: 'ok', version, detail: `${state.kind}${skipped}` };
    }
    const needsUpgrade = state.kind === 'stopped' && state.needsUpgrade === true;
    const detail = {
      loading: 'the data is being replaced by that of another node',
      away: 'the shared store does not answer; changes of other nodes are not seen, and none can be made',
      mending: 'the stream of changes in the shared store is damaged, and is being founded again; changes wait',
      stopped: needsUpgrade ? NEEDS_UPGRADE : 'changes cannot be applied on this node, see the log',
    }[state.kind];
    return { state: 'broken', version, detail };
  }

  get readings(): readonly Reading[] {
    const feed = this.#feed;
    if (feed === null) return [];
    return [
      level(
        'gatehouse_feed_position',
        'Number of the last change of the cluster that this node has applied.',
        () => feed.position,
      ),
      level('gatehouse_feed_behind_changes', 'Changes that another live node has applied and this one has not.', () =>
        Math.max(0, ...(feed.replicas?.live() ?? []).map(({ number }) => number - feed.position)),
      ),
      level(
        'gatehouse_feed_nodes',
        'Live nodes that follow the changes, this one included.',
        () => feed.replicas?.live().length ?? 0,
      ),
      total(
        'gatehouse_feed_broken_entries_total',
        'Entries of the stream of changes that no node of the cluster wrote for their place, and that were skipped.',
        () => feed.brokenEntries,
      ),
      histogram(
        'gatehouse_feed_lag_seconds',
        'Time from the append of a change to its application on this node, seconds.',
        () => feed.lag.seconds,
      ),
    ];
  }

  /** To be called before the store is closed. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#feed?.close();
    await Promise.all(this.#links.map((link) => link.close()));
  }

  /** Other faults are seen in the state. */
  #onFault(fault: StoreFault): void {
    if (fault.code === 'store_stuck') reportFaults([fault], this.#log);
  }

  #noteBroken(id: string): void {
    this.#broken.counted++;
    this.#broken.lastId = id;
    this.#broken.atMs = performance.now();
  }

  #restart(detail: string): void {
    this.#log.fatal(
      { detail },
      'the data must be replaced by that of another node; exiting for a restart by the supervisor',
    );
    this.#log.flush(endProcess);
  }

  /** Logs each change of the state, and broken entries at most twice a second. */
  #watch(): void {
    const { counted, logged, lastId } = this.#broken;
    if (counted > logged) {
      this.#log.warn(
        { entries: counted - logged, last: lastId },
        'entries of the stream of changes were skipped: no node of this cluster wrote them for their place',
      );
      this.#broken.logged = counted;
    }
    const state = this.#feed?.state ?? { kind: 'away' as const, detail: '' };
    const isWell = state.kind === 'current' || state.kind === 'catching-up';
    const detail = 'detail' in state ? state.detail : '';
    const text = isWell ? 'ok' : `${state.kind} ${detail}`;
    if (text === this.#logged) return;
    const isFirst = this.#logged === '';
    this.#logged = text;
    if (!isWell) this.#log.error({ state: state.kind, detail }, 'changes of the cluster are not applied');
    else if (!isFirst) this.#log.info({ position: this.position }, 'changes of the cluster are applied again');
  }
}
