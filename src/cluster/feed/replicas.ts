import type { ChangeFormats } from '../../state/change-formats.ts';
import type { Command, Link, Reply } from '../link.ts';
import { REPLICAS_KEY, WANTED_KEY } from './feed-keys.ts';
import { askTime, FEED_DEADLINE_MS, listOf, textOf, timeCommand, timeOf } from './feed-store.ts';

/** What a node tells the others about its copy of the data. */
export interface ReplicaFacts {
  readonly cluster: string;
  /** Number of the last change that it has applied. */
  readonly number: number;
  /** `current`, `catching-up`, `loading`, `stopped` or `away`. */
  readonly state: string;
  /** Why it does not apply changes; empty if it does. */
  readonly detail: string;
  /** The worst of the last changes: from the append to the application, ms. */
  readonly lagMs: number;
  /** Version of the build. */
  readonly version: string;
  /** Kind of change → newest version that it reads. */
  readonly formats: Readonly<Record<string, number>>;
  readonly startedAtMs: number;
}

export interface Replica extends ReplicaFacts {
  readonly id: string;
  /** Time of the last report, Unix ms, on the store's clock. */
  readonly atMs: number;
}

/** A request for a snapshot. */
export interface Wanted {
  readonly id: string;
  /** On the store's clock, Unix ms. */
  readonly atMs: number;
  /** Version of the tables that the node reads. */
  readonly tables: number;
}

/** Choice: a node that has not reported for so long is dead, as for the membership. */
export const LIVE_MS = 5_000;
const REPORT_MS = 500;
/** Choice: as much as clocks of nodes may differ for request ids. */
const AHEAD_MS_MAX = 60_000;

export interface ReplicasParts {
  readonly link: Link;
  readonly id: string;
  readonly formats: ChangeFormats;
  readonly facts: () => ReplicaFacts;
  /** Called after each report that the store took. */
  readonly onReported: (wanted: readonly Wanted[]) => void;
  readonly reportMs?: number;
}

/** The copies of all nodes: each reports twice a second how far it is. Who is alive is computed from the store's clock. */
export class Replicas {
  readonly #parts: ReplicasParts;
  #all: readonly Replica[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;
  #reporting: Promise<boolean> | null = null;
  /** What is added to this machine's clock for the store's. */
  #aheadMs = 0;

  constructor(parts: ReplicasParts) {
    this.#parts = parts;
  }

  /** The store's clock as of the last report, Unix ms. Error: half a round trip. */
  get storeNowMs(): number {
    return Date.now() + this.#aheadMs;
  }

  /** Whether this machine's clock is so far ahead of the store's that rows would expire too early by it. */
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
    await link.send([{ key: REPLICAS_KEY, args: ['HDEL', REPLICAS_KEY, id] }], FEED_DEADLINE_MS);
  }

  /** Reports what is so now, and reads what the others reported. Returns whether the store took it. */
  async report(): Promise<boolean> {
    // One that is on its way may tell what was so before.
    await this.#reporting;
    this.#reporting ??= this.#report().finally(() => {
      this.#reporting = null;
    });
    return this.#reporting;
  }

  /** All nodes that reported within `LIVE_MS`, this one included, in the order of their ids. */
  live(): readonly Replica[] {
    const sinceMs = this.storeNowMs - LIVE_MS;
    return this.#all.filter(({ id, atMs }) => atMs >= sinceMs || id === this.#parts.id);
  }

  /** Whether this node does what one node does for all: the first of the live ones that apply changes. */
  get isKeeper(): boolean {
    const able = this.live().find(({ state }) => state === 'current' || state === 'catching-up');
    return able === undefined || able.id === this.#parts.id;
  }

  /** The newest version of a kind that all live nodes know; 0 if one does not know the kind. */
  commonVersion(kind: string): number {
    const own = this.#parts.formats[kind]?.version ?? 0;
    return this.live().reduce((lowest, { id, formats }) => {
      return id === this.#parts.id ? lowest : Math.min(lowest, formats[kind] ?? 0);
    }, own);
  }

  async #report(): Promise<boolean> {
    const { link, id, facts } = this.#parts;
    const record = JSON.stringify({ ...facts(), atMs: Math.round(this.storeNowMs) });
    const commands: readonly Command[] = [
      { key: REPLICAS_KEY, args: ['HSET', REPLICAS_KEY, id, record] },
      { key: REPLICAS_KEY, args: ['HGETALL', REPLICAS_KEY] },
      { key: WANTED_KEY, args: ['HGETALL', WANTED_KEY] },
      timeCommand(REPLICAS_KEY),
    ];
    const sentAtMs = Date.now();
    const [stored, all, wanted, time] = await link.send(commands, FEED_DEADLINE_MS);
    if (stored?.kind !== 'reply' || all?.kind !== 'reply' || wanted?.kind !== 'reply' || time?.kind !== 'reply') {
      return false;
    }
    const before = this.#aheadMs;
    this.#aheadMs = timeOf(time.reply) - (sentAtMs + Date.now()) / 2;
    this.#all = replicasOf(all.reply);
    // The first report of a node has its own clock, which may be far off.
    if (Math.abs(before - this.#aheadMs) > REPORT_MS) return this.#report();
    this.#parts.onReported(wantedOf(wanted.reply));
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

/** Reads the reports of all nodes, dead ones included, in the order of their ids. */
export async function readReplicas(link: Link): Promise<readonly Replica[] | null> {
  const [sent] = await link.send([{ key: REPLICAS_KEY, args: ['HGETALL', REPLICAS_KEY] }], FEED_DEADLINE_MS);
  return sent?.kind === 'reply' ? replicasOf(sent.reply) : null;
}

export async function readStoreClock(link: Link): Promise<number | null> {
  const time = await askTime(link, REPLICAS_KEY);
  return time.kind === 'ok' ? time.value : null;
}

function replicasOf(reply: Reply): readonly Replica[] {
  return recordsOf(reply)
    .flatMap(([id, record]) => ('cluster' in record && 'number' in record ? [{ ...(record as Replica), id }] : []))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

function wantedOf(reply: Reply): readonly Wanted[] {
  return recordsOf(reply).flatMap(([, record]) => ('id' in record && 'atMs' in record ? [record as Wanted] : []));
}

function recordsOf(reply: Reply): readonly (readonly [id: string, record: object])[] {
  const all = listOf(reply);
  const records: (readonly [string, object])[] = [];
  for (let at = 0; at + 1 < all.length; at += 2) {
    const record = parse(textOf(all[at + 1]));
    if (record !== null) records.push([textOf(all[at]), record]);
  }
  return records;
}

function parse(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
