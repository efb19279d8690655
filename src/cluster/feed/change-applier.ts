import { unreachable } from '../../kernel/brand.ts';
import type { Origin } from '../../ports/change-feed.ts';
import type { Environment } from '../../state/tables/environment.ts';
import { apply, applying } from '../../state/feed/apply.ts';
import { countRecord, makeRoomForRecord } from '../../state/feed/apply/audit-record.ts';
import { batchEntry, countNew, prepareBatchInSlices } from '../../state/feed/apply/lists.ts';
import type { Change, ChangeOf, ErasedRows } from '../../state/feed/changes.ts';
import {
  committed,
  fault,
  messageOf,
  type StoreFault,
  type Written,
  writtenInSteps,
} from '../../state/tables/durable.ts';
import type { FeedPositions } from '../../state/feed/feed-position.ts';
import type { RevocationFile } from '../../state/feed/revocations.ts';
import type { StateBounds, StateTables } from '../../state/tables/state-tables.ts';
import { Slices, type Turns } from '../../state/tables/turns.ts';

/** A change of the stream, decrypted. */
export interface Arrived {
  readonly term: number;
  readonly number: number;
  readonly token: string;
  readonly atMs: number;
  readonly change: Change;
  readonly origin: Origin;
}

export interface ApplierParts {
  readonly root: Environment;
  readonly tables: StateTables;
  readonly revocations: RevocationFile;
  readonly positions: FeedPositions;
  readonly turns: Turns;
  readonly bounds: StateBounds;
  readonly cluster: string;
}

/** Some changes that became visible together. */
export interface Applied {
  readonly kind: 'ok';
  /** In the order of the changes. */
  readonly outcomes: readonly unknown[];
  /** Resolves when they are on the disk. */
  readonly durable: Promise<StoreFault | null>;
}

/** Choice: as `LmdbFeed`: a longer batch is written in steps, by the library's own thread. */
const BATCH_ENTRIES_AT_ONCE = 50;
/**
 * Choice: how long a transaction of several changes may hold the thread, which happens only when more changes wait than are applied.
 * Measured: with 0.3 ms a node falls seconds behind 64 commits at a time (700 changes/s); with 2 ms it keeps up (2,000/s, lag p99 59 ms).
 */
const GROUP_MS = 2;
const WEIGHT_MAX = 32;

/** Applies changes of the stream to this node's tables, each once, together with its position. */
export class ChangeApplier {
  readonly #parts: ApplierParts;
  readonly #slices: Slices;

  constructor(parts: ApplierParts) {
    this.#parts = parts;
    this.#slices = new Slices(parts.turns);
  }

  /**
   * Applies the first of the changes, as many as one transaction should hold, and resolves when they are visible. After a fault none of
   * them is applied. Calls must not overlap.
   */
  async applySome(changes: readonly Arrived[]): Promise<Applied | StoreFault> {
    await this.#slices.begin();
    const [first] = changes;
    if (first === undefined) return { kind: 'ok', outcomes: [], durable: Promise.resolve(null) };
    const group = groupOf(changes);
    const unready = this.#revokeInFile(group);
    if (unready !== null) return unready;
    if (isLong(first.change)) return this.#applyBatch(first, first.change);
    const applied = await this.#applyGroup(group);
    if (applied.kind === 'ok' || group.length === 1 || applied.code === 'store_stuck') return applied;
    // One of them fails: those before it are applied.
    return this.#applyGroup([first]);
  }

  #applyGroup(group: readonly Arrived[]): Promise<Applied | StoreFault> {
    const { root, tables, bounds } = this.#parts;
    const applyAll = (): readonly unknown[] => {
      const outcomes: unknown[] = [];
      const endMs = performance.now() + GROUP_MS;
      for (const { change, origin } of group) {
        outcomes.push(apply(tables, change, origin, bounds));
        if (performance.now() > endMs) break;
      }
      this.#putPosition(group[outcomes.length - 1]);
      return outcomes;
    };
    // If one throws, nothing of any stays, which an outer transaction alone does not guarantee.
    const write = async (): Promise<readonly unknown[]> =>
      await root.transaction(() => root.childTransaction(applyAll));
    return settled(writtenInSteps(root, write));
  }

  /**
   * The same as `apply` in steps that never hold the thread for long. Room in the audit log is made in an earlier transaction; if the
   * process ends between the two, that room is found already made.
   */
  async #applyBatch(arrived: Arrived, change: ChangeOf<'list.batch'>): Promise<Applied | StoreFault> {
    const { root, tables, bounds } = this.#parts;
    const { customer } = change;
    const at = applying(tables, arrived.origin, bounds);
    const { rows, unseen, puts } = await prepareBatchInSlices(at, change, this.#slices);
    const entry = batchEntry(puts);
    const isFull = hasNoRoom(at.tables, bounds, customer, unseen);
    if (entry !== null && !isFull) {
      const made = await committed(root, () => makeRoomForRecord(at, customer));
      if (made.kind === 'fault') return made;
    }
    const write = async (): Promise<readonly unknown[]> => {
      await root.batch(() => {
        this.#putPosition(arrived);
        if (isFull) return;
        countNew(at, customer, unseen);
        // If the write fails, every put rejects with the same error as the batch.
        for (const row of rows) tables.lists.putRow(row).catch(() => {});
        if (entry !== null) tables.audit.putRow(countRecord(at, customer, entry)).catch(() => {});
      });
      return [isFull ? 'limit_reached' : puts];
    };
    return settled(writtenInSteps(root, write));
  }

  #putPosition(arrived: Arrived | undefined): void {
    if (arrived === undefined) return;
    const { positions, cluster } = this.#parts;
    const { term, number, token } = arrived;
    positions.put({ cluster, term, number, last: token, isLoading: false });
  }

  /** Revocations are synced to their file before they are applied, as `LmdbFeed` does. */
  #revokeInFile(group: readonly Arrived[]): StoreFault | null {
    const { tables, revocations } = this.#parts;
    const created = new Set<string>();
    const revoked: (readonly [string, number])[] = [];
    for (const { change, origin } of group) {
      if (change.kind === 'key.created' || change.kind === 'key.granted')
        for (const { hash } of change.keys) created.add(hash);
      for (const [hash, atSeconds] of revocationsOf(change, origin)) {
        const key = tables.apiKeys.find(hash);
        if (created.has(hash) || (key !== null && key.revokedAtSeconds === null)) revoked.push([hash, atSeconds]);
      }
    }
    try {
      revocations.append(revoked);
      return null;
    } catch (error) {
      return fault('store_write_failed', `the revocation could not be written: ${messageOf(error)}`);
    }
  }
}

