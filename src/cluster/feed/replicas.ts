import type { ChangeFormats } from '../../state/feed/change-formats.ts';
import type { Command, Link, Reply } from '../store/link.ts';
import { isFresh } from '../nodes/membership.ts';
import { type ChainPosition, isLater } from './change-chain.ts';
import { REPLICAS_KEY } from './feed-keys.ts';
import { readSigned, recordPlace, recordsOf, signRecord, textOfSigned } from '../log/signed-record.ts';
import { RepeatedCall } from '../store/repeated-call.ts';
import { freeType, STORE_DEADLINE_MS, timeCommand, timeOf } from '../store/store-calls.ts';

/** Report of a node about its copy of the data. */
export interface ReplicaFacts {
  readonly cluster: string;
  /** How often the stream had been founded on the way to that change. */
  readonly term: number;
  /** Number of the last change that it has applied. */
  readonly number: number;
  /** `current`, `catching-up`, `mending`, `loading`, `stopped` or `away`. */
  readonly state: string;
  /** Why it does not apply changes; empty if it does. */
  readonly detail: string;
  /** The worst of the last changes: from the append to the application, ms. */
  readonly lagMs: number;
  /** Version of the build. */
  readonly version: string;
  /** Kind of change → newest version that it reads. */
  readonly formats: Readonly<Record<string, number>>;
  /** Version of its tables: it sends snapshots to nodes with the same. */
  readonly tables: number;
  readonly startedAtMs: number;
}

export interface Replica extends ReplicaFacts {
  readonly id: string;
  /** Time of the last report, Unix ms, on the store's clock. */
  readonly atMs: number;
}

export const REPORT_MS = 500;
/** Choice: as much as clocks of nodes may differ for request ids. */
const AHEAD_MS_MAX = 60_000;

export interface ReplicasParts {
  readonly link: Link;
  readonly id: string;
  /** Proves the reports. */
  readonly key: Buffer;
  readonly formats: ChangeFormats;
  readonly facts: () => ReplicaFacts;
  /** Called after each report that the store took. */
  readonly onReported: () => void;
  readonly reportMs?: number;
}

/** The copies of all nodes: each reports twice a second how far it is. Who is alive is computed from the store's clock. */
export class Replicas {
  readonly #parts: ReplicasParts;
  readonly #reporting: RepeatedCall<boolean>;
  #all: readonly Replica[] = [];
  /** Difference of the store's clock to this machine's, ms. */
  #aheadMs = 0;

  constructor(parts: ReplicasParts) {
    this.#parts = parts;
    this.#reporting = new RepeatedCall(parts.reportMs ?? REPORT_MS, () => this.#report());
  }

  /** The store's clock as of the last report, Unix ms. Error: half a round trip. */
  get storeNowMs(): number {
    return Date.now() + this.#aheadMs;
  }

  /** True if this machine's clock is so far ahead of the store's that rows would expire too early by it. */
  get isAhead(): boolean {
    return -this.#aheadMs > AHEAD_MS_MAX;
  }

  start(): void {
    this.#reporting.start();
  }

  async stop(): Promise<void> {
    await this.#reporting.close();
    const { link, id } = this.#parts;
    await link.send([{ key: REPLICAS_KEY, args: ['HDEL', REPLICAS_KEY, id] }], STORE_DEADLINE_MS);
  }

  /** Reports this node's present state, and reads the reports of the others. Returns whether the store stored it. */
  report(): Promise<boolean> {
    return this.#reporting.again();
  }

  /** Reads what the others reported, and reports nothing. */
  read(): Promise<boolean> {
    return this.#exchange([]);
  }

  /** All nodes that reported within `GONE_MS`, this one included, in the order of their ids. */
  live(): readonly Replica[] {
    return this.#all.filter(({ id, atMs }) => isFresh(atMs, this.storeNowMs) || id === this.#parts.id);
  }

  /** Returns whether this node does the work of one node for all: the first of the live ones that apply changes. */
  get isKeeper(): boolean {
    const able = this.live().find(({ state }) => state === 'current' || state === 'catching-up');
    return able === undefined || able.id === this.#parts.id;
  }

