import * as z from 'zod';
import {
  DECIDE_BODY_BYTES_MAX,
  GRANT_BODY_BYTES_MAX,
  MANAGED_BODY_BYTES_MAX,
  SIGN_IN_BODY_BYTES_MAX,
} from '../kernel/limits.ts';
import type { KeyScope } from '../kernel/key-scopes.ts';
import { EXTRACTION_QUERIES } from './extraction-queries.ts';
import * as link from './link-forms.ts';
import { LIST_QUERIES, USAGE } from './list-queries.ts';
import { decisionFilter, nameOf, oneOf, PAGE, SEARCH_TEXT, wholeNumber } from './parameters.ts';
import { HASH } from './requests/list-requests.ts';
import {
  AUDIT_KINDS,
  DELIVERY_STATUSES,
  DELIVERY_EVENTS,
  EXPLANATION_LANGUAGES,
  REVIEW_ORDERS,
  REVIEW_QUEUES,
  REVIEW_REASONS,
  REVIEW_STATES,
  VERDICTS,
} from './vocabulary.ts';

/**
 * Who may call an endpoint. `none`: anyone. `secret`: a secret key, signed or as a Bearer token. `public_or_secret`: either key, signed.
 * `public`: a public key, with or without a signature. `gate`: a secret key with the scope gate, as a Bearer token. `metrics_token`: the
 * operator's token, or a loopback address if no token is set. `sign_in`: the body has the credentials. `session`: a dashboard session.
 */
export type Access =
  | 'none'
  | 'secret'
  | 'public_or_secret'
  | 'public'
  | 'gate'
  | 'metrics_token'
  | 'sign_in'
  | 'session';

export interface RouteSpec {
  /** GET serves HEAD too. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Exact, or with parameters for whole segments: `/v1/lists/{fingerprint_hash}`. */
  readonly path: string;
  readonly access: Access;
  /** 0 if the endpoint accepts no body. */
  readonly bodyBytesMax: number;
  /** Scripts of web pages may call it from the origins that their public key allows. Source: contract, 2.7. */
  readonly cors?: true;
  /** The scope that a key needs; with the access `secret` or `public_or_secret` only. Source: contract, 3.10. */
  readonly scope?: KeyScope;
}

/**
 * Every endpoint of the service, in the order of the documentation. This file is the part of `ENDPOINTS` that the server needs when it
 * starts. It does not load the texts and the schemas of responses, which take 10 ms of a start to build.
 *
 * To add an endpoint, see docs/adding.md.
 */