async function settled({ visible, durable }: Written<readonly unknown[]>): Promise<Applied | StoreFault> {
  const write = await visible;
  if (write.kind === 'fault') return write;
  return {
    kind: 'ok',
    outcomes: write.value,
    durable: durable.then((flushed) => (flushed.kind === 'fault' ? flushed : null)),
  };
}

/** Returns the changes that go into one transaction. */
function groupOf(changes: readonly Arrived[]): readonly Arrived[] {
  const group: Arrived[] = [];
  let weight = 0;
  for (const arrived of changes) {
    weight += weightOf(arrived.change);
    if (group.length > 0 && (weight > WEIGHT_MAX || isLong(arrived.change))) break;
    group.push(arrived);
    if (isLong(arrived.change)) break;
  }
  return group;
}

function isLong(change: Change): change is ChangeOf<'list.batch'> {
  return change.kind === 'list.batch' && change.entries.length > BATCH_ENTRIES_AT_ONCE;
}

/** Choice: an imported row takes a tenth of a change with an audit entry. */
function weightOf(change: Change): number {
  switch (change.kind) {
    case 'list.batch':
      return change.entries.length;
    case 'registry.imported':
      return 1 + change.entries.length / 10;
    case 'rows.expired':
      return 1 + change.keys.length / 10;
    case 'named_list.items':
      return change.items.length;
    case 'sightings.noted':
      return change.seen.length;
    case 'reviews.queued':
      return change.rows.length;
    case 'erasure.rows':
      return sizeOfErasedRows(change.rows);
    case 'keys.revoked_again':
      return change.revocations.length;
    case 'customer.created':
    case 'customer.changed':
    case 'customer.deleted':
    case 'key.created':
    case 'key.granted':
    case 'key.revoked':
    case 'key.replaced':
    case 'list.put':
    case 'list.removed':
    case 'registry.removed':
    case 'model.chosen':
    case 'label.set':
    case 'review.judged':
    case 'review.changed':
    case 'webhook.created':
    case 'webhook.changed':
    case 'webhook.removed':
    case 'webhook.rotated':
    case 'webhook.health':
    case 'rule.put':
    case 'rule.removed':
    case 'named_list.put':
    case 'named_list.removed':
    case 'erasure.requested':
    case 'person.exported':
    case 'erasure.finished':
    case 'watch.created':
    case 'watch.changed':
    case 'watch.removed':
    case 'watch.begun':
    case 'watch.taken':
    case 'watch.ended':
      return 1;
    case 'watch.compared':
      return change.findings.length;
    default:
      return unreachable(change);
  }
}

function sizeOfErasedRows({ lists, namedItems, versions, notes, audit }: ErasedRows): number {
  return 1 + lists.length + namedItems.length + versions.length + notes.length + audit.length;
}

function revocationsOf(change: Change, { nowMs }: Origin): readonly (readonly [hash: string, atSeconds: number])[] {
  if (change.kind === 'key.revoked') return [[change.hash, Math.floor(nowMs / 1000)]];
  return change.kind === 'keys.revoked_again' ? change.revocations : [];
}

function hasNoRoom(
  { lists, rowCounters }: StateTables,
  { listEntries }: StateBounds,
  customer: ChangeOf<'list.batch'>['customer'],
  unseen: readonly Buffer[],
): boolean {
  const added = unseen.filter((key) => !lists.hasRow(key)).length;
  return added > 0 && added > listEntries - rowCounters.get('lists', customer);
}