  /** Returns whether another node is alive, of this cluster or of any. */
  isAlive(cluster: string | null): boolean {
    return this.live().some((one) => one.id !== this.#parts.id && (cluster === null || one.cluster === cluster));
  }

  /** Returns whether no other live node is ahead of this position, or equally far, able to continue, and of a lower id. */
  isFurthest(cluster: string, position: ChainPosition): boolean {
    return this.#others(cluster).every((other) => {
      if (isLater(other, position)) return false;
      return isLater(position, other) || !GOES_ON.includes(other.state) || this.#parts.id < other.id;
    });
  }

  /** Returns whether another live node is later than this position, and can send a snapshot. */
  hasLater(cluster: string, position: ChainPosition, tables: number): boolean {
    return this.#others(cluster).some(
      (other) => isLater(other, position) && SENDING_STATES.includes(other.state) && other.tables === tables,
    );
  }

  /** The newest version of a kind that all live nodes know; 0 if one does not know the kind. */
  commonVersion(kind: string): number {
    const own = this.#parts.formats[kind]?.version ?? 0;
    return this.live().reduce((lowest, { id, formats }) => {
      return id === this.#parts.id ? lowest : Math.min(lowest, formats[kind] ?? 0);
    }, own);
  }

  #others(cluster: string): readonly Replica[] {
    const { id } = this.#parts;
    return this.live().filter((one) => one.id !== id && one.cluster === cluster && one.state !== 'loading');
  }

  async #report(isRepeated = false): Promise<boolean> {
    const { id, key, facts, onReported } = this.#parts;
    const text = JSON.stringify({ ...facts(), atMs: Math.round(this.storeNowMs) });
    const record = signRecord(key, recordPlace(REPLICAS_KEY, id), text);
    const before = this.#aheadMs;
    if (!(await this.#exchange([{ key: REPLICAS_KEY, args: ['HSET', REPLICAS_KEY, id, record] }]))) return false;
    // The first report of a node has its own clock, which may be far off.
    if (Math.abs(before - this.#aheadMs) > REPORT_MS && !isRepeated) return this.#report(true);
    onReported();
    return true;
  }

  /** Writes, and reads the reports of all nodes and the store's clock. */
  async #exchange(own: readonly Command[]): Promise<boolean> {
    const { link, key } = this.#parts;
    const sentAtMs = Date.now();
    const sent = await link.send([...own, ...READ_ALL], STORE_DEADLINE_MS);
    await freeType(link, REPLICAS_KEY, sent[0]);
    const [time, all, stored] = sent.toReversed();
    if (time?.kind !== 'reply' || all?.kind !== 'reply' || stored?.kind === 'fault') return false;
    this.#aheadMs = timeOf(time.reply) - (sentAtMs + Date.now()) / 2;
    this.#all = replicasOf(all.reply, (at, value) => readSigned(key, recordPlace(REPLICAS_KEY, at), value));
    return true;
  }
}

/** States in which a node maintains the stream, and those in which it sends snapshots. */
const GOES_ON: readonly string[] = ['current', 'catching-up', 'mending'];
const SENDING_STATES: readonly string[] = ['current', 'catching-up'];

const READ_ALL: readonly Command[] = [
  { key: REPLICAS_KEY, args: ['HGETALL', REPLICAS_KEY] },
  timeCommand(REPLICAS_KEY),
];

export interface ShownReplica extends Replica {
  readonly isLive: boolean;
  readonly reportedMsAgo: number;
}

/** Reads the reports of all nodes as they are shown, dead ones included, in the order of their ids. Nobody has proved them. */
export async function readReplicas(link: Link): Promise<readonly ShownReplica[] | null> {
  const [all, time] = await link.send(READ_ALL, STORE_DEADLINE_MS);
  if (all?.kind !== 'reply' || time?.kind !== 'reply') return null;
  const nowMs = timeOf(time.reply);
  return replicasOf(all.reply, (_id, value) => shownText(value)).map((replica) => ({
    ...replica,
    isLive: isFresh(replica.atMs, nowMs),
    reportedMsAgo: Math.max(0, Math.round(nowMs - replica.atMs)),
  }));
}

/** Nodes of feed format 1 did not sign. */
function shownText(value: string): string {
  return value.startsWith('{') ? value : textOfSigned(value);
}

function replicasOf(reply: Reply, read: Parameters<typeof recordsOf>[1]): readonly Replica[] {
  return recordsOf(reply, read)
    .flatMap(([id, record]) => ('cluster' in record && 'number' in record ? [{ ...(record as Replica), id }] : []))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}
