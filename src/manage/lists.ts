import type { CustomerNumber, FingerprintHash } from '../base/brand.ts';
import type { Route } from '../base/exchange.ts';
import { problem, type FieldError } from '../base/problem.ts';
import type { FingerprintReader } from '../core/fingerprint-history.ts';
import { LIST_ACTIONS, type ListAction } from '../core/decision.ts';
import { LISTS_PAGE_ROWS_DEFAULT } from '../limits.ts';
import type { StoreWrite } from '../store/durable.ts';
import type { ListChange, ListEntry, ListPut, Lists } from '../store/lists.ts';
import type { Registry } from '../store/registry.ts';
import type { Slices } from '../store/turns.ts';
import { AnswerPieces, pageAnswer } from './answer-pieces.ts';
import { type BatchParts, type BatchRow, hashIn, LIST_BATCH, LIST_ENTRY } from './bodies.ts';
import type { AnyRequest, Managed, ManagedAnswer, ManagedHandler } from './managed.ts';
import { badQuery, type Cursors, readPage } from './paging.ts';
import type { Validated } from './validate.ts';

/** A customer's own block, allow and watch entries. Source: risk specification, 2.3 and 4.2; open points, section 3. */
export interface ListParts {
  readonly lists: Lists;
  readonly registry: Registry;
  readonly cursors: Cursors;
  readonly fingerprints: FingerprintReader;
  /**
   * A customer wrote these as `block`; the write is on the disk. What a block means to the registry is not decided here, and
   * nobody tells it when one ends: removing an entry never touches the registry (risk specification, 4.2).
   */
  readonly onBlocked: (
    customer: CustomerNumber,
    fingerprintHashes: readonly FingerprintHash[],
    nowSeconds: number,
    slices: Slices,
  ) => Promise<StoreWrite<unknown>>;
}

const ROUTE = '/v1/lists';
export function listRoutes(managed: Managed, parts: ListParts): Route[] {
  const { lists, registry, cursors, fingerprints } = parts;

  const page: ManagedHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, LISTS_PAGE_ROWS_DEFAULT);
    if (read.kind === 'problem') return read;
    const actionText = request.query.get('action');
    const action = actionText === null ? null : asAction(actionText);
    if (actionText !== null && action === null) {
      return { kind: 'problem', problem: badQuery('action', 'This must be block, allow or watch.') };
    }
    const after = read.after as FingerprintHash | null;
    const { customer } = request.caller;
    const query = { after, limit: read.limit, action };
    const found = await lists.page(customer, query, request.nowSeconds, request.slices);
    const cursorAt = (place: string): string => cursors.issue(ROUTE, customer, place);
    return pageAnswer(
      request.slices,
      found.entries,
      (entry) => show(entry, request),
      found.next === null ? null : cursorAt(found.next),
      (entry) => cursorAt(entry.fingerprintHash),
    );
  };

  const find: ManagedHandler = (request) => {
    const hash = hashIn(request.params['fingerprint_hash'] ?? '');
    const entry = hash === null ? null : lists.get(request.caller.customer, hash, request.nowSeconds);
    return entry === null ? NOT_FOUND : { kind: 'json', status: 200, body: show(entry, request) };
  };

  const add: ManagedHandler<Validated<ListChange>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const written = await lists.put(request.caller.customer, read.value, request.nowSeconds);
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

  const addMany: ManagedHandler<Validated<BatchParts>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const { slices } = request;
    const rows: BatchRow[] = [];
    for (const part of read.value) {
      rows.push(...(JSON.parse(part) as readonly BatchRow[]));
      if (slices.isOver) await slices.begin();
    }
    const changes = rows.flatMap(({ change }) => (change.kind === 'ok' ? [change.value] : []));
    const written = await lists.putMany(request.caller.customer, changes, request.nowSeconds, slices);
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
      await pieces.add(`${at === 0 ? '' : ','}${JSON.stringify(result)}`);
    }
    await pieces.add(']}');
    return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: pieces.done() };
  };

  const remove: ManagedHandler = async (request) => {
    const hash = hashIn(request.params['fingerprint_hash'] ?? '');
    if (hash === null) return NOT_FOUND;
    const { customer } = request.caller;
    const removed = await lists.remove(customer, hash, request.nowSeconds);
    if (removed.kind === 'fault') return removed;
    return removed.value ? { kind: 'empty', status: 204 } : NOT_FOUND;
  };

  /** Resolves when the registry has heard of the blocks among these; of several changes to one fingerprint the last counts. */
  async function tell(request: AnyRequest, puts: readonly ListPut[]): Promise<StoreWrite<unknown>> {
    const actions = new Map(puts.map(({ entry }) => [entry.fingerprintHash, entry.action]));
    const blocked = [...actions].filter(([, action]) => action === 'block').map(([hash]) => hash);
    if (blocked.length === 0) return { kind: 'ok', value: null };
    return parts.onBlocked(request.caller.customer, blocked, request.nowSeconds, request.slices);
  }

  /** The registry's part is there only when the registry knows the fingerprint; it names nobody. */
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

  /** For who writes an entry for a fingerprint that many devices share. Source: open points, section 7. */
  function warning(hash: FingerprintHash, { caller, nowMs }: AnyRequest): Record<string, unknown> {
    const { isCommon, networks24h } = fingerprints.find(caller.customer, hash, nowMs);
    return isCommon ? { warning: 'common_fingerprint', networks_24h: networks24h } : {};
  }

  return [
    managed.route(ROUTE, { GET: managed({}, page), POST: managed({ body: LIST_ENTRY }, add) }),
    managed.route(`${ROUTE}/batch`, { POST: managed({ body: LIST_BATCH }, addMany) }),
    managed.route(`${ROUTE}/{fingerprint_hash}`, { GET: managed({}, find), DELETE: managed({}, remove) }),
  ];
}

const NOT_FOUND: ManagedAnswer = {
  kind: 'problem',
  problem: problem('not_found', 'The list has no entry for this fingerprint.'),
};

const LIMIT_REACHED: ManagedAnswer = {
  kind: 'problem',
  problem: problem('limit_reached', 'The list would have more entries than a customer may have. Remove some first.'),
};

/**
 * `shared_registry` as all rows about a fingerprint show it, and no such key where the registry does not know it, or where it is
 * common among the caller's traffic.
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

function pick(fault: { readonly code: string; readonly errors?: readonly FieldError[] }): Record<string, unknown> {
  return { code: fault.code, errors: fault.errors };
}

function asAction(value: string): ListAction | null {
  return LIST_ACTIONS.find((action) => action === value) ?? null;
}
