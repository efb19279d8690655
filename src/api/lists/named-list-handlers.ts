import { randomUUID } from 'node:crypto';
import { problem } from '../../contract/problem.ts';
import { QUERIES, ROUTES } from '../../contract/routes.ts';
import { LIST_KINDS, TEXT_KIND } from '../../contract/vocabulary.ts';
import type { SecretHandlers } from '../../http/handlers.ts';
import { type CustomerNumber, unreachable } from '../../kernel/brand.ts';
import type { VersionLoss } from '../../kernel/version-loss.ts';
import { type ListKeys, shownNamedValue } from '../../risk/lists/list-key.ts';
import {
  NAMED_ITEMS_MAX,
  NAMED_LIST_NAME,
  NAMED_LISTS_MAX,
  type NamedListKind,
  namedListKindOf,
} from '../../risk/lists/named-list.ts';
import { listsNamedIn } from '../../risk/policy/rule-lists.ts';
import type { Committer } from '../../state/feed/changes.ts';
import { restoreNamedList } from '../../state/feed/named-list-restore.ts';
import type { NamedItem, NamedItemChange, NamedList, NamedLists } from '../../state/tables/named-list-table.ts';
import {
  type NamedListVersion,
  type NamedListVersions,
  shownVersions,
} from '../../state/tables/named-list-versions-table.ts';
import type { OwnRules } from '../../state/tables/own-rule-table.ts';
import { originOf } from '../kit/actor.ts';
import { schemaBody } from '../kit/body-readers.ts';
import type { EndpointFactory } from '../kit/endpoint-factory.ts';
import type { AnyRequest, EndpointHandler, EndpointResponse } from '../kit/endpoint-types.ts';
import { type Cursors, readPage } from '../kit/paging.ts';
import type { BodyOf } from '../kit/request-body.ts';
import { pageAnswer } from '../kit/response-pieces.ts';
import type { OwnPolicies } from '../own-policies.ts';
import { NAMED_ITEMS_BODY, readNamedItems } from './named-items.ts';

/** Dependencies of the endpoints for named lists. Source: contract, 7.6. */
export interface NamedListParts {
  readonly namedLists: Pick<NamedLists, 'of' | 'find' | 'page' | 'stateOf'>;
  readonly versions: NamedListVersions;
  readonly rules: Pick<OwnRules, 'of'>;
  readonly policies: Pick<OwnPolicies, 'present'>;
  readonly changes: Committer;
  readonly listKeys: ListKeys;
  readonly cursors: Cursors;
  /** Returns the number of the customer's rows of items, with those of deleted lists. */
  readonly itemsOf: (customer: CustomerNumber) => number;
}

const PUT = schemaBody('putNamedList');
const RESTORE = schemaBody('restoreNamedList');
/** Choice: items of one change; they hold the main thread for some 0.6 ms. */
const ITEMS_PER_CHANGE = 100;

type NamedListEndpointId =
  | 'listNamedLists'
  | 'putNamedList'
  | 'deleteNamedList'
  | 'listNamedItems'
  | 'changeNamedItems'
  | 'listNamedVersions'
  | 'restoreNamedList';

/** Returns the handlers for named lists. Source: contract, 7.6. */
export function namedListHandlers(
  endpoint: EndpointFactory,
  parts: NamedListParts,
): SecretHandlers<NamedListEndpointId> {
  const { namedLists, changes, cursors } = parts;

  const list: EndpointHandler = ({ caller: { customer } }) => {
    const users = usersOf(parts, customer);
    const data = namedLists.of(customer).map((one) => showList(one, users));
    const body = { data, items: parts.itemsOf(customer), items_max: NAMED_ITEMS_MAX };
    return { kind: 'json', status: 200, body };
  };

  const remove: EndpointHandler = async (request) => {
    const { customer } = request.caller;
    const name = request.params['name'] ?? '';
    const users = usersOf(parts, customer).get(name);
    if (namedLists.find(customer, name) !== null && users !== undefined) return inUse(users);
    const removed = await changes.commit({ kind: 'named_list.removed', customer, name }, originOf(request));
    if (removed.kind === 'fault') return removed;
    return removed.value ? { kind: 'empty', status: 204 } : NO_SUCH_LIST;
  };

  const items: EndpointHandler = async (request) => {
    const { caller, params, slices, nowSeconds } = request;
    const found = namedLists.find(caller.customer, params['name'] ?? '');
    if (found === null) return NO_SUCH_LIST;
    const { kind, number } = found;
    const route = `${ROUTES.listNamedItems.path} ${number}`;
    const read = readPage(request, cursors, route, QUERIES.listNamedItems);
    if (read.kind === 'problem') return read;
    const page = await namedLists.page(caller.customer, number, read, nowSeconds, slices);
    const cursorAt = (place: string): string => cursors.issue(route, caller.customer, place);
    const next = page.next === null ? null : cursorAt(page.next);
    return pageAnswer(
      slices,
      page.items,
      (item) => showItem(kind, item),
      next,
      ({ key }) => cursorAt(key),
    );
  };

  return {
    listNamedLists: endpoint({}, list),
    putNamedList: endpoint({ body: PUT }, putList(parts)),
    deleteNamedList: endpoint({}, remove),
    listNamedItems: endpoint({}, items),
    changeNamedItems: endpoint({ body: NAMED_ITEMS_BODY }, changeItems(parts)),
    listNamedVersions: endpoint({}, listVersions(parts)),
    restoreNamedList: endpoint({ body: RESTORE }, restoreVersion(parts)),
  };
}

