import { setImmediate as endOfTurn } from 'node:timers/promises';
import * as z from 'zod';
import type { CustomerNumber, FingerprintHash } from '../base/brand.ts';
import type { Route } from '../base/exchange.ts';
import { problem, type FieldError } from '../base/problem.ts';
import { LIST_ACTIONS, type ListAction } from '../core/decision.ts';
import { LIST_BATCH_ENTRIES_MAX, LISTS_PAGE_ROWS_DEFAULT, NOTE_CHARACTERS_MAX } from '../limits.ts';
import type { StoreWrite } from '../store/durable.ts';
import { EXPIRY_MAX, type ListChange, type ListEntry, type ListPut, type Lists } from '../store/lists.ts';
import type { Registry } from '../store/registry.ts';
import type { Managed, ManagedAnswer, ManagedHandler, ManagedRequest } from './managed.ts';
import { badQuery, type Cursors, pageAnswer, readPage } from './paging.ts';
import { invalid, text, validate, type Validated } from './validate.ts';

/** A customer's own block, allow and watch entries. Source: risk specification, 2.3 and 4.2; open points, section 3. */
export interface ListParts {
  readonly lists: Lists;
  readonly registry: Registry;
  readonly cursors: Cursors;
  /**
   * A customer wrote these as `block`; the write is on the disk. What a block means to the registry is not decided here, and
   * nobody tells it when one ends: removing an entry never touches the registry (risk specification, 4.2).
   */
  readonly onBlocked: (
    customer: CustomerNumber,
    fingerprintHashes: readonly FingerprintHash[],
    nowSeconds: number,
  ) => Promise<StoreWrite<unknown>>;
}

const ROUTE = '/v1/lists';
const HASH = /^[0-9a-fA-F]{64}$/;

const ENTRY = z.object({
  fingerprint_hash: z
    .string()
    .regex(HASH, 'This must be 64 hexadecimal digits.')
    .transform((hash) => hash.toLowerCase() as FingerprintHash),
  action: z.enum(LIST_ACTIONS),
  note: text(NOTE_CHARACTERS_MAX).nullish(),
  expires_at: z.int().max(EXPIRY_MAX).nullish(),
});

export function listRoutes(managed: Managed, parts: ListParts): Route[] {
  const { lists, registry, cursors } = parts;

  const page: ManagedHandler = (request) => {
    const read = readPage(request, cursors, ROUTE, LISTS_PAGE_ROWS_DEFAULT);
    if (read.kind === 'problem') return read;
    const actionText = request.query.get('action');
    const action = actionText === null ? null : asAction(actionText);
    if (actionText !== null && action === null) {
      return { kind: 'problem', problem: badQuery('action', 'This must be block, allow or watch.') };
    }
    const after = read.after as FingerprintHash | null;
    const { customer } = request.caller;
    const found = lists.page(customer, { after, limit: read.limit, action }, request.nowSeconds);
    const next = found.next === null ? null : cursors.issue(ROUTE, customer, found.next);
    return pageAnswer(
      found.entries.map((entry) => show(entry, request)),
      next,
    );
  };

  const find: ManagedHandler = (request) => {
    const hash = hashOf(request);
    const entry = hash === null ? null : lists.get(request.caller.customer, hash, request.nowSeconds);
    return entry === null ? NOT_FOUND : { kind: 'json', status: 200, body: show(entry, request) };
  };

  const add: ManagedHandler = async (request) => {
    const read = readChange(request.body, request.nowSeconds);
    if (read.kind === 'problem') return read;
    const written = await lists.put(request.caller.customer, read.value, request.nowSeconds);
    if (written.kind === 'fault') return written;
    const told = await tell(request, [written.value]);
    if (told.kind === 'fault') return told;
    const { created, entry } = written.value;
    return { kind: 'json', status: created ? 201 : 200, body: show(entry, request) };
  };

  const addMany: ManagedHandler = async (request) => {
    const read = readEntries(request.body);
    if (read.kind === 'problem') return read;
    const rows = await readRows(read.value, request.nowSeconds);
    const changes = rows.flatMap(({ change }) => (change.kind === 'ok' ? [change.value] : []));
    const written = await lists.putMany(request.caller.customer, changes, request.nowSeconds);
    if (written.kind === 'fault') return written;
    const told = await tell(request, written.value);
    if (told.kind === 'fault') return told;
    const puts = written.value.values();
    const results = rows.map(({ given, change }) =>
      change.kind === 'ok'
        ? { fingerprint_hash: change.value.fingerprintHash, status: puts.next().value?.created === true ? 201 : 200 }
        : { fingerprint_hash: givenHash(given), status: 422, ...pick(change.problem) },
    );
    return { kind: 'json', status: 200, body: { results } };
  };

  const remove: ManagedHandler = async (request) => {
    const hash = hashOf(request);
    if (hash === null) return NOT_FOUND;
    const { customer } = request.caller;
    const removed = await lists.remove(customer, hash, request.nowSeconds);
    if (removed.kind === 'fault') return removed;
    return removed.value ? { kind: 'empty', status: 204 } : NOT_FOUND;
  };

  /** Resolves when the registry has heard of the blocks among these; of several changes to one fingerprint the last counts. */
  async function tell(request: ManagedRequest, puts: readonly ListPut[]): Promise<StoreWrite<unknown>> {
    const actions = new Map(puts.map(({ entry }) => [entry.fingerprintHash, entry.action]));
    const blocked = [...actions].filter(([, action]) => action === 'block').map(([hash]) => hash);
    if (blocked.length === 0) return { kind: 'ok', value: null };
    return parts.onBlocked(request.caller.customer, blocked, request.nowSeconds);
  }

  /** The registry's part is there only when the registry knows the fingerprint; it names nobody. */
  function show(entry: ListEntry, request: ManagedRequest): Record<string, unknown> {
    return {
      fingerprint_hash: entry.fingerprintHash,
      action: entry.action,
      note: entry.note,
      created_at: entry.createdAtSeconds,
      updated_at: entry.updatedAtSeconds,
      expires_at: entry.expiresAtSeconds,
      ...sharedRegistry(registry, entry.fingerprintHash, request.nowSeconds),
    };
  }

  return [
    managed.route(ROUTE, { GET: managed({}, page), POST: managed({ body: 'json' }, add) }),
    managed.route(`${ROUTE}/batch`, { POST: managed({ body: 'json_or_array' }, addMany) }),
    managed.route(`${ROUTE}/{fingerprint_hash}`, { GET: managed({}, find), DELETE: managed({}, remove) }),
  ];
}