export const ROUTES = {
  decide: {
    method: 'POST',
    path: '/v1/decide',
    access: 'public_or_secret',
    bodyBytesMax: DECIDE_BODY_BYTES_MAX,
    cors: true,
    scope: 'decide',
  },

  askGate: { method: 'GET', path: '/v1/gate', access: 'gate', bodyBytesMax: 0 },
  postToGate: { method: 'POST', path: '/v1/gate', access: 'gate', bodyBytesMax: 0 },

  simulateDecision: secret('POST', '/v1/simulate', 'read'),

  readMe: secret('GET', '/v1/me'),
  listKeys: secret('GET', '/v1/keys'),
  createKey: secret('POST', '/v1/keys', 'admin'),
  rotateKey: secret('POST', '/v1/keys/{prefix}/rotate', 'admin'),
  revokeKey: secret('DELETE', '/v1/keys/{prefix}', 'admin'),

  searchDecisions: secret('GET', '/v1/decisions'),
  findDecision: secret('GET', '/v1/decisions/{request_id}'),
  explainToPerson: secret('GET', '/v1/decisions/{request_id}/explanation'),
  findLinks: secret('GET', '/v1/links'),
  findFingerprint: secret('GET', '/v1/fingerprints/{fingerprint_hash}'),
  readStats: secret('GET', '/v1/stats'),
  readTop: secret('GET', '/v1/top'),

  readPolicy: secret('GET', '/v1/policy'),
  listPolicyHistory: secret('GET', '/v1/policy/history'),
  readRuleCounts: secret('GET', '/v1/policy/rules'),
  readChallenger: secret('GET', '/v1/policy/challenger'),
  startBacktest: secret('POST', '/v1/policy/backtest', 'read'),
  findBacktest: secret('GET', '/v1/policy/backtest/{id}'),
  cancelBacktest: secret('POST', '/v1/policy/backtest/{id}/cancel'),
  listRules: secret('GET', '/v1/rules'),
  listFacts: secret('GET', '/v1/rules/facts'),
  checkRule: secret('POST', '/v1/rules/check', 'read'),
  findRule: secret('GET', '/v1/rules/{code}'),
  putRule: secret('PUT', '/v1/rules/{code}'),
  changeRule: secret('PATCH', '/v1/rules/{code}'),
  deleteRule: secret('DELETE', '/v1/rules/{code}'),

  listEntries: secret('GET', '/v1/lists'),
  putEntry: secret('POST', '/v1/lists'),
  putEntries: secret('POST', '/v1/lists/batch'),
  searchCandidates: secret('GET', '/v1/lists/candidates'),
  findEntry: secret('GET', '/v1/lists/{fingerprint_hash}'),
  removeEntry: secret('DELETE', '/v1/lists/{fingerprint_hash}'),
  removeEntryByQuery: secret('DELETE', '/v1/lists'),
  findValueEntry: secret('GET', '/v1/lists/{kind}/{value}'),
  removeValueEntry: secret('DELETE', '/v1/lists/{kind}/{value}'),
  listNamedLists: secret('GET', '/v1/named-lists'),
  putNamedList: secret('PUT', '/v1/named-lists/{name}'),
  deleteNamedList: secret('DELETE', '/v1/named-lists/{name}'),
  listNamedItems: secret('GET', '/v1/named-lists/{name}/items'),
  changeNamedItems: secret('POST', '/v1/named-lists/{name}/items'),
  listNamedVersions: secret('GET', '/v1/named-lists/{name}/versions'),
  restoreNamedList: secret('POST', '/v1/named-lists/{name}/restore'),

  reportOutcomes: secret('POST', '/v1/outcomes', 'decide'),
  labelDecision: secret('POST', '/v1/labels'),
  listShadowReviews: secret('GET', '/v1/shadow-reviews'),
  judgeShadowReview: secret('POST', '/v1/shadow-reviews/{request_id}'),

  listWebhooks: secret('GET', '/v1/webhooks'),
  createWebhook: secret('POST', '/v1/webhooks'),
  listDeliveries: secret('GET', '/v1/webhooks/deliveries'),
  findDelivery: secret('GET', '/v1/webhooks/deliveries/{id}'),
  retryDelivery: secret('POST', '/v1/webhooks/deliveries/{id}/retry'),
  findWebhook: secret('GET', '/v1/webhooks/{id}'),
  changeWebhook: secret('PATCH', '/v1/webhooks/{id}'),
  deleteWebhook: secret('DELETE', '/v1/webhooks/{id}'),
  testWebhook: secret('POST', '/v1/webhooks/{id}/test'),
  rotateSecret: secret('POST', '/v1/webhooks/{id}/rotate'),
  recoverDeliveries: secret('POST', '/v1/webhooks/{id}/recover'),

  listExtractions: secret('GET', '/v1/extractions'),
  createExtraction: secret('POST', '/v1/extractions'),
  findExtraction: secret('GET', '/v1/extractions/{id}'),
  cancelExtraction: secret('POST', '/v1/extractions/{id}/cancel'),
  listRecords: secret('GET', '/v1/extractions/{id}/records'),

  listWatches: secret('GET', '/v1/watches'),
  createWatch: secret('POST', '/v1/watches'),
  findWatch: secret('GET', '/v1/watches/{id}'),
  changeWatch: secret('PATCH', '/v1/watches/{id}'),
  deleteWatch: secret('DELETE', '/v1/watches/{id}'),
  runWatch: secret('POST', '/v1/watches/{id}/run'),
  rotateFeedToken: secret('POST', '/v1/watches/{id}/feed-token'),
  listWatchChanges: secret('GET', '/v1/watches/{id}/changes'),

  listSessions: secret('GET', '/v1/sessions'),
  createSession: secret('POST', '/v1/sessions'),
  findSession: secret('GET', '/v1/sessions/{id}'),
  deleteSession: secret('DELETE', '/v1/sessions/{id}'),

  listConnectors: secret('GET', '/v1/connectors'),
  findConnector: secret('GET', '/v1/connectors/{id}'),
  listAudit: secret('GET', '/v1/audit'),
  erasePerson: secret('POST', '/v1/privacy/erase', 'admin'),
  exportPerson: secret('POST', '/v1/privacy/export', 'admin'),
  findPrivacyJob: secret('GET', '/v1/privacy/{id}', 'admin'),
  readPersonExport: secret('GET', '/v1/privacy/{id}/result', 'admin'),
  readModels: secret('GET', '/v1/models'),
  readModelRows: secret('GET', '/v1/models/rows'),
  compareModels: secret('GET', '/v1/models/compare'),
  chooseModel: secret('POST', '/v1/models/choose', 'admin'),

  signIn: { method: 'POST', path: '/dashboard/session', access: 'sign_in', bodyBytesMax: SIGN_IN_BODY_BYTES_MAX },
  signOut: { method: 'POST', path: '/dashboard/logout', access: 'session', bodyBytesMax: SIGN_IN_BODY_BYTES_MAX },
  readSignIn: { method: 'GET', path: '/dashboard/api/session', access: 'session', bodyBytesMax: 0 },

  collectorScript: { method: 'GET', path: '/v1/collector.js', access: 'none', bodyBytesMax: 0 },
  collectorModule: { method: 'GET', path: '/v1/collector.mjs', access: 'none', bodyBytesMax: 0 },
  collectorVersion: { method: 'GET', path: '/v1/collector/{file}', access: 'none', bodyBytesMax: 0 },
  issueGrant: {
    method: 'POST',
    path: '/v1/collector/grant',
    access: 'public',
    bodyBytesMax: GRANT_BODY_BYTES_MAX,
    cors: true,
  },

  health: { method: 'GET', path: '/healthz', access: 'none', bodyBytesMax: 0 },
  readiness: { method: 'GET', path: '/readyz', access: 'none', bodyBytesMax: 0 },
  openApi: { method: 'GET', path: '/openapi.json', access: 'none', bodyBytesMax: 0 },
  metrics: { method: 'GET', path: '/metrics', access: 'metrics_token', bodyBytesMax: 0 },
} as const satisfies Readonly<Record<string, RouteSpec>>;

