import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Link } from '../store/link.ts';
import { RepeatedCall } from '../store/repeated-call.ts';
import { callStore, scriptCommand } from '../store/store-calls.ts';
import { CLUSTER_KEY, NODES_KEY } from '../store/store-keys.ts';
import { BEAT_SCRIPT, type Beat, type BeatRow, type NodeState, readBeat } from './membership-beat.ts';
import { decryptSaid, encryptSaid, type NodeFacts, type Said } from './node-payload.ts';

/** Choice: a dead node is noticed within 6 s, and a pause of a busy machine of a few seconds is no death. */
export const BEAT_MS = 1_000;
export const GONE_MS = 5_000;

/** Returns whether what a node wrote shows that it was alive at `nowMs`. Both on the store's clock, Unix ms. */
export function isFresh(atMs: number, nowMs: number, goneMs = GONE_MS): boolean {
  return Math.abs(nowMs - atMs) <= goneMs;
}

/** Choice: as long as an ALLOW is kept. For this time answers without a dead node's part are marked as partial; then it is forgotten. */
const MISSING_MS = 24 * 3_600_000;
/** Choice: joining and beating wait longer than a decision would. */
const BEAT_DEADLINE_MS = 500;
/** Version of what nodes store and send to each other. A node is refused while one of another version is alive. */
export const CLUSTER_FORMAT = 2;

/** Choice: former runs of a node that are recognised. */
const FORMER_MAX = 64;

export interface ClusterNode extends NodeFacts {
  readonly id: string;
  /** Grows with each start of the node, as far as the store can be trusted: for people. */
  readonly epoch: number;
  /** Random; distinguishes the runs of the node. */
  readonly run: string;
}

/**
 * `appeared`: a node started, or its heartbeats have resumed. `gone`: it stopped (`isOrderly`), or wrote no heartbeat for `GONE_MS`. Its
 * run of this epoch then owns nothing any more; a node that is still alive notices that it was declared dead.
 */
export type MembershipEvent =
  | { readonly kind: 'appeared'; readonly node: ClusterNode }
  | { readonly kind: 'gone'; readonly node: ClusterNode; readonly isOrderly: boolean };

export type MembershipJoined =
  | { readonly kind: 'ok' }
  | {
      readonly kind: 'fault';
      /** `unreachable`: the store did not answer; the node may run alone and joins with a later beat. All others end the start. */
      readonly code: 'unreachable' | 'id_taken' | 'other_format' | 'full';
      readonly detail: string;
    };

export interface MembershipOptions {
  readonly link: Link;
  /** GATEHOUSE_NODE_ID, or what `readNodeId` returns. */
  readonly id: string;
  /** Identifies the data directory on this machine: the next run of the same one replaces the earlier one at once. */
  readonly home: string;
  /** `keyFor('cluster-values')`. */
  readonly key: Buffer;
  readonly facts: () => NodeFacts;
  /** Called once if another node has taken this id while this one was silent: this one must end. */
  readonly onReplaced?: (detail: string) => void;
  readonly beatMs?: number;
  readonly goneMs?: number;
}

type Mode = 'join' | 'beat' | 'stop' | 'leave';

interface Known {
  readonly node: ClusterNode;
  state: NodeState;
  /** The newest beat of the run that this node has read. */
  beat: number;
  /** Time that the node wrote, on the store's clock. */
  lastBeatMs: number;
  /** When it was read, on this process's clock; -Infinity if it was old then. */
  seenAtMs: number;
  /** The run has proved that it is over for good. */
  hasLeft: boolean;
  isLive: boolean;
}

/**
 * The nodes of a cluster. Each node writes a heartbeat every second, with a counter. A node is alive as long as others see its counter
 * rise, so the clocks of nodes do not matter; the store's clock decides about the first beat that a node reads of another one. While this
 * node does not reach the store, it declares no node dead, and has no peers.
 *
 * Everybody who can write to the store can write rows. Only what is encrypted in a row counts: who the node is, which run of it, and when
 * the row was made. A row that no node wrote is ignored, and a copy of an old row counts as that of a dead node.
 */
