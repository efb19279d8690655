import type { CustomerNumber, FingerprintHash } from '../../kernel/brand.ts';
import { problem, type FieldError } from '../../contract/problem.ts';
import { QUERIES } from '../../contract/routes.ts';
import type { Committer } from '../../state/feed/changes.ts';
import type { StoreWrite } from '../../state/tables/durable.ts';
import type { ListEntryChange, ListEntry, ListPut, Lists } from '../../state/tables/list-table.ts';
import type { Slices } from '../../state/tables/turns.ts';
import { LIST_ENTRIES_PER_CUSTOMER_MAX } from '../../kernel/limits.ts';
import { codeOfListKind, type ListKeys, shownListValue } from '../../risk/lists/list-key.ts';
import { isIdentityKind } from '../../risk/lists/list-kind.ts';
import { listChangeOf } from '../../state/tables/list-change.ts';
import type { Validated } from '../../contract/validate.ts';
import { BUSY } from '../busy.ts';
import { readQuery } from '../query.ts';
import { originOf } from '../kit/actor.ts';
import { AnswerPieces } from '../kit/response-pieces.ts';
import type { BatchParts, BatchRow, GivenEntry } from '../kit/body-readers.ts';
import type { AnyRequest, EndpointResponse, EndpointHandler } from '../kit/endpoint-types.ts';
import { blastFields, type BlastParts, readBlast, unconfirmed } from './list-blast.ts';
import { showEntry, type ListViewParts } from './list-view.ts';

/** Dependencies of the writes to a customer's own lists. */
export interface ListWriteParts extends ListViewParts, BlastParts {
  readonly lists: Lists;
  readonly changes: Committer;
  readonly listKeys: ListKeys;
  /** Returns whether the customer's policy keeps identities as they are. */
  readonly keepsIdentities: (customer: CustomerNumber) => boolean;
  /** Returns the number of the customer's rows, with expired ones that were not removed yet. */
  readonly entriesOf: (customer: CustomerNumber) => number;
  /**
   * Called when a customer wrote these as `block` and the write is on disk. The callee decides what a block means to the registry. The
   * end of a block is never reported: removing an entry does not change the registry (contract, 7.3).
   */
  readonly onBlocked: (
    customer: CustomerNumber,
    fingerprintHashes: readonly FingerprintHash[],
    nowSeconds: number,
    slices: Slices,
  ) => Promise<StoreWrite<unknown>>;
}

export class ListWrites {
  readonly #parts: ListWriteParts;

  constructor(parts: ListWriteParts) {
    this.#parts = parts;
  }

