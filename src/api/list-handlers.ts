import type { CustomerNumber, FingerprintHash } from '../kernel/brand.ts';
import { problem, type FieldError } from '../contract/problem.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { QUERIES, ROUTES } from '../contract/routes.ts';
import type { FingerprintReader } from '../risk/fingerprint-history.ts';
import type { Committer } from '../state/feed/changes.ts';
import type { StoreWrite } from '../state/tables/durable.ts';
import type { ListEntryChange, ListEntry, ListPut, Lists } from '../state/tables/list-table.ts';
import type { Registry } from '../state/tables/registry-table.ts';
import type { Slices } from '../state/tables/turns.ts';
import { LIST_ENTRIES_PER_CUSTOMER_MAX } from '../kernel/limits.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import { BUSY } from './busy.ts';
import { readUsage, USAGE_ROWS_MAX } from './day-usage.ts';
import { readQuery } from './query.ts';
import { originOf } from './kit/actor.ts';
import { AnswerPieces, pageAnswer, PagePieces } from './kit/response-pieces.ts';
import { type BatchParts, type BatchRow, hashIn, LIST_BATCH_BODY, LIST_ENTRY_BODY } from './kit/body-readers.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { AnyRequest, EndpointResponse, EndpointHandler } from './kit/endpoint-types.ts';
import { type Cursors, readPage } from './kit/paging.ts';
import type { Validated } from '../contract/validate.ts';

/** Dependencies of the endpoints for a customer's own block, allow and watch entries. Source: contract, 7. */
export interface ListParts {
  readonly lists: Lists;
  readonly changes: Committer;
  readonly registry: Registry;
  readonly cursors: Cursors;
  readonly fingerprints: FingerprintReader;
  readonly decisions: Pick<DecisionReader, 'scan'>;
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

const ROUTE = ROUTES.listEntries.path;
export function listHandlers(
  endpoint: EndpointFactory,
  parts: ListParts,
): SecretHandlers<'listEntries' | 'putEntry' | 'putEntries' | 'findEntry' | 'removeEntry'> {
  const { lists, changes, registry, cursors, fingerprints } = parts;

  const page: EndpointHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, QUERIES.listEntries);
    if (read.kind === 'problem') return read;
    const { action = null, usage } = read.values;
    const after = read.after as FingerprintHash | null;
    const { customer } = request.caller;
    const query = { after, limit: usage ? Math.min(read.limit, USAGE_ROWS_MAX) : read.limit, action };
    const cursorAt = (place: string): string => cursors.issue(ROUTE, customer, place);
    if (!usage) {
      const rows = new PagePieces(request.slices);
      const visit = (entry: ListEntry): 'on' | 'full' => rows.put(show(entry, request));
      const next = await lists.visitPage(customer, query, request.nowSeconds, request.slices, visit);
      return rows.done(next === null ? null : cursorAt(next));
    }
    const found = await lists.page(customer, query, request.nowSeconds, request.slices);
    const hashes = found.entries.map(({ fingerprintHash }) => fingerprintHash);
    const usageOf = await readUsage(parts.decisions, request, hashes);
    if (usageOf === null) return BUSY;
    return pageAnswer(
      request.slices,
      found.entries,
      (entry) => ({ ...show(entry, request), ...usageOf(entry.fingerprintHash) }),
      found.next === null ? null : cursorAt(found.next),
      (entry) => cursorAt(entry.fingerprintHash),
    );
  };

  const find: EndpointHandler = (request) => {
    const hash = hashIn(request.params['fingerprint_hash'] ?? '');
    const entry = hash === null ? null : lists.get(request.caller.customer, hash, request.nowSeconds);
    return entry === null ? NOT_FOUND : { kind: 'json', status: 200, body: show(entry, request) };
  };

  const add: EndpointHandler<Validated<ListEntryChange>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const { customer } = request.caller;
    const written = await changes.commit({ kind: 'list.put', customer, entry: read.value }, originOf(request));
    if (written.kind === 'fault') return written;
    if (written.value === 'limit_reached') return LIMIT_REACHED;
    const told = await tell(request, [written.value]);
    if (told.kind === 'fault') return told;
    const { created, entry } = written.value;
    return {
      kind: 'json',
      status: created ? 201 : 200,
      body: { ...show(entry, request), ...warning(entry.fingerprintHash, request) },
    };
  };

  const addMany: EndpointHandler<Validated<BatchParts>> = async (request) => {
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
    const entries = rows.flatMap(({ change }) => (change.kind === 'ok' ? [change.value] : []));
    const { customer } = request.caller;
    if (query.value.dry_run) return tryMany(rows, request);
    const batch = { kind: 'list.batch', customer, entries } as const;
    const written = await changes.commit(batch, originOf(request), { slices });
    if (written.kind === 'fault') return written;
    if (written.value === 'limit_reached') return LIMIT_REACHED;
    const told = await tell(request, written.value);
    if (told.kind === 'fault') return told;
    const puts = written.value.values();
    const pieces = new AnswerPieces(slices);
    await pieces.add('{"results":[');
    for (const [at, { givenHash, change }] of rows.entries()) {
      const result =
        change.kind === 'ok'
          ? {
              fingerprint_hash: change.value.fingerprintHash,
              status: puts.next().value?.created === true ? 201 : 200,
              ...warning(change.value.fingerprintHash, request),
            }
          : { fingerprint_hash: givenHash, status: 422, ...pick(change.problem) };
      if (at > 0) pieces.put(',');
      await pieces.add(JSON.stringify(result));
    }
    await pieces.add(']}');
    return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: pieces.done() };
  };

  /** Returns what the batch would change. Entries that expire meanwhile, and other writes, can make a difference. */
  async function tryMany(rows: readonly BatchRow[], request: AnyRequest): Promise<EndpointResponse> {
    const { customer } = request.caller;
    const pieces = new AnswerPieces(request.slices);
    const changed = new Map<FingerprintHash, EntryFields>();
    let created = 0;
    await pieces.add('{"dry_run":true,"results":[');
    for (const [at, { givenHash, change }] of rows.entries()) {
      let result: Readonly<Record<string, unknown>>;
      if (change.kind === 'problem') result = { fingerprint_hash: givenHash, status: 422, ...pick(change.problem) };
      else {
        const { fingerprintHash: hash } = change.value;
        const before = changed.get(hash) ?? lists.get(customer, hash, request.nowSeconds);
        changed.set(hash, change.value);
        if (before === null) created++;
        result = {
          fingerprint_hash: hash,
          status: before === null ? 201 : 200,
          change: before === null ? 'created' : isSameEntry(before, change.value) ? 'unchanged' : 'replaced',
          before: before?.action ?? null,
          ...warning(hash, request),
        };
      }
      if (at > 0) pieces.put(',');
      await pieces.add(JSON.stringify(result));
    }
    if (parts.entriesOf(customer) + created > LIST_ENTRIES_PER_CUSTOMER_MAX) return LIMIT_REACHED;
    await pieces.add(']}');
    return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: pieces.done() };
  }

  const remove: EndpointHandler = async (request) => {
    const fingerprintHash = hashIn(request.params['fingerprint_hash'] ?? '');
    if (fingerprintHash === null) return NOT_FOUND;
    const { customer } = request.caller;
    const removed = await changes.commit({ kind: 'list.removed', customer, fingerprintHash }, originOf(request));
    if (removed.kind === 'fault') return removed;
    return removed.value ? { kind: 'empty', status: 204 } : NOT_FOUND;
  };

  /** Reports the blocks among these to the registry. If a fingerprint has several changes, the last one counts. */
  async function tell(request: AnyRequest, puts: readonly ListPut[]): Promise<StoreWrite<unknown>> {
    const actions = new Map(puts.map(({ entry }) => [entry.fingerprintHash, entry.action]));
    const blocked = [...actions].filter(([, action]) => action === 'block').map(([hash]) => hash);
    if (blocked.length === 0) return { kind: 'ok', value: null };
    return parts.onBlocked(request.caller.customer, blocked, request.nowSeconds, request.slices);
  }

  /** Includes `shared_registry` only if the registry knows the fingerprint and `sharedRegistry` shows it. It names no customer. */
  function show(entry: ListEntry, request: AnyRequest): Record<string, unknown> {
    return {
      fingerprint_hash: entry.fingerprintHash,
      action: entry.action,
      note: entry.note,
      created_at: entry.createdAtSeconds,
      updated_at: entry.updatedAtSeconds,
      expires_at: entry.expiresAtSeconds,
      ...sharedRegistry({ registry, fingerprints }, entry.fingerprintHash, request),
    };
  }

  /** Returns the warning for an entry whose fingerprint many devices share. Source: contract, 7.5. */
  function warning(hash: FingerprintHash, { caller, nowMs }: AnyRequest): Record<string, unknown> {
    const { isCommon, networks24h } = fingerprints.find(caller.customer, hash, nowMs);
    return isCommon ? { warning: 'common_fingerprint', networks_24h: networks24h } : {};
  }

  return {
    listEntries: endpoint({}, page),
    putEntry: endpoint({ body: LIST_ENTRY_BODY }, add),
    putEntries: endpoint({ body: LIST_BATCH_BODY }, addMany),
    findEntry: endpoint({}, find),
    removeEntry: endpoint({}, remove),
  };
}

