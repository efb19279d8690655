import type { ChangeFormats } from '../../state/feed/change-formats.ts';
import type { Command, Link, Reply, Sent } from '../store/link.ts';
import { GONE_MS } from '../nodes/membership.ts';
import { type ChainPosition, isLater } from './change-chain.ts';
import { REPLICAS_KEY, WANTED_KEY } from './feed-keys.ts';
import { readSigned, recordPlace, recordsOf, signRecord, textOfSigned } from '../log/signed-record.ts';
import { readWantedCopies, type WantedCopies } from '../log/table-copies.ts';
import { callStore, readStoreTime, STORE_DEADLINE_MS, timeCommand, timeOf } from '../store/store-calls.ts';

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
  readonly onReported: (wanted: WantedCopies) => void;
  readonly reportMs?: number;
}

/** The copies of all nodes: each reports twice a second how far it is. Who is alive is computed from the store's clock. */
export class Replicas {
  readonly #parts: ReplicasParts;
  #all: readonly Replica[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;
  #reporting: Promise<boolean> | null = null;
  /** Difference of the store's clock to this machine's, ms. */
  #aheadMs = 0;

  constructor(parts: ReplicasParts) {
    this.#parts = parts;
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
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#reporting;
    const { link, id } = this.#parts;
    await link.send([{ key: REPLICAS_KEY, args: ['HDEL', REPLICAS_KEY, id] }], STORE_DEADLINE_MS);
  }

  /** Reports this node's present state, and reads the reports of the others. Returns whether the store stored it. */
  async report(): Promise<boolean> {
    // A report in progress may have an earlier state.
    await this.#reporting;
    this.#reporting ??= this.#report().finally(() => {
      this.#reporting = null;
    });
    return this.#reporting;
  }

  /** Reads what the others reported, and reports nothing. */
  async read(): Promise<boolean> {
    const { link, key } = this.#parts;
    const [all, time] = await link.send(
      [{ key: REPLICAS_KEY, args: ['HGETALL', REPLICAS_KEY] }, timeCommand(REPLICAS_KEY)],
      STORE_DEADLINE_MS,
    );
    if (all?.kind !== 'reply' || time?.kind !== 'reply') return false;
    this.#aheadMs = timeOf(time.reply) - Date.now();
    this.#all = replicasOf(all.reply, (at, value) => readSigned(key, recordPlace(REPLICAS_KEY, at), value));
    return true;
  }

  /** All nodes that reported within `GONE_MS`, this one included, in the order of their ids. */
  live(): readonly Replica[] {
    const sinceMs = this.storeNowMs - GONE_MS;
    return this.#all.filter(({ id, atMs }) => atMs >= sinceMs || id === this.#parts.id);
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
    const { link, id, key, facts } = this.#parts;
    const text = JSON.stringify({ ...facts(), atMs: Math.round(this.storeNowMs) });
    const record = signRecord(key, recordPlace(REPLICAS_KEY, id), text);
    const commands: readonly Command[] = [
      { key: REPLICAS_KEY, args: ['HSET', REPLICAS_KEY, id, record] },
      { key: REPLICAS_KEY, args: ['HGETALL', REPLICAS_KEY] },
      { key: WANTED_KEY, args: ['HGETALL', WANTED_KEY] },
      timeCommand(REPLICAS_KEY),
    ];
    const sentAtMs = Date.now();
    const [stored, all, wanted, time] = await link.send(commands, STORE_DEADLINE_MS);
    await freeTypes(link, { [REPLICAS_KEY]: stored, [WANTED_KEY]: wanted });
    if (stored?.kind !== 'reply' || all?.kind !== 'reply' || wanted?.kind !== 'reply' || time?.kind !== 'reply') {
      return false;
    }
    const before = this.#aheadMs;
    this.#aheadMs = timeOf(time.reply) - (sentAtMs + Date.now()) / 2;
    this.#all = replicasOf(all.reply, (at, value) => readSigned(key, recordPlace(REPLICAS_KEY, at), value));
    // The first report of a node has its own clock, which may be far off.
    if (Math.abs(before - this.#aheadMs) > REPORT_MS && !isRepeated) return this.#report(true);
    this.#parts.onReported(readWantedCopies(key, WANTED_KEY, wanted.reply));
    return true;
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(
      () => void this.report().finally(() => this.#schedule()),
      this.#parts.reportMs ?? REPORT_MS,
    );
  }
}

/** States in which a node maintains the stream, and those in which it sends snapshots. */
const GOES_ON: readonly string[] = ['current', 'catching-up', 'mending'];
const SENDING_STATES: readonly string[] = ['current', 'catching-up'];

/** Reads the reports of all nodes as they are shown, dead ones included, in the order of their ids. Nobody has proved them. */
export async function readReplicas(link: Link): Promise<readonly Replica[] | null> {
  const all = { key: REPLICAS_KEY, args: ['HGETALL', REPLICAS_KEY] };
  const shown = await callStore(link, all, (reply) => replicasOf(reply, (_id, value) => shownText(value)));
  return shown.kind === 'ok' ? shown.value : null;
}

export async function readStoreClock(link: Link): Promise<number | null> {
  const time = await readStoreTime(link, REPLICAS_KEY);
  return time.kind === 'ok' ? time.value : null;
}

/** Removes keys that another client has overwritten with a value of another type. */
async function freeTypes(link: Link, sent: Readonly<Record<string, Sent | undefined>>): Promise<void> {
  for (const [key, one] of Object.entries(sent)) {
    if (one?.kind === 'fault' && one.detail.includes('WRONGTYPE'))
      await link.send([{ key, args: ['DEL', key] }], STORE_DEADLINE_MS);
  }
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
