import type { CustomerNumber, FingerprintHash } from '../../kernel/brand.ts';
import { problem } from '../../contract/problem.ts';
import type { SecretHandlers } from '../../http/handlers.ts';
import { QUERIES, ROUTES } from '../../contract/routes.ts';
import { codeOfListKind } from '../../risk/lists/list-key.ts';
import { listKindOf, readListTarget } from '../../risk/lists/list-kind.ts';
import type { ListEntry } from '../../state/tables/list-table.ts';
import { BUSY } from '../busy.ts';
import { readUsage, USAGE_ROWS_MAX } from '../day-usage.ts';
import { readQuery } from '../query.ts';
import { originOf } from '../kit/actor.ts';
import { pageAnswer, PagePieces } from '../kit/response-pieces.ts';
import { hashIn, LIST_BATCH_BODY, LIST_ENTRY_BODY } from '../kit/body-readers.ts';
import type { EndpointFactory } from '../kit/endpoint-factory.ts';
import type { AnyRequest, EndpointResponse, EndpointHandler } from '../kit/endpoint-types.ts';
import { type Cursors, readPage } from '../kit/paging.ts';
import { showEntry } from './list-view.ts';
import { ListWrites, type ListWriteParts } from './entry-writes.ts';

/** Dependencies of the endpoints for a customer's own block, allow and watch entries. Source: contract, 7. */
export interface ListParts extends ListWriteParts {
  readonly cursors: Cursors;
}

type ListEndpointId =
  | 'listEntries'
  | 'putEntry'
  | 'putEntries'
  | 'findEntry'
  | 'removeEntry'
  | 'findValueEntry'
  | 'removeValueEntry'
  | 'removeEntryByQuery';

const ROUTE = ROUTES.listEntries.path;

export function listHandlers(endpoint: EndpointFactory, parts: ListParts): SecretHandlers<ListEndpointId> {
  const writes = new ListWrites(parts);
  const reads = new ListReads(parts);
  return {
    listEntries: endpoint({}, reads.page),
    putEntry: endpoint({ body: LIST_ENTRY_BODY }, writes.add),
    putEntries: endpoint({ body: LIST_BATCH_BODY }, writes.addMany),
    findEntry: endpoint({}, reads.find),
    removeEntry: endpoint({}, reads.remove),
    findValueEntry: endpoint({}, reads.findValue),
    removeValueEntry: endpoint({}, reads.removeValue),
    removeEntryByQuery: endpoint({}, reads.removeByQuery),
  };
}

/** Reads and removals. */
class ListReads {
  readonly #parts: ListParts;

  constructor(parts: ListParts) {
    this.#parts = parts;
  }

  readonly page: EndpointHandler = async (request) => {
    const { cursors, lists } = this.#parts;
    const read = readPage(request, cursors, ROUTE, QUERIES.listEntries);
    if (read.kind === 'problem') return read;
    const { action = null, usage, kind: kindText } = read.values;
    const kind = kindText === undefined ? null : listKindOf(kindText);
    const after = read.after as FingerprintHash | null;
    const { customer } = request.caller;
    const query = { after, limit: usage ? Math.min(read.limit, USAGE_ROWS_MAX) : read.limit, action, kind };
    const cursorAt = (place: string): string => cursors.issue(ROUTE, customer, place);
    if (!usage) {
      const rows = new PagePieces(request.slices);
      const visit = (entry: ListEntry): 'on' | 'full' => rows.put(showEntry(this.#parts, entry, request));
      const next = await lists.visitPage(customer, query, request.nowSeconds, request.slices, visit);
      return rows.done(next === null ? null : cursorAt(next));
    }
    const found = await lists.page(customer, query, request.nowSeconds, request.slices);
    const hashes = found.entries.flatMap((entry) => (codeOfListKind(entry.kind) === 0 ? [entry.fingerprintHash] : []));
    const usageOf = await readUsage(this.#parts.decisions, request, hashes);
    if (usageOf === null) return BUSY;
    return pageAnswer(
      request.slices,
      found.entries,
      (entry) => ({
        ...showEntry(this.#parts, entry, request),
        ...(codeOfListKind(entry.kind) === 0 && usageOf(entry.fingerprintHash)),
      }),
      found.next === null ? null : cursorAt(found.next),
      (entry) => cursorAt(entry.fingerprintHash),
    );
  };

  readonly find: EndpointHandler = (request) => this.#found(hashIn(request.params['fingerprint_hash'] ?? ''), request);

  readonly findValue: EndpointHandler = (request) => {
    const { kind = '', value = '' } = request.params;
    return this.#found(this.#hashOf(request.caller.customer, kind, value), request);
  };

  readonly remove: EndpointHandler = (request) =>
    this.#remove(hashIn(request.params['fingerprint_hash'] ?? ''), request);

  readonly removeValue: EndpointHandler = (request) => {
    const { kind = '', value = '' } = request.params;
    return this.#remove(this.#hashOf(request.caller.customer, kind, value), request);
  };

  readonly removeByQuery: EndpointHandler = async (request) => {
    const read = readQuery(request.query, QUERIES.removeEntryByQuery);
    if (read.kind === 'problem') return read;
    const { kind, value } = read.value;
    return this.#remove(this.#hashOf(request.caller.customer, kind, value), request);
  };

  #found(hash: FingerprintHash | null, request: AnyRequest): EndpointResponse {
    const entry = hash === null ? null : this.#parts.lists.get(request.caller.customer, hash, request.nowSeconds);
    if (entry === null) return NOT_FOUND;
    return { kind: 'json', status: 200, body: showEntry(this.#parts, entry, request) };
  }

  async #remove(fingerprintHash: FingerprintHash | null, request: AnyRequest): Promise<EndpointResponse> {
    if (fingerprintHash === null) return NOT_FOUND;
    const { customer } = request.caller;
    const change = { kind: 'list.removed', customer, fingerprintHash } as const;
    const removed = await this.#parts.changes.commit(change, originOf(request));
    if (removed.kind === 'fault') return removed;
    return removed.value ? { kind: 'empty', status: 204 } : NOT_FOUND;
  }

  /** The value as it was written, as it is stored, or its hash as it is shown. */
  #hashOf(customer: CustomerNumber, kindText: string, value: string): FingerprintHash | null {
    const kind = listKindOf(kindText);
    if (kind === null) return null;
    const read = readListTarget(kind, value);
    return read.kind === 'fault' ? null : this.#parts.listKeys.keyOf(customer, read.target);
  }
}

const NOT_FOUND: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'The list has no such entry.'),
};