export type EndpointId = keyof typeof ROUTES;

/** Endpoints that take a secret key. */
export type SecretEndpointId = {
  [Id in EndpointId]: (typeof ROUTES)[Id]['access'] extends 'secret' ? Id : never;
}[EndpointId];

/** Endpoints of the dashboard alone: they are served where the dashboard is. */
export type DashboardEndpointId = {
  [Id in EndpointId]: (typeof ROUTES)[Id]['access'] extends 'sign_in' | 'session' ? Id : never;
}[EndpointId];

interface SecretRoute<Method extends RouteSpec['method'], Path extends string> extends RouteSpec {
  readonly method: Method;
  readonly path: Path;
  readonly access: 'secret';
  readonly scope: KeyScope;
}

/** GET and DELETE take no body. A GET needs the scope `read`, all others `write`, unless another one is named. */
function secret<Method extends RouteSpec['method'], Path extends string>(
  method: Method,
  path: Path,
  scope: KeyScope = method === 'GET' ? 'read' : 'write',
): SecretRoute<Method, Path> {
  const takesBody = method === 'POST' || method === 'PUT' || method === 'PATCH';
  return { method, path, access: 'secret', scope, bodyBytesMax: takesBody ? MANAGED_BODY_BYTES_MAX : 0 };
}