  readonly add: EndpointHandler<Validated<GivenEntry>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const given = read.value;
    const { customer } = request.caller;
    const blast = await readBlast(this.#parts, request, [given.target]);
    const held = blast === null ? null : unconfirmed(given, blast.shareOf(0));
    if (held !== null) return held;
    const entry = this.#changesOf(customer)(given);
    const written = await this.#parts.changes.commit({ kind: 'list.put', customer, entry }, originOf(request));
    if (written.kind === 'fault') return written;
    if (written.value === 'limit_reached') return LIMIT_REACHED;
    const reported = await this.#report(request, [written.value]);
    if (reported.kind === 'fault') return reported;
    const { created, entry: stored } = written.value;
    const about = { target: given.target, fingerprintHash: entry.fingerprintHash, at: 0 };
    return {
      kind: 'json',
      status: created ? 201 : 200,
      body: { ...showEntry(this.#parts, stored, request), ...blastFields(this.#parts, about, blast, request) },
    };
  };

  readonly addMany: EndpointHandler<Validated<BatchParts>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const { slices } = request;
    const query = readQuery(request.query, QUERIES.putEntries);
    if (query.kind === 'problem') return query;
    const rows: BatchRow[] = [];
    for (const part of read.value) {
      rows.push(...(JSON.parse(part) as readonly BatchRow[]));
      if (slices.isOver) await slices.begin();
    }
    if (query.value.dry_run) return this.#tryMany(rows, request);
    const { customer } = request.caller;
    const changeOf = this.#changesOf(customer);
    const entries = rows.flatMap(({ change }) => (change.kind === 'ok' ? [changeOf(change.value)] : []));
    const batch = { kind: 'list.batch', customer, entries } as const;
    const written = await this.#parts.changes.commit(batch, originOf(request), { slices });
    if (written.kind === 'fault') return written;
    if (written.value === 'limit_reached') return LIMIT_REACHED;
    const reported = await this.#report(request, written.value);
    if (reported.kind === 'fault') return reported;
    const puts = written.value.values();
    const pieces = new AnswerPieces(slices);
    await pieces.add('{"results":[');
    for (const [at, row] of rows.entries()) {
      if (at > 0) pieces.put(',');
      const put = row.change.kind === 'ok' ? puts.next().value : undefined;
      await pieces.add(JSON.stringify(put === undefined ? refused(row) : this.#written(row, put, request)));
    }
    await pieces.add(']}');
    return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: pieces.done() };
  };

  #written({ change }: BatchRow, { created, entry }: ListPut, request: AnyRequest): Record<string, unknown> {
    if (change.kind === 'problem') return {};
    const about = { target: change.value.target, fingerprintHash: entry.fingerprintHash, at: 0 };
    return {
      ...subjectOf(entry),
      status: created ? 201 : 200,
      ...blastFields(this.#parts, about, null, request),
    };
  }

  /** Returns what the batch would change. Entries that expire meanwhile, and other writes, can make a difference. */
  async #tryMany(rows: readonly BatchRow[], request: AnyRequest): Promise<EndpointResponse> {
    const { customer } = request.caller;
    const targets = rows.flatMap(({ change }) => (change.kind === 'ok' ? [change.value.target] : []));
    const blast = await readBlast(this.#parts, request, targets);
    if (blast === null) return BUSY;
    const pieces = new AnswerPieces(request.slices);
    const changeOf = this.#changesOf(customer);
    const changed = new Map<FingerprintHash, EntryFields>();
    let created = 0;
    let place = 0;
    await pieces.add('{"dry_run":true,"results":[');
    for (const [at, row] of rows.entries()) {
      let result = refused(row);
      if (row.change.kind === 'ok') {
        const { target } = row.change.value;
        const entry = { eventTypes: [], ...changeOf(row.change.value) };
        const { fingerprintHash: hash } = entry;
        const before = changed.get(hash) ?? this.#parts.lists.get(customer, hash, request.nowSeconds);
        changed.set(hash, entry);
        if (before === null) created++;
        result = {
          ...subjectOf({ kind: target.kind, value: target.value, fingerprintHash: hash }),
          status: before === null ? 201 : 200,
          change: before === null ? 'created' : isSameEntry(before, entry) ? 'unchanged' : 'replaced',
          before: before?.action ?? null,
          ...blastFields(this.#parts, { target, fingerprintHash: hash, at: place++ }, blast, request),
        };
      }
      if (at > 0) pieces.put(',');
      await pieces.add(JSON.stringify(result));
    }
    if (this.#parts.entriesOf(customer) + created > LIST_ENTRIES_PER_CUSTOMER_MAX) return LIMIT_REACHED;
    await pieces.add(']}');
    return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: pieces.done() };
  }

  /** Returns a function that makes the changes of one request. The policy is read at most once. */
  #changesOf(customer: CustomerNumber): (given: GivenEntry) => ListEntryChange {
    let keepsIdentities: boolean | null = null;
    return (given) => {
      if (isIdentityKind(given.target.kind)) keepsIdentities ??= this.#parts.keepsIdentities(customer);
      return listChangeOf(this.#parts.listKeys, customer, given, keepsIdentities === true);
    };
  }

  /** Reports the blocks of fingerprints among these to the registry. If a fingerprint has several changes, the last one counts. */
  async #report(request: AnyRequest, puts: readonly ListPut[]): Promise<StoreWrite<unknown>> {
    const actions = new Map(
      puts.flatMap(({ entry }) => (codeOfListKind(entry.kind) === 0 ? [[entry.fingerprintHash, entry.action]] : [])),
    );
    const blocked = [...actions].filter(([, action]) => action === 'block').map(([hash]) => hash);
    if (blocked.length === 0) return { kind: 'ok', value: null };
    return this.#parts.onBlocked(request.caller.customer, blocked, request.nowSeconds, request.slices);
  }
}

const LIMIT_REACHED: EndpointResponse = {
  kind: 'problem',
  problem: problem('limit_reached', 'The list would exceed the maximum number of entries. Remove some first.'),
};

type EntryFields = Pick<ListEntry, 'action' | 'note' | 'expiresAtSeconds' | 'eventTypes'>;

function isSameEntry(a: EntryFields, b: EntryFields): boolean {
  const isSame = a.action === b.action && a.note === b.note && a.expiresAtSeconds === b.expiresAtSeconds;
  return isSame && a.eventTypes.join() === b.eventTypes.join();
}

/** The fields by which a result names its entry. */
function subjectOf(entry: Pick<ListEntry, 'kind' | 'value' | 'fingerprintHash'>): Record<string, unknown> {
  const { kind, fingerprintHash } = entry;
  if (kind === 'fingerprint') return { fingerprint_hash: fingerprintHash };
  return { kind, value: shownListValue(entry) };
}

function refused({ given, change }: BatchRow): Record<string, unknown> {
  if (change.kind === 'ok') return {};
  const fault: { readonly code: string; readonly errors?: readonly FieldError[] } = change.problem;
  return { ...given, status: 422, code: fault.code, errors: fault.errors };
}