function putList(parts: NamedListParts): EndpointHandler<BodyOf<typeof PUT>> {
  return async (request) => {
    if (request.body.kind === 'problem') return request.body;
    const { customer } = request.caller;
    const name = request.params['name'] ?? '';
    const { kind: kindText, note = null } = request.body.value;
    if (!NAMED_LIST_NAME.test(name)) return MALFORMED_NAME;
    const listKind = namedListKindOf(kindText);
    if (listKind === null) return UNKNOWN_KIND;
    const change = { kind: 'named_list.put', customer, name, listKind, note } as const;
    const written = await parts.changes.commit(change, originOf(request));
    if (written.kind === 'fault') return written;
    const { value } = written;
    switch (value.kind) {
      case 'created':
      case 'replaced': {
        const status = value.kind === 'created' ? 201 : 200;
        return { kind: 'json', status, body: showList(value.list, usersOf(parts, customer)) };
      }
      case 'other_kind':
        return invalidField('/kind', `The list has the kind ${value.list.kind}, which stays.`);
      case 'limit_reached':
        return TOO_MANY_LISTS;
      default:
        return unreachable(value);
    }
  };
}

function changeItems(parts: NamedListParts): EndpointHandler<BodyOf<typeof NAMED_ITEMS_BODY>> {
  const { namedLists, policies, listKeys, itemsOf } = parts;
  return async (request) => {
    if (request.body.kind === 'problem') return request.body;
    const { caller, params, slices, nowSeconds } = request;
    const { customer } = caller;
    const list = namedLists.find(customer, params['name'] ?? '');
    if (list === null) return NO_SUCH_LIST;
    const keepsIdentities = policies.present(customer).view.policyOf('').logIdentities === 'plain';
    const reading = { list, customer, keys: listKeys, keepsIdentities, nowSeconds };
    const { parts: given, importId } = request.body.value;
    const { items, rejected } = await readNamedItems(reading, given, slices);
    let rows = 0;
    for (const { key, isRemoved } of items) {
      const isRow = namedLists.stateOf(customer, list.number, key, nowSeconds) !== 'none';
      if (isRow === isRemoved) rows += isRemoved ? -1 : 1;
      if (slices.isOver) await slices.begin();
    }
    if (rows > 0 && itemsOf(customer) + rows > NAMED_ITEMS_MAX) return TOO_MANY_ITEMS;
    const writeId = importId === null ? randomUUID() : `${caller.key.prefix} ${importId}`;
    return writeItems(parts, request, list, { items, rejected, writeId });
  };
}

interface ItemsToWrite {
  readonly items: readonly NamedItemChange[];
  readonly rejected: readonly object[];
  readonly writeId: string;
}

/** Writes in parts, so that decisions come between; only the last one waits for the disk. */
async function writeItems(
  { changes }: NamedListParts,
  request: AnyRequest,
  { name, number }: NamedList,
  { items, rejected, writeId }: ItemsToWrite,
): Promise<EndpointResponse> {
  const { customer } = request.caller;
  const { slices } = request;
  const counts = { added: 0, removed: 0 };
  for (let from = 0; from < items.length; from += ITEMS_PER_CHANGE) {
    if (slices.isOver) await slices.begin();
    const part = items.slice(from, from + ITEMS_PER_CHANGE);
    const change = { kind: 'named_list.items', customer, name, number, items: part, writeId } as const;
    const until = from + ITEMS_PER_CHANGE < items.length ? 'visible' : 'durable';
    const written = await changes.commit(change, originOf(request), { until, slices });
    if (written.kind === 'fault') return written;
    // Another call came between.
    if (written.value === 'unknown') return NO_SUCH_LIST;
    if (written.value === 'limit_reached') return TOO_MANY_ITEMS;
    counts.added += written.value.added;
    counts.removed += written.value.removed;
  }
  return { kind: 'json', status: 200, body: { ...counts, rejected } };
}

function listVersions({ namedLists, versions }: NamedListParts): EndpointHandler {
  return ({ caller: { customer }, params }) => {
    const found = namedLists.find(customer, params['name'] ?? '');
    if (found === null) return NO_SUCH_LIST;
    return {
      kind: 'json',
      status: 200,
      body: { data: shownVersions(versions.of(customer, found.number)).map(showVersion) },
    };
  };
}