export class Membership {
  readonly id: string;
  readonly #options: MembershipOptions;
  readonly #beatMs: number;
  readonly #beating: RepeatedCall<MembershipJoined>;
  readonly #goneMs: number;
  /** Identifies this run; unknown without the master key, and never used again. */
  readonly run = randomBytes(12).toString('hex');
  readonly #known = new Map<string, Known>();
  /** By node: runs that are over. */
  readonly #former = new Map<string, Set<string>>();
  readonly #listeners = new Set<(event: MembershipEvent) => void>();
  #epoch = 0;
  /** Time of the last beat that the store took, on the store's clock and on this process's. */
  #beatAtMs = Number.NEGATIVE_INFINITY;
  /** Start of the present time without a gap between beats, on this process's clock; -Infinity: no gap since it joined. */
  #observesSinceMs = Number.NEGATIVE_INFINITY;
  #beats = 0;
  #refused = 0;
  /** Time of the last answer, on the store's clock and on this process's; null before the first. */
  #storeTime: { readonly storeMs: number; readonly ownMs: number } | null = null;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.id = options.id;
    this.#beatMs = options.beatMs ?? BEAT_MS;
    this.#beating = new RepeatedCall(this.#beatMs, () => this.#beat());
    this.#goneMs = options.goneMs ?? GONE_MS;
  }

  /** Number of this run; 0 until the node has joined. */
  get epoch(): number {
    return this.#epoch;
  }

  /** False while the store has not taken a heartbeat of this node for as long as others need to declare it dead. */
  get isJoined(): boolean {
    return this.#epoch > 0 && performance.now() - this.#beatAtMs < this.#goneMs;
  }

  /** Rejected rows of other nodes, counted at each read: of an earlier run or beat, or written by no node. */
  get refused(): number {
    return this.#refused;
  }

  /** The store's clock as of the last heartbeat, Unix ms. */
  get storeNowMs(): number {
    const { storeMs, ownMs } = this.#storeTime ?? { storeMs: Date.now(), ownMs: performance.now() };
    return storeMs + performance.now() - ownMs;
  }

  /**
   * Joins the cluster, and beats from then on. A node with the same id that is alive refuses it; one that has just died is
   * waited for. After `unreachable` it keeps trying.
   */
  async join(): Promise<MembershipJoined> {
    let rivalBeatMs: number | null = null;
    for (let tries = 0; ; tries++) {
      const beat = await this.#send('join');
      if (beat?.status !== 'id_taken') {
        const joined = beat === null ? UNREACHABLE : this.#accept(beat);
        if (joined.kind === 'ok' || joined.code === 'unreachable') this.#beating.start();
        return joined;
      }
      const rival = this.#rivalIn(beat)?.atMs ?? 0;
      const isAlive = rivalBeatMs !== null && rival > rivalBeatMs;
      rivalBeatMs ??= rival;
      if (isAlive || tries > (2 * this.#goneMs) / this.#beatMs + 2) return this.#idTaken();
      await delay(this.#beatMs / 2);
    }
  }

  /** Sends a heartbeat now, and applies what it returns. The timer calls it; tests may. */
  beat(): Promise<MembershipJoined> {
    return this.#beating.now();
  }

  /** The other nodes that are alive, in the order of their ids. Empty while this node is not joined. */
  peers(): readonly ClusterNode[] {
    if (!this.isJoined) return [];
    return [...this.#known.values()].filter(({ isLive }) => isLive).map(({ node }) => node);
  }

  /** Ids of nodes that hold decisions and cannot be asked: dead for less than a day, or all others while this node is not joined. */
  missing(): readonly string[] {
    const nowMs = this.storeNowMs;
    return [...this.#known.values()]
      .filter(({ isLive, lastBeatMs }) => (!isLive || !this.isJoined) && nowMs - lastBeatMs < MISSING_MS)
      .map(({ node }) => node.id);
  }

  /** Calls `listener` for each change. Returns a function that ends it. */
  onChange(listener: (event: MembershipEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Makes the others know at once that this run is over. `isForGood`: the node leaves and nothing of it will be missed. */
  async close(isForGood = false): Promise<void> {
    await this.#beating.close();
    if (this.#epoch > 0) await this.#send(isForGood ? 'leave' : 'stop');
  }

  async #beat(): Promise<MembershipJoined> {
    const beat = await this.#send(this.#epoch === 0 ? 'join' : 'beat');
    if (beat === null) return UNREACHABLE;
    const joined = this.#accept(beat);
    if (joined.kind === 'fault' && !this.#beating.isClosed) {
      void this.#beating.close();
      this.#options.onReplaced?.(joined.detail);
    }
    return joined;
  }

  /** Sends a beat. What rows that no node has written say against it is passed over. */
  async #send(mode: Mode): Promise<Beat | null> {
    const beat = await this.#sendOnce(mode);
    if (beat === null) return null;
    this.#storeTime = { storeMs: beat.nowMs, ownMs: performance.now() };
    if (beat.status === 'full') {
      const forged = beat.rows.filter((row) => this.#read(row) === null).map(({ id }) => id);
      return forged.length === 0 ? beat : this.#sendOnce(mode, true, forged);
    }
    if (beat.status === 'id_taken' && this.#rivalIn(beat) === null) return this.#sendOnce(mode, true);
    // The first beat has no epoch, and the time of this machine's clock, by which other nodes may take this one for dead.
    if (beat.status === 'ok' && mode === 'join') {
      this.#epoch = beat.epoch;
      return (await this.#sendOnce('beat')) ?? beat;
    }
    return beat;
  }

  async #sendOnce(mode: Mode, isForced = false, removed: readonly string[] = []): Promise<Beat | null> {
    const { link, home, key, facts } = this.#options;
    const own = { run: this.run, epoch: this.#epoch, beat: ++this.#beats, state: STATE_OF[mode] };
    const said = { ...own, facts: facts(), atMs: this.storeNowMs, format: CLUSTER_FORMAT };
    const payload = encryptSaid(key, this.id, said);
    const args = [mode, this.id, String(this.#epoch), home, String(this.#goneMs), payload, isForced ? '1' : '0'];
    const beat = scriptCommand(BEAT_SCRIPT, [NODES_KEY, CLUSTER_KEY], [...args, ...removed]);
    const sent = await callStore(link, beat, readBeat, BEAT_DEADLINE_MS);
    return sent.kind === 'ok' ? sent.value : null;
  }

  /** Returns what another run says that has this node's id now; null if none does. */
  #rivalIn({ rows, nowMs }: Beat): Said | null {
    const row = rows.find(({ id }) => id === this.id);
    const said = row === undefined ? null : this.#read(row);
    if (said === null || said.run === this.run || !isFresh(said.atMs, nowMs, this.#goneMs)) return null;
    return this.#epoch === 0 || said.epoch > this.#epoch ? said : null;
  }

  #accept(beat: Beat): MembershipJoined {
    if (beat.status === 'id_taken') return this.#idTaken();
    if (beat.status === 'full') return FULL;
    const isOtherFormat = ({ format, atMs }: Said): boolean =>
      format !== CLUSTER_FORMAT && isFresh(atMs, beat.nowMs, this.#goneMs);
    const isFirst = this.#beatAtMs === Number.NEGATIVE_INFINITY;
    const others = isFirst ? beat.rows.map((row) => this.#read(row)) : [];
    if (others.some((said) => said !== null && isOtherFormat(said))) return OTHER_FORMAT;
    const nowMs = performance.now();
    const gapMs = nowMs - this.#beatAtMs;
    this.#beatAtMs = nowMs;
    if (gapMs > this.#goneMs / 2 && Number.isFinite(gapMs)) this.#observesSinceMs = nowMs;
    this.#epoch = beat.epoch;
    this.#apply(beat.rows, beat.nowMs);
    return { kind: 'ok' };
  }

  #apply(rows: readonly BeatRow[], nowMs: number): void {
    for (const row of rows) {
      if (row.id === this.id) continue;
      const said = this.#read(row);
      if (said === null) this.#refused++;
      else if (said.format === CLUSTER_FORMAT) this.#note(row, said, nowMs);
    }
    const sorted = [...this.#known].sort(([a], [b]) => (a < b ? -1 : 1));
    this.#known.clear();
    for (const [id, known] of sorted) {
      this.#setLive(known, this.#isLive(known), known.state !== 'up');
      const isForgotten = known.state === 'left' || nowMs - known.lastBeatMs > MISSING_MS;
      if (known.isLive || !isForgotten) this.#known.set(id, known);
      else if (known.hasLeft) this.#end(known);
    }
  }

  #note(row: BeatRow, said: Said, nowMs: number): void {
    const { id } = row;
    const { run, beat, state, atMs: lastBeatMs } = said;
    const known = this.#known.get(id);
    if (this.#former.get(id)?.has(run) === true || (known?.node.run === run && beat < known.beat)) {
      // The row of a node that left stays in the store.
      if (state !== 'left') this.#refused++;
      return;
    }
    const beforeMs = known?.node.run === run ? known.seenAtMs : Number.NEGATIVE_INFINITY;
    const seenAtMs = isFresh(lastBeatMs, nowMs, this.#goneMs) ? performance.now() : beforeMs;
    const hasLeft = state === 'left';
    if (known?.node.run !== run) {
      if (known !== undefined) {
        this.#setLive(known, false, state !== 'up');
        this.#end(known);
      }
      const node = { ...said.facts, id, run, epoch: epochOf(row, said) };
      this.#known.set(id, { node, state, beat, lastBeatMs, seenAtMs, hasLeft, isLive: false });
    } else if (beat > known.beat) Object.assign(known, { state, beat, lastBeatMs, seenAtMs, hasLeft });
    // The command line has no heartbeat to prove it with: it counts for a node that is silent anyway.
    else if (row.state === 'left' && !this.#isLive(known)) known.state = 'left';
  }

  /** Notes that this run never comes back. */
  #end({ node: { id, run } }: Known): void {
    const former = (this.#former.get(id) ?? new Set()).add(run);
    const [oldest = ''] = former.size > FORMER_MAX ? former : [];
    former.delete(oldest);
    this.#former.set(id, former);
  }

  /** No node is seen while the store is away, so silence counts only from this node's first beat after an outage. */
  #isLive({ state, seenAtMs, isLive }: Known): boolean {
    if (state !== 'up') return false;
    const sinceMs = isLive ? Math.max(seenAtMs, this.#observesSinceMs) : seenAtMs;
    return performance.now() - sinceMs <= this.#goneMs;
  }

  #setLive(known: Known, isLive: boolean, isOrderly: boolean): void {
    if (known.isLive === isLive) return;
    known.isLive = isLive;
    const { node } = known;
    const event: MembershipEvent = isLive ? { kind: 'appeared', node } : { kind: 'gone', node, isOrderly };
    for (const listener of this.#listeners) listener(event);
  }

  /** Returns what the node of a row says; null if no node has written it. */
  #read({ id, payload }: BeatRow): Said | null {
    return decryptSaid(this.#options.key, id, payload);
  }

  #idTaken(): MembershipJoined {
    const detail = `another node with the id ${this.id} is running; give each node a GATEHOUSE_NODE_ID of its own`;
    return { kind: 'fault', code: 'id_taken', detail };
  }
}

const STATE_OF: Readonly<Record<Mode, NodeState>> = { join: 'up', beat: 'up', stop: 'stopped', leave: 'left' };

const UNREACHABLE: MembershipJoined = {
  kind: 'fault',
  code: 'unreachable',
  detail: 'the store of the cluster does not answer',
};

const OTHER_FORMAT: MembershipJoined = {
  kind: 'fault',
  code: 'other_format',
  detail: 'the nodes of this cluster store another format; run the same version on all nodes',
};
const FULL: MembershipJoined = {
  kind: 'fault',
  code: 'full',
  detail: 'the cluster has 256 nodes, which is the most it can have',
};

function epochOf(row: BeatRow, said: Said): number {
  return said.epoch === 0 ? row.epoch : said.epoch;
}