const NOT_FOUND: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'The list has no entry for this fingerprint.'),
};

const LIMIT_REACHED: EndpointResponse = {
  kind: 'problem',
  problem: problem('limit_reached', 'The list would exceed the maximum number of entries. Remove some first.'),
};

/**
 * Returns `shared_registry` for a row about a fingerprint. The key is absent if the registry does not know the fingerprint, or if the
 * fingerprint is common in the caller's traffic.
 */
export function sharedRegistry(
  { registry, fingerprints }: Pick<ListParts, 'registry' | 'fingerprints'>,
  fingerprintHash: FingerprintHash,
  { caller, nowMs, nowSeconds }: Pick<AnyRequest, 'caller' | 'nowMs' | 'nowSeconds'>,
): { readonly shared_registry?: { readonly risk_score: number; readonly customers_seen: number } } {
  const known = registry.findShown(fingerprintHash, nowSeconds);
  if (known === null || fingerprints.find(caller.customer, fingerprintHash, nowMs).isCommon) return {};
  return { shared_registry: { risk_score: Math.round(known.risk), customers_seen: known.customers } };
}

type EntryFields = Pick<ListEntry, 'action' | 'note' | 'expiresAtSeconds'>;

function isSameEntry(a: EntryFields, b: EntryFields): boolean {
  return a.action === b.action && a.note === b.note && a.expiresAtSeconds === b.expiresAtSeconds;
}

function pick(fault: { readonly code: string; readonly errors?: readonly FieldError[] }): Record<string, unknown> {
  return { code: fault.code, errors: fault.errors };
}