const NOT_FOUND: ManagedAnswer = {
  kind: 'problem',
  problem: problem('not_found', 'The list has no entry for this fingerprint.'),
};

/** `shared_registry` as all rows about a fingerprint show it, and no such key where the registry does not know it. */
export function sharedRegistry(
  registry: Registry,
  fingerprintHash: FingerprintHash,
  nowSeconds: number,
): { readonly shared_registry?: { readonly risk_score: number; readonly customers_seen: number } } {
  const known = registry.find(fingerprintHash, nowSeconds);
  if (known === null) return {};
  return { shared_registry: { risk_score: Math.round(known.risk), customers_seen: known.customers } };
}

function readChange(body: unknown, nowSeconds: number): Validated<ListChange> {
  const read = validate(ENTRY, body);
  if (read.kind === 'problem') return read;
  const { fingerprint_hash: fingerprintHash, action, note = null, expires_at: expiresAt = null } = read.value;
  if (expiresAt !== null && expiresAt <= nowSeconds) {
    return invalid([{ pointer: '/expires_at', code: 'invalid_value', message: 'This must lie in the future.' }]);
  }
  return { kind: 'ok', value: { fingerprintHash, action, note, expiresAtSeconds: expiresAt } };
}

const ENTRIES = z.array(z.unknown()).max(LIST_BATCH_ENTRIES_MAX);

/** `{"entries":[...]}`, or the array alone. */
function readEntries(body: ManagedRequest['body']): Validated<readonly unknown[]> {
  if (Array.isArray(body)) return validate(ENTRIES, body);
  const read = validate(z.object({ entries: ENTRIES }), body);
  return read.kind === 'problem' ? read : { kind: 'ok', value: read.value.entries };
}

/** Measured: 1,000 wrong entries at once hold the main thread for 20 ms, 100 for 2 ms; decisions have their turn in between. */
const ENTRIES_AT_ONCE = 100;

interface Row {
  readonly given: unknown;
  readonly change: Validated<ListChange>;
}

async function readRows(entries: readonly unknown[], nowSeconds: number): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const [i, given] of entries.entries()) {
    if (i > 0 && i % ENTRIES_AT_ONCE === 0) await endOfTurn();
    rows.push({ given, change: readChange(given, nowSeconds) });
  }
  return rows;
}

/** What the client called the entry by, as far as that may come back. */
function givenHash(given: unknown): string | null {
  const hash =
    typeof given === 'object' && given !== null && 'fingerprint_hash' in given ? given.fingerprint_hash : null;
  return typeof hash === 'string' ? hash.slice(0, 64) : null;
}

function pick(fault: { readonly code: string; readonly errors?: readonly FieldError[] }): Record<string, unknown> {
  return { code: fault.code, errors: fault.errors };
}

function hashOf(request: ManagedRequest): FingerprintHash | null {
  const hash = request.params['fingerprint_hash'] ?? '';
  return HASH.test(hash) ? (hash.toLowerCase() as FingerprintHash) : null;
}

function asAction(value: string): ListAction | null {
  return LIST_ACTIONS.find((action) => action === value) ?? null;
}
