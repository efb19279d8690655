import type { CustomerNumber } from '../kernel/brand.ts';
import { type KeyRights, sortedScopes } from '../kernel/key-scopes.ts';
import { KEY_PREFIX_CHARACTERS } from '../kernel/key-text.ts';
import { KEYS_VALID_PER_CUSTOMER_MAX, RATE_SECRET_KEY } from '../kernel/limits.ts';
import { areWithin } from '../kernel/network-set.ts';
import { isTestCustomer, liveCustomerOf, testCustomerOf } from '../kernel/test-customers.ts';
import { QUERIES, ROUTES } from '../contract/routes.ts';
import { problem } from '../contract/problem.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { KeyUse, KeyUseReader } from '../ports/key-use.ts';
import type { Committer, KeyGrant } from '../state/feed/changes.ts';
import { type GrantedKeys, newGrantedKeys, newReplacement } from '../state/feed/key-changes.ts';
import { type ApiKey, type ApiKeys, isKeyOver } from '../state/tables/key-table.ts';
import { originOf } from './kit/actor.ts';
import { schemaBody } from './kit/body-readers.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { AnyRequest, Caller, EndpointHandler, EndpointRequest, EndpointResponse } from './kit/endpoint-types.ts';
import { type Cursors, FOREIGN_CURSOR, readPage } from './kit/paging.ts';
import type { BodyOf } from './kit/request-body.ts';
import { pageAnswer } from './kit/response-pieces.ts';
import { readPlace, writePlace } from './decision-query.ts';
import { withOptionalBody } from './webhook-handlers.ts';

/** Dependencies of the endpoints for a customer's keys. Source: contract, 3.10 and 9.7. */
export interface KeyParts {
  readonly apiKeys: Pick<ApiKeys, 'version' | 'loadAll'>;
  readonly keyUse: KeyUseReader;
  readonly changes: Committer;
  readonly cursors: Cursors;
}

const KEYS_ROUTE = ROUTES.listKeys.path;
const NEW_KEY_BODY = schemaBody('createKey');
const ROTATION_BODY = schemaBody('rotateKey');

export function keyHandlers(
  endpoint: EndpointFactory,
  { apiKeys, keyUse, changes, cursors }: KeyParts,
): SecretHandlers<'listKeys' | 'createKey' | 'rotateKey' | 'revokeKey'> {
  const keys = new KeysByCustomer(apiKeys);
  return { listKeys: endpoint({}, listHandler(keys, keyUse, cursors)), ...writingHandlers(endpoint, keys, changes) };
}

function listHandler(keys: KeysByCustomer, keyUse: KeyUseReader, cursors: Cursors): EndpointHandler {
  return async (request) => {
    const read = readPage(request, cursors, KEYS_ROUTE, QUERIES.listKeys);
    if (read.kind === 'problem') return read;
    const [after] = read.after === null ? [0] : (readPlace(read.after, 1) ?? []);
    if (after === undefined) return FOREIGN_CURSOR;
    const { customer } = request.caller;
    const later = keys.of(customer).filter(({ number }) => number > after);
    const rows = later.slice(0, read.limit);
    const last = rows.at(-1);
    const hasMore = later.length > rows.length && last !== undefined;
    const next = hasMore ? cursors.issue(KEYS_ROUTE, customer, writePlace(last.number)) : null;
    const numbers = rows.map(({ number }) => number);
    const uses = await keyUse.readAll(numbers, request.nowSeconds, request.coverage);
    const used = rows.flatMap((key, at) => {
      const use = uses[at];
      return use === undefined ? [] : [{ key, use }];
    });
    return pageAnswer(request.slices, used, ({ key, use }) => showKey(key, use, request), next);
  };
}

