import type { ApiCall, ApiCallBody, ApiQuery } from './api-call.ts';
import type { Api } from './api-types.ts';
import { extractionRecords, type RecordsOptions } from './extraction-records.ts';
import { namedItems, type NamedItemsOptions, type NamedWriteOptions } from './named-list-items.ts';

const at = (...segments: readonly (string | number)[]): string =>
  ['', 'v1', ...segments.map((segment) => encodeURIComponent(segment))].join('/');

export type ApiResources = ReturnType<typeof apiResources>;

/** The management calls by what they are about. Names and fields are those of docs/api.md. */
export function apiResources(call: ApiCall) {
  return {
    lists: listCalls(call),
    namedLists: namedListCalls(call),
    rules: ruleCalls(call),
    decisions: {
      search: (query?: ApiQuery<'searchDecisions'>) => call('searchDecisions', 'GET', at('decisions'), { query }),
      get: (requestId: string) => call('findDecision', 'GET', at('decisions', requestId)),
      simulate: (body: Api.DecideRequest) => call('simulateDecision', 'POST', at('simulate'), { body }),
    },
    labels: {
      set: (body: ApiCallBody<'labelDecision'>) => call('labelDecision', 'POST', at('labels'), { body }),
    },
    reviews: {
      list: (query?: ApiQuery<'listShadowReviews'>) =>
        call('listShadowReviews', 'GET', at('shadow-reviews'), { query }),
      judge: (requestId: string, body: ApiCallBody<'judgeShadowReview'>) =>
        call('judgeShadowReview', 'POST', at('shadow-reviews', requestId), { body }),
    },
    webhooks: webhookCalls(call),
    extractions: extractionCalls(call),
  };
}

function listCalls(call: ApiCall) {
  return {
    list: (query?: ApiQuery<'listEntries'>) => call('listEntries', 'GET', at('lists'), { query }),
    get: (kind: string, value: string) => call('findValueEntry', 'GET', at('lists', kind, value)),
    put: (body: ApiCallBody<'putEntry'>) => call('putEntry', 'POST', at('lists'), { body }),
    putAll: (body: ApiCallBody<'putEntries'>, query?: ApiQuery<'putEntries'>) =>
      call('putEntries', 'POST', at('lists', 'batch'), { body, query }),
    remove: (kind: string, value: string) => call('removeValueEntry', 'DELETE', at('lists', kind, value)),
    candidates: (query?: ApiQuery<'searchCandidates'>) =>
      call('searchCandidates', 'GET', at('lists', 'candidates'), { query }),
  };
}

const itemsOf = (name: string): string => at('named-lists', name, 'items');

function namedListCalls(call: ApiCall) {
  const change = (name: string, body: ApiCallBody<'changeNamedItems'>) =>
    call('changeNamedItems', 'POST', itemsOf(name), { body });
  return {
    list: () => call('listNamedLists', 'GET', at('named-lists')),
    put: (name: string, body: ApiCallBody<'putNamedList'>) =>
      call('putNamedList', 'PUT', at('named-lists', name), { body }),
    remove: (name: string) => call('deleteNamedList', 'DELETE', at('named-lists', name)),
    /** At most 10,000 items a call. `import`: the same in several calls makes one version of them. */
    add: (name: string, add: NonNullable<Api.NamedItemsChange['add']>, options: NamedWriteOptions = {}) =>
      change(name, { add, ...options }),
    removeItems: (name: string, remove: NonNullable<Api.NamedItemsChange['remove']>, options: NamedWriteOptions = {}) =>
      change(name, { remove, ...options }),
    versions: (name: string) => call('listNamedVersions', 'GET', at('named-lists', name, 'versions')),
    restore: (name: string, version: number) =>
      call('restoreNamedList', 'POST', at('named-lists', name, 'restore'), { body: { version } }),
    /** The items of a list, one after another. */
    items: (name: string, options?: NamedItemsOptions) => namedItems(call, itemsOf(name), options),
  };
}

function ruleCalls(call: ApiCall) {
  return {
    list: () => call('listRules', 'GET', at('rules')),
    facts: () => call('listFacts', 'GET', at('rules', 'facts')),
    check: (body: ApiCallBody<'checkRule'>) => call('checkRule', 'POST', at('rules', 'check'), { body }),
    get: (code: string) => call('findRule', 'GET', at('rules', code)),
    put: (code: string, body: ApiCallBody<'putRule'>) => call('putRule', 'PUT', at('rules', code), { body }),
    change: (code: string, body: ApiCallBody<'changeRule'>) => call('changeRule', 'PATCH', at('rules', code), { body }),
    remove: (code: string) => call('deleteRule', 'DELETE', at('rules', code)),
  };
}

function webhookCalls(call: ApiCall) {
  return {
    list: (query?: ApiQuery<'listWebhooks'>) => call('listWebhooks', 'GET', at('webhooks'), { query }),
    get: (id: string) => call('findWebhook', 'GET', at('webhooks', id)),
    create: (body: ApiCallBody<'createWebhook'>) => call('createWebhook', 'POST', at('webhooks'), { body }),
    change: (id: string, body: ApiCallBody<'changeWebhook'>) =>
      call('changeWebhook', 'PATCH', at('webhooks', id), { body }),
    remove: (id: string) => call('deleteWebhook', 'DELETE', at('webhooks', id)),
    test: (id: string) => call('testWebhook', 'POST', at('webhooks', id, 'test')),
    rotate: (id: string, body?: ApiCallBody<'rotateSecret'>) =>
      call('rotateSecret', 'POST', at('webhooks', id, 'rotate'), { body }),
    recover: (id: string, body: ApiCallBody<'recoverDeliveries'>) =>
      call('recoverDeliveries', 'POST', at('webhooks', id, 'recover'), { body }),
    deliveries: (query?: ApiQuery<'listDeliveries'>) =>
      call('listDeliveries', 'GET', at('webhooks', 'deliveries'), { query }),
    retry: (deliveryId: string) => call('retryDelivery', 'POST', at('webhooks', 'deliveries', deliveryId, 'retry')),
  };
}

function extractionCalls(call: ApiCall) {
  return {
    list: (query?: ApiQuery<'listExtractions'>) => call('listExtractions', 'GET', at('extractions'), { query }),
    /** `idempotencyKey`: a second call with it within 24 hours returns the first job. */
    create: (body: Api.ExtractionRequest, options: { readonly idempotencyKey?: string } = {}) =>
      call('createExtraction', 'POST', at('extractions'), {
        body,
        ...(options.idempotencyKey !== undefined && { headers: { 'Idempotency-Key': options.idempotencyKey } }),
        // A job with delivery of type sync is answered when it has ended.
        timeoutMs: 130_000,
      }),
    get: (id: string) => call('findExtraction', 'GET', at('extractions', id)),
    cancel: (id: string) => call('cancelExtraction', 'POST', at('extractions', id, 'cancel')),
    /** The records of a job, one after another: waits for its end, or with `partial` reads what there is. */
    records: (id: string, options?: RecordsOptions) => extractionRecords(call, at('extractions', id), options),
  };
}