function restoreVersion(parts: NamedListParts): EndpointHandler<BodyOf<typeof RESTORE>> {
  const { namedLists } = parts;
  return async (request) => {
    if (request.body.kind === 'problem') return request.body;
    const { caller, params, slices } = request;
    const { customer } = caller;
    const { version } = request.body.value;
    const found = namedLists.find(customer, params['name'] ?? '');
    if (found === null) return NO_SUCH_LIST;
    const { name, number } = found;
    const restored = await restoreNamedList(parts, { customer, name, number, version }, originOf(request), slices);
    switch (restored.kind) {
      case 'restored': {
        const list = namedLists.find(customer, name);
        return list === null
          ? NO_SUCH_LIST
          : { kind: 'json', status: 200, body: showList(list, usersOf(parts, customer)) };
      }
      case 'unknown':
        return NO_SUCH_VERSION;
      case 'lost':
        return NOT_RESTORABLE[restored.loss];
      case 'limit_reached':
        return TOO_MANY_ITEMS;
      case 'fault':
        return restored;
      default:
        return unreachable(restored);
    }
  };
}

/** Returns the codes of the rules that name each list: of the API, of the policy file and of its challenger. */
function usersOf(
  { rules, policies }: NamedListParts,
  customer: CustomerNumber,
): ReadonlyMap<string, readonly string[]> {
  const { view } = policies.present(customer);
  const users = new Map<string, string[]>();
  const all = [...view.ownRules(), ...rules.of(customer).rules, ...(view.challenger()?.ownRules() ?? [])];
  for (const { code, when } of all) {
    for (const name of listsNamedIn(when)) {
      const codes = users.get(name) ?? [];
      if (!codes.includes(code)) codes.push(code);
      users.set(name, codes);
    }
  }
  return users;
}

function showList(
  { name, kind, note, items, createdAtMs, updatedAtMs }: NamedList,
  users: ReadonlyMap<string, readonly string[]>,
): Readonly<Record<string, unknown>> {
  return {
    name,
    kind,
    note,
    items,
    used_by: users.get(name) ?? [],
    created_at: Math.floor(createdAtMs / 1_000),
    updated_at: Math.floor(updatedAtMs / 1_000),
  };
}

function showItem(kind: NamedListKind, item: NamedItem): Readonly<Record<string, unknown>> {
  return {
    value: shownNamedValue(kind, item),
    created_at: item.createdAtSeconds,
    expires_at: item.expiresAtSeconds,
  };
}

function showVersion(one: NamedListVersion): Readonly<Record<string, unknown>> {
  return {
    version: one.version,
    replaced_at: Math.floor(one.replacedAtMs / 1_000),
    replaced_by: one.replacedBy,
    added: one.added,
    removed: one.removed,
    restorable: one.lost === null,
    reason: one.lost,
  };
}

function invalidField(pointer: string, message: string): EndpointResponse {
  const errors = [{ pointer, code: 'invalid_value', message }];
  return { kind: 'problem', problem: problem('validation_failed', 'The list is not valid.', { errors }) };
}

const MALFORMED_NAME = invalidField('/name', 'This must be a lower-case letter and up to 39 more, digits or _.');
const UNKNOWN_KIND = invalidField(
  '/kind',
  `This must be one of ${LIST_KINDS.join(', ')}, ${TEXT_KIND}, or entity.<name>.`,
);

function inUse(codes: readonly string[]): EndpointResponse {
  const detail = `These rules name the list: ${codes.slice(0, 5).join(', ')}${codes.length > 5 ? ', …' : ''}.`;
  return { kind: 'problem', problem: problem('in_use', detail) };
}

/** The same response for another customer's list and for one that does not exist. */
const NO_SUCH_LIST: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'There is no such named list.'),
};

const NO_SUCH_VERSION: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'The list has no such version, or not any more.'),
};

const NOT_RESTORABLE: Readonly<Record<VersionLoss, EndpointResponse>> = {
  too_large: {
    kind: 'problem',
    problem: problem(
      'not_restorable',
      'Its write or a later one replaced more than the 16 MiB that are kept of a write.',
    ),
  },
  no_room: {
    kind: 'problem',
    problem: problem('not_restorable', 'What the writes of all lists replaced had more than the 64 MiB that are kept.'),
  },
};

const TOO_MANY_LISTS: EndpointResponse = {
  kind: 'problem',
  problem: problem('limit_reached', `There are ${NAMED_LISTS_MAX} named lists already. Delete one first.`),
};

const TOO_MANY_ITEMS: EndpointResponse = {
  kind: 'problem',
  problem: problem('limit_reached', `The lists would have more than ${NAMED_ITEMS_MAX} items. Remove some first.`),
};