function writingHandlers(
  endpoint: EndpointFactory,
  keys: KeysByCustomer,
  changes: Committer,
): SecretHandlers<'createKey' | 'rotateKey' | 'revokeKey'> {
  const create: EndpointHandler<BodyOf<typeof NEW_KEY_BODY>> = async (request) => {
    const { caller, nowSeconds, body: read } = request;
    if (read.kind === 'problem') return read;
    const own = keys.ofCaller(caller);
    const { name, scopes, expires_at: expiresAt, networks, gate, test: isTest } = read.value;
    if (typeof expiresAt === 'number' && expiresAt <= nowSeconds) return EXPIRED;
    if (isTest === false && isTestCustomer(caller.customer)) return BEYOND_OWN;
    const grant: KeyGrant = {
      name,
      scopes: sortedScopes(gate === true ? ['gate'] : (scopes ?? own.scopes.filter((scope) => scope !== 'gate'))),
      expiresAtSeconds: expiresAt ?? own.expiresAtSeconds,
      networks: networks ?? own.networks,
    };
    if (!isWithin(grant, own)) return BEYOND_OWN;
    const customer = isTest === true ? testCustomerOf(caller.customer) : caller.customer;
    const made = newGrantedKeys(customer, grant, {
      rateLimit: own.rateLimit === RATE_SECRET_KEY ? null : own.rateLimit,
      validKeysMax: KEYS_VALID_PER_CUSTOMER_MAX,
      taken: new Set(keys.of(caller.customer).map(({ prefix }) => prefix)),
    });
    const written = await changes.commit(made.change, originOf(request));
    if (written.kind === 'fault') return written;
    return written.value === 'limit_reached' ? LIMIT_REACHED : answerOf(made, grant);
  };

  const revoke: EndpointHandler = async (request) => {
    const found = keys.valid(request.caller.customer, request);
    if (found === null) return KEY_NOT_FOUND;
    const revoked = await changes.commit({ kind: 'key.revoked', hash: found.hash }, originOf(request));
    if (revoked.kind === 'fault') return revoked;
    return revoked.value === 'revoked' ? { kind: 'empty', status: 204 } : KEY_NOT_FOUND;
  };

  return {
    createKey: endpoint({ body: NEW_KEY_BODY }, create),
    rotateKey: withOptionalBody(endpoint, ROTATION_BODY, rotateHandler(keys, changes)),
    revokeKey: endpoint({}, revoke),
  };
}

function rotateHandler(keys: KeysByCustomer, changes: Committer): EndpointHandler<BodyOf<typeof ROTATION_BODY> | null> {
  return async (request) => {
    const { caller, nowSeconds, body: read } = request;
    if (read?.kind === 'problem') return read;
    const graceSeconds = read?.value.grace_seconds ?? 0;
    const found = keys.valid(caller.customer, request);
    if (found === null) return KEY_NOT_FOUND;
    if (!isWithin(found, keys.ofCaller(caller))) return BEYOND_OWN;
    const taken = new Set(keys.of(caller.customer).map(({ prefix }) => prefix));
    const made = newReplacement(found, taken, graceSeconds === 0 ? null : KEYS_VALID_PER_CUSTOMER_MAX);
    const written = await changes.commit(made.change, originOf(request));
    if (written.kind === 'fault') return written;
    if (written.value === 'limit_reached') return LIMIT_REACHED;
    const { hash } = found;
    const replacedBy = made.secret.slice(0, KEY_PREFIX_CHARACTERS);
    // The new key is durable before the old one ends.
    const ended = await changes.commit(
      graceSeconds === 0
        ? { kind: 'key.revoked', hash }
        : { kind: 'key.replaced', hash, replacedBy, endSeconds: nowSeconds + graceSeconds },
      originOf(request),
    );
    return ended.kind === 'fault' ? ended : answerOf(made, found, found.kind);
  };
}

/** Returns whether one key has no more rights than the other. An empty list of networks stands for every address. */
function isWithin(wanted: KeyRights, own: KeyRights): boolean {
  const isLasting = (wanted.expiresAtSeconds ?? Infinity) > (own.expiresAtSeconds ?? Infinity);
  const isNear = own.networks.length === 0 || (wanted.networks.length > 0 && areWithin(wanted.networks, own.networks));
  return !isLasting && isNear && wanted.scopes.every((scope) => own.scopes.includes(scope));
}

