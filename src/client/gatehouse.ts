import type { ApiAnswer, ApiCallParts } from './api-call.ts';
import { apiResources, type ApiResources } from './api-resources.ts';
import type { Api, ApiCalls } from './api-types.ts';
import { callOnce, type CallResult, type FetchLike } from './call.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { CallDeadline } from './deadline.ts';
import {
  failureOfStatus,
  GatehouseError,
  GatehouseSettingError,
  GatehouseUnavailable,
  isProblem,
  type CallFailure,
} from './failure.ts';
import { OutcomeQueue, type BatchResult, type ReportedAs, type ReportInput } from './outcome-queue.ts';
import { verifyWebhookWeb } from './verify-webhook-web.ts';
import { visitorOf, type VisitorFacts, type VisitorOptions, type VisitorRequest } from './visitor.ts';
import type { VerifiedWebhook, VerifyInput } from './webhook-check.ts';
import { WebSigner } from './web-signature.ts';

export type DecisionValue = Api.Decision['decision'];

/** What is known when the service gives no decision. */
export interface UnavailableContext {
  readonly failure: CallFailure;
  readonly detail: string;
  readonly request: Api.DecideRequest;
}

export type OnUnavailable = 'allow' | 'challenge' | 'throw' | ((context: UnavailableContext) => DecisionValue);

export interface GatehouseOptions {
  /** For example `https://gatehouse.internal:8080`; a path is kept as a prefix. */
  readonly url: string;
  /** A secret key, `sk_…`. A public key, `pk_…`, can only decide. */
  readonly key: string;
  /** Total time of a decide call with its re-send; default 800. */
  readonly timeoutMs?: number;
  /** What `decide` returns when the service does not answer; default `allow`. */
  readonly onUnavailable?: OnUnavailable;
  /** Called when a decide call fails, and when outcomes are given up: for your log and your metrics. Must not throw. */
  readonly onFailure?: (event: FailureEvent) => void;
  /** Default: the runtime's `fetch`. */
  readonly fetch?: FetchLike;
}

export interface FailureEvent {
  readonly call: 'decide' | 'outcome';
  readonly failure: CallFailure | 'lost';
  readonly detail: string;
}

/** A decision of the service. */
export type MadeDecision = Api.Decision & { readonly failedOpen: false };

/** A decision by `onUnavailable`, without the service. Nothing is counted, and no outcome can be reported. */
export interface FailedOpenDecision {
  readonly failedOpen: true;
  readonly failure: CallFailure;
  readonly detail: string;
  readonly decision: DecisionValue;
  readonly request_id: null;
  readonly score: null;
  readonly reasons: readonly string[];
}

export type DecideResult = MadeDecision | FailedOpenDecision;

export interface DecideOptions {
  /** Instead of the client's. */
  readonly timeoutMs?: number;
  /** Decisions with the same key and body within 30 s are one; default: a new one for each call. At most 255 characters. */
  readonly idempotencyKey?: string;
}

const TIMEOUT_MS = 800;
/** Choice: nobody's page waits for management calls. */
const CALL_TIMEOUT_MS = 10_000;
const DECIDE_PATH = '/v1/decide';
/** Below this a re-send could not be answered in time. */
const RESEND_MS_MIN = 5;

type Refusal = Extract<CallResult, { kind: 'answer' }>;

/**
 * Client of one Gatehouse. Share one instance: it remembers outages. `decide` never waits longer than `timeoutMs` and does not reject for
 * outages unless `onUnavailable` is `throw`; it rejects with a `GatehouseError` for faults of the caller (400, 401, 403).
 */
export class Gatehouse {
  readonly #url: string;
  readonly #key: string;
  readonly #signer: WebSigner;
  readonly #fetch: FetchLike;
  readonly #options: GatehouseOptions;
  readonly #breaker = new CircuitBreaker(() => performance.now());
  readonly #outcomes: OutcomeQueue;
  readonly #api: ApiResources;
  /** How far the service's clock is ahead of ours, as its last answer about it had it. */
  #skewSeconds = 0;
  #lastFailure: CallFailure = 'unreachable';