/** Parameter → schema. */
export type Shape = Readonly<Record<string, z.ZodType>>;

/** Choice: an unknown but well-formed name gives an empty page; malformed text is a 400. The store never looks up longer ids. */
const id = (what: string): z.ZodString => z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, `This must be ${what}.`);

const unixTime = wholeNumber(0, 1e11, 'This must be a time in whole Unix seconds.');
const wholeScore = wholeNumber(0, 100, 'This must be a whole number from 0 to 100.');

/** A range of time, the last 24 hours by default. */
const RANGE = {
  from: unixTime.optional().meta({ description: 'Unix seconds; by default 24 hours before to' }),
  to: wholeNumber(1, 1e11, 'This must be a time in whole Unix seconds.')
    .optional()
    .meta({ description: 'Unix seconds, exclusive; by default now' }),
};

const seconds = wholeNumber(0, 253_402_300_799, 'This must be a number of Unix seconds.');

/**
 * The query parameters of each endpoint that has any. The OpenAPI document describes them, and the endpoints read them with `readQuery`;
 * the message of a schema is the message on the wire. Values are text on the wire; the schemas describe the value that the text
 * represents.
 */
export const QUERIES = {
  explainToPerson: {
    for: oneOf(['person'])
      .default('person')
      .meta({ description: 'For whom it is: the person whom the decision is about' }),
    lang: oneOf(EXPLANATION_LANGUAGES).default('en').meta({ description: 'The language of the sentences' }),
  },
  readPersonExport: {
    format: oneOf(['ndjson', 'html']).default('ndjson').meta({ description: 'NDJSON, or one page for people' }),
  },
  searchDecisions: {
    ...PAGE,
    decision: decisionFilter('Only decisions of this value'),
    q: SEARCH_TEXT,
    since: unixTime.optional().meta({ description: 'Only decisions of this time and later, Unix seconds' }),
    until: unixTime.optional().meta({ description: 'Only decisions before this time, Unix seconds' }),
    event_type: z
      .string()
      .max(64, 'This must have at most 64 characters.')
      .optional()
      .meta({ description: 'Only decisions of this event type; case-insensitive' }),
    reason: nameOf('the code of a reason').optional().meta({ description: 'Only decisions with this reason' }),
    score_min: wholeScore.optional().meta({ description: 'Only decisions with at least this score' }),
    score_max: wholeScore.optional().meta({ description: 'Only decisions with at most this score' }),
    asn: wholeNumber(1, 4_294_967_295, 'This must be the number of a network, such as 64496.')
      .optional()
      .meta({ description: 'Only decisions whose address belongs to this network (ASN)' }),
    path: z
      .string()
      .regex(/^\/.{0,99}$/u, 'This must begin with a slash and have at most 100 characters.')
      .optional()
      .meta({ description: 'Only decisions whose path begins with this; case-sensitive' }),
    email_domain: z
      .string()
      .regex(/^[^\s@]{1,253}$/u, 'This must be a domain, without @.')
      .optional()
      .meta({
        description:
          'Only decisions with an e-mail address of this domain. Finds nothing unless the policy keeps identities (`log_identities`: ' +
          '`masked` or `plain`)',
      }),
    fingerprint_hash: z
      .string()
      .regex(HASH, 'This must be 64 hex digits.')
      .optional()
      .meta({ description: 'Only decisions with this fingerprint' }),
    link: z
      .string()
      .regex(link.LINK, link.LINK_MESSAGE)
      .optional()
      .meta({ description: `Only decisions with this link, as <kind>:<value>. ${link.LINK_VALUES}` }),
    after: id('the id of a decision')
      .optional()
      .meta({ description: 'Only decisions that were logged after this one; 404 if it is not in the log any more' }),
  },
  findLinks: {
    kind: z
      .string(link.LINK_KIND_MESSAGE)
      .regex(link.LINK_KIND, link.LINK_KIND_MESSAGE)
      .meta({ description: 'session, ip, network, fingerprint, or entity.<name>' }),
    value: z
      .string(link.LINK_VALUE_MESSAGE)
      .min(1, link.LINK_VALUE_MESSAGE)
      .max(link.LINK_VALUE_CHARACTERS_MAX, link.LINK_VALUE_MESSAGE)
      .meta({ description: link.LINK_VALUES }),
  },
  readStats: {
    from: unixTime
      .optional()
      .meta({ description: 'Unix seconds; by default 60 minutes, 24 hours or 30 days before to' }),
    to: wholeNumber(1, 1e11, 'This must be a time in whole Unix seconds.')
      .optional()
      .meta({ description: 'Unix seconds, exclusive; by default now' }),
    step: oneOf(['60', '3600', '86400']).default('3600').meta({ description: 'Seconds of a period' }),
  },
  readTop: {
    by: z
      .string(link.TOP_MESSAGE)
      .regex(link.TOP_BY, link.TOP_MESSAGE)
      .meta({ description: 'The subjects that are counted; identity stands for every entity.<name>' }),
    count: oneOf(['decisions', 'flagged', 'identities', 'fingerprints', 'addresses', 'networks', 'sessions'])
      .default('decisions')
      .meta({
        description:
          'What is counted of each subject: its decisions, those that are not ALLOW, or distinct others on its decisions',
      }),
    ...RANGE,
  },
  readRuleCounts: RANGE,
  ...LIST_QUERIES,
  searchCandidates: {
    ...PAGE,
    usage: USAGE,
    decision: decisionFilter('Only decisions of this value; ALLOW gives an empty page'),
    q: SEARCH_TEXT,
  },
  listShadowReviews: {
    ...PAGE,
    verdict: z
      .enum(['none', ...VERDICTS], 'This must be none, fraud, legitimate or unsure.')
      .optional()
      .meta({ description: 'Only rows with this verdict; `none` for rows without a verdict' }),
    why: z
      .enum(REVIEW_REASONS, 'This must be sample, near_block, challenger or review.')
      .optional()
      .meta({ description: 'Only rows that are queued for this reason' }),
    queue: oneOf(REVIEW_QUEUES).default('shadow').meta({
      description:
        '`shadow`: decisions whose response had shadow_routed set. `review`: every REVIEW decision. `all`: both',
    }),
    state: oneOf(REVIEW_STATES)
      .optional()
      .meta({ description: '`open`: only rows without a verdict that were not closed. `done`: only the others' }),
    order: oneOf(REVIEW_ORDERS)
      .default('newest')
      .meta({ description: '`score`: the highest first, of the newest 10,000 rows' }),
  },
  listWebhooks: PAGE,
  listDeliveries: {
    ...PAGE,
    webhook_id: id('the id of a webhook').optional().meta({ description: 'Only deliveries to this webhook' }),
    request_id: id('the id of a decision or an extraction')
      .optional()
      .meta({ description: 'Only deliveries about this decision or extraction' }),
    status: oneOf(DELIVERY_STATUSES).optional().meta({ description: 'Only deliveries with this status' }),
    event: oneOf(DELIVERY_EVENTS).optional().meta({ description: 'Only deliveries of this event' }),
  },
  ...EXTRACTION_QUERIES,
  listKeys: PAGE,
  listSessions: PAGE,
  listConnectors: PAGE,
  listAudit: {
    ...PAGE,
    kind: oneOf(AUDIT_KINDS).optional().meta({ description: 'Only entries of this kind' }),
    since: seconds.optional().meta({ description: 'Only entries from then on, Unix seconds' }),
    until: seconds.optional().meta({ description: 'Only entries before then, Unix seconds' }),
  },
} satisfies Readonly<Partial<Record<EndpointId, Shape>>>;