/** The only response that has the text of a key. */
function answerOf(made: GrantedKeys, grant: KeyGrant, kind: ApiKey['kind'] = 'secret'): EndpointResponse {
  const { name, scopes, networks, expiresAtSeconds } = grant;
  const body = {
    prefix: made.secret.slice(0, KEY_PREFIX_CHARACTERS),
    name,
    test: isTestCustomer(made.change.customer),
    scopes,
    networks,
    expires_at: expiresAtSeconds,
    ...(kind === 'secret' ? { secret_key: made.secret } : { public_key: made.secret }),
    ...(made.public !== null && { public_key: made.public }),
  };
  return { kind: 'json', status: 201, body };
}

function showKey(
  key: ApiKey,
  { calls, refusals, lastUsedSeconds, sinceSeconds }: KeyUse,
  { caller }: EndpointRequest,
): Readonly<Record<string, unknown>> {
  return {
    prefix: key.prefix,
    name: key.name,
    kind: key.kind,
    test: isTestCustomer(key.customer),
    scopes: key.scopes,
    networks: key.networks,
    created_at: key.createdAtSeconds,
    expires_at: key.expiresAtSeconds,
    revoked_at: key.revokedAtSeconds,
    replaced_by: key.replacedBy === '' ? null : key.replacedBy,
    rate_limit: key.rateLimit,
    origins: key.origins,
    is_current: key.number === caller.key.number,
    usage: { since: sinceSeconds, calls, refusals: Object.fromEntries(refusals), last_used_at: lastUsedSeconds },
  };
}

/** The stored keys by customer, read again when any key has changed, as the key cache is. Live keys see the test keys too. */
class KeysByCustomer {
  readonly #apiKeys: Pick<ApiKeys, 'version' | 'loadAll'>;
  #version = -1;
  #keys: ReadonlyMap<CustomerNumber, readonly ApiKey[]> = new Map();

  constructor(apiKeys: Pick<ApiKeys, 'version' | 'loadAll'>) {
    this.#apiKeys = apiKeys;
  }

  /** In the order of their creation. */
  of(customer: CustomerNumber): readonly ApiKey[] {
    const version = this.#apiKeys.version();
    if (version !== this.#version) {
      const keys = new Map<CustomerNumber, ApiKey[]>();
      for (const key of this.#apiKeys.loadAll()) {
        for (const seenBy of new Set([key.customer, liveCustomerOf(key.customer)]))
          keys.set(seenBy, [...(keys.get(seenBy) ?? []), key]);
      }
      this.#keys = keys;
      this.#version = version;
    }
    return this.#keys.get(customer) ?? [];
  }

  /** Throws if the store has lost the key that the call was made with. */
  ofCaller({ customer, key }: Caller): ApiKey {
    const own = this.of(customer).find(({ number }) => number === key.number);
    if (own === undefined) throw new Error('the calling key is not in the store');
    return own;
  }

  /** Returns the customer's valid key with the prefix of the path; null if there is none, or more than one. */
  valid(customer: CustomerNumber, { params, nowSeconds }: Pick<AnyRequest, 'params' | 'nowSeconds'>): ApiKey | null {
    const [found, ...others] = this.of(customer).filter(
      (key) => key.prefix === params['prefix'] && !isKeyOver(key, nowSeconds),
    );
    return found === undefined || others.length > 0 ? null : found;
  }
}

const EXPIRED: EndpointResponse = {
  kind: 'problem',
  problem: problem('validation_failed', 'A field is not valid.', {
    errors: [{ pointer: '/expires_at', code: 'invalid_value', message: 'This must be in the future.' }],
  }),
};

const KEY_NOT_FOUND: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'You have no valid key that begins so, or more than one.'),
};

const BEYOND_OWN: EndpointResponse = {
  kind: 'problem',
  problem: problem('key_not_allowed', 'A key gets at most the scopes, networks and expiry of the key that makes it.'),
};

const LIMIT_REACHED: EndpointResponse = {
  kind: 'problem',
  problem: problem('limit_reached', `There are at most ${KEYS_VALID_PER_CUSTOMER_MAX} valid keys. Revoke one first.`),
};