  constructor(options: GatehouseOptions) {
    checkOptions(options);
    const { origin, pathname } = new URL(options.url);
    this.#url = origin + pathname.replace(/\/+$/, '');
    this.#key = options.key;
    this.#signer = new WebSigner(options.key);
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.#options = options;
    this.#api = apiResources((_name, method, path, parts) => this.#manage(method, path, parts));
    this.#outcomes = new OutcomeQueue(
      (reports) => this.#sendOutcomes(reports),
      (detail) => options.onFailure?.({ call: 'outcome', failure: 'lost', detail }),
    );
  }

  get lists(): ApiResources['lists'] {
    return this.#api.lists;
  }

  get namedLists(): ApiResources['namedLists'] {
    return this.#api.namedLists;
  }

  get rules(): ApiResources['rules'] {
    return this.#api.rules;
  }

  get decisions(): ApiResources['decisions'] {
    return this.#api.decisions;
  }

  get labels(): ApiResources['labels'] {
    return this.#api.labels;
  }

  get reviews(): ApiResources['reviews'] {
    return this.#api.reviews;
  }

  get webhooks(): ApiResources['webhooks'] {
    return this.#api.webhooks;
  }

  get extractions(): ApiResources['extractions'] {
    return this.#api.extractions;
  }

  /** Asks for a decision. */
  async decide(request: Api.DecideRequest, options: DecideOptions = {}): Promise<DecideResult> {
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs ?? TIMEOUT_MS;
    if (!this.#breaker.mayAsk())
      return this.#unavailable(request, this.#lastFailure, 'not asked: the last 20 requests failed within 10 s');
    const deadline = new CallDeadline(timeoutMs);
    try {
      const result = await this.#askTwice(request, options, deadline);
      if (result.kind === 'answer' && result.status === 200 && isDecision(result.body)) {
        this.#breaker.onSuccess();
        return { ...result.body, failedOpen: false };
      }
      const [failure, detail] = failureOf(result);
      if (failure === null) throw new GatehouseError((result as Refusal).status, (result as Refusal).body);
      // A limit is an answer: the service is there.
      if (failure === 'rate_limited') this.#breaker.onSuccess();
      else this.#breaker.onFailure();
      this.#lastFailure = failure;
      return this.#unavailable(request, failure, detail);
    } finally {
      deadline.end();
    }
  }

  /**
   * Reports how the action of a decision ended: in the background, in order, and again for a minute while the service is away. Resolves
   * with whether the service accepted it; never rejects. A decision that was made without the service has no outcome.
   */
  outcome(decision: Pick<DecideResult, 'request_id'> | string | null, outcome: ReportedAs): Promise<boolean> {
    const requestId = typeof decision === 'string' ? decision : decision?.request_id;
    if (requestId === undefined || requestId === null) return Promise.resolve(false);
    return this.#outcomes.add({ request_id: requestId, outcome });
  }

  /** Resolves when the outcomes reported so far are sent or given up: before a process ends, and for `waitUntil` of edge runtimes. */
  flush(): Promise<void> {
    return this.#outcomes.flush();
  }

  /** Address, agent, page and headers of a visitor, for `decide`. See `visitorOf`. */
  fromRequest(request: VisitorRequest, options?: VisitorOptions): VisitorFacts {
    return visitorOf(request, options);
  }

  /** Verifies a delivery of a webhook. On Node.js `verifyWebhook` of `@gatehouse/client/webhooks` does it without a promise. */
  verifyWebhook(input: VerifyInput): Promise<VerifiedWebhook> {
    return verifyWebhookWeb(input);
  }

  async #askTwice(request: Api.DecideRequest, options: DecideOptions, deadline: CallDeadline): Promise<CallResult> {
    const body = JSON.stringify(request);
    const idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();
    const first = await this.#ask(body, idempotencyKey, deadline);
    const waitMs = this.#waitBeforeResend(first);
    if (waitMs === null || waitMs + RESEND_MS_MIN > deadline.remainingMs) return first;
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    return this.#ask(body, idempotencyKey, deadline);
  }

  async #ask(body: string, idempotencyKey: string, deadline: CallDeadline): Promise<CallResult> {
    const signed = await this.#signer.sign({
      method: 'POST',
      path: DECIDE_PATH,
      body,
      timestampSeconds: Math.floor(Date.now() / 1_000) + this.#skewSeconds,
      requestId: crypto.randomUUID(),
    });
    const headers = { ...signed, 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey };
    return callOnce({ fetch: this.#fetch, url: this.#url + DECIDE_PATH, method: 'POST', headers, body, deadline });
  }

  /** Returns the wait before the one re-send; null if there is none. Corrects the clock where the service names its own. */
  #waitBeforeResend(result: CallResult): number | null {
    if (result.kind === 'failure') return result.failure === 'unreachable' ? 0 : null;
    const { status, body, headers } = result;
    if (status === 401 && isProblem(body)) {
      if (body.code === 'timestamp_out_of_window' && body.server_time !== undefined) {
        this.#skewSeconds = body.server_time - Math.floor(Date.now() / 1_000);
        return 0;
      }
      // A proxy sent the request twice, and the answer to the first was lost.
      return body.code === 'replayed_request' ? 0 : null;
    }
    if (status === 429 || status === 503) {
      const seconds = headers.get('retry-after');
      return seconds !== null && /^\d{1,4}$/.test(seconds) ? Number(seconds) * 1_000 : null;
    }
    // From a proxy, which may have another server by now.
    return status === 502 || status === 504 ? 0 : null;
  }

  #unavailable(request: Api.DecideRequest, failure: CallFailure, detail: string): FailedOpenDecision {
    this.#options.onFailure?.({ call: 'decide', failure, detail });
    const setting = this.#options.onUnavailable ?? 'allow';
    if (setting === 'throw') throw new GatehouseUnavailable(failure, detail);
    const decision = typeof setting === 'function' ? setting({ failure, detail, request }) : FALLBACKS[setting];
    return { failedOpen: true, failure, detail, decision, request_id: null, score: null, reasons: [] };
  }

  async #sendOutcomes(outcomes: readonly ReportInput[]): Promise<BatchResult> {
    try {
      const { rejected } = await this.#manage<'reportOutcomes'>('POST', '/v1/outcomes', { body: { outcomes } });
      return { kind: 'sent', rejected };
    } catch (error) {
      return { kind: error instanceof GatehouseError ? 'refused' : 'failed', detail: String(error) };
    }
  }

  async #manage<Name extends keyof ApiCalls>(
    method: string,
    path: string,
    parts: ApiCallParts = {},
  ): Promise<ApiAnswer<Name>> {
    const deadline = new CallDeadline(parts.timeoutMs ?? CALL_TIMEOUT_MS);
    const body = parts.body === undefined ? undefined : JSON.stringify(parts.body);
    const headers = {
      Authorization: `Bearer ${this.#key}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...parts.headers,
    };
    try {
      const url = this.#url + path + queryText(parts.query);
      const result = await callOnce({ fetch: this.#fetch, url, method, headers, body, deadline });
      if (result.kind === 'answer' && result.status >= 200 && result.status < 300)
        return (result.status === 204 ? undefined : result.body) as ApiAnswer<Name>;
      const [failure, detail] = failureOf(result);
      throw failure === null
        ? new GatehouseError((result as Refusal).status, (result as Refusal).body)
        : new GatehouseUnavailable(failure, detail);
    } finally {
      deadline.end();
    }
  }
}

const FALLBACKS: Readonly<Record<'allow' | 'challenge', DecisionValue>> = {
  allow: 'ALLOW',
  challenge: 'SOFT_CHALLENGE',
};

/** Returns null with a refusal that is the caller's fault. A 200 that is not a decision comes from something in between. */
function failureOf(result: CallResult): readonly [CallFailure | null, string] {
  if (result.kind === 'failure') return [result.failure, result.detail];
  const { status, body } = result;
  const detail = isProblem(body) ? `${status} ${body.code}: ${body.detail}` : `status ${status}`;
  return [status === 200 ? 'server_error' : failureOfStatus(status, body), detail];
}

function isDecision(body: unknown): body is Api.Decision {
  if (typeof body !== 'object' || body === null) return false;
  const { decision, request_id: requestId } = body as { readonly decision?: unknown; readonly request_id?: unknown };
  return typeof decision === 'string' && typeof requestId === 'string';
}

function queryText(query: ApiCallParts['query'] = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.append(name, String(value));
  const text = params.toString();
  return text === '' ? '' : `?${text}`;
}

function refuseOption(message: string): never {
  throw new GatehouseSettingError('invalid_option', message);
}

function checkOptions({ url, key, timeoutMs, onUnavailable = 'allow' }: GatehouseOptions): void {
  if (!/^https?:\/\/[^/?#]+[^?#]*$/i.test(url))
    refuseOption(`url is ${JSON.stringify(url)}; it must be an http or https URL without a query`);
  if (!/^[sp]k_[a-z]+_\S+$/.test(key)) refuseOption('key must be a key such as sk_live_…');
  if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= 60_000))
    refuseOption(`timeoutMs is ${timeoutMs}; it must be over 0 and at most 60,000`);
  if (typeof onUnavailable !== 'function' && !['allow', 'challenge', 'throw'].includes(onUnavailable))
    refuseOption('onUnavailable must be "allow", "challenge", "throw" or a function');
}
