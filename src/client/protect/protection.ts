import type { DecideResult, Gatehouse } from '../gatehouse.ts';
import type { Api } from '../api-types.ts';
import type { ReportedAs } from '../outcome-queue.ts';
import { readHeader, type VisitorOptions, type VisitorRequest } from '../visitor.ts';

/** What every middleware shares: it asks for the decision of a request, maps it to what happens, and reports the outcome. */

/** `entity_keys` of a decide request. */
export type Identity = Readonly<Record<string, string | number | null | undefined>>;

/** Identities, or under `request` members of the decide request, `entity_keys` among them. */
export type IdentifyResult = Identity | { readonly request: Partial<Api.DecideRequest> };

/** Decisions that can hold a request up. */
export type HoldingDecision = 'SOFT_CHALLENGE' | 'REVIEW' | 'BLOCK';

/**
 * `Req`: the framework's request, as `identify` gets it. `Args`: the arguments of the framework's handlers, and `Answer` what they return.
 */
export interface ProtectOptions<Req, Args extends readonly unknown[], Answer> extends VisitorOptions {
  /** `observe` (default): decides, reports and never holds a request up. `enforce`: decisions count. */
  readonly mode?: 'observe' | 'enforce' | undefined;
  /** Who acts, for example `{ email }`; may be asynchronous. */
  readonly identify?: ((request: Req) => IdentifyResult | Promise<IdentifyResult>) | undefined;
  /** The collector's token; default: the field `session_token` of the body. Without one the cookie of the visit is used. */
  readonly sessionToken?: ((request: Req) => string | null | undefined) | undefined;
  /** The cookie that names a visit; default `gatehouse_visit`. False: none is set. */
  readonly visitCookie?: string | false | undefined;
  /**
   * Answers that replace the application's in mode `enforce`. Without a handler BLOCK is a 403, and the other decisions go on to the
   * application, which finds them on the request.
   */
  readonly handlers?: Partial<Record<HoldingDecision, (...args: Args) => Answer>> | undefined;
  /** The outcome that a response's status means; null: none. Default: `outcomeOfStatus`. */
  readonly outcomeOf?: ((status: number, request: Req) => ReportedAs | null) | undefined;
  /** Gets what is thrown while a request is described or decided, in mode `observe`. Default: `console.error`, once a minute. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** The address of the connection, where the framework does not show it. */
  readonly addressOf?: ((request: Req) => string | undefined) | undefined;
}

/** What the application finds on its request as `gatehouse`. */
export interface GuardedRequest {
  /** Null in mode `observe` if the request could not be described, for example because of its address. */
  readonly result: DecideResult | null;
  /** The decision to act on: always ALLOW in mode `observe`. */
  readonly decision: DecideResult['decision'];
  /** Reports the outcome, instead of the response's status. The first call counts; null: none is reported now. */
  readonly outcome: (outcome: ReportedAs | null) => void;
}

/** What a framework's adapter gives about a request. */
export interface GuardedParts<Req> {
  readonly request: Req;
  readonly visitor: VisitorRequest;
  /** A parsed body, if there is one. */
  readonly body?: unknown;
  readonly setCookie: (header: string) => void;
}

/**
 * The outcome that a status means: 2xx succeeded, 402 declined, other 4xx failed. A redirect follows both a right and a wrong password, and
 * 5xx are your own faults: none, unless the application reports one.
 */
export function outcomeOfStatus(status: number): ReportedAs | null {
  if (status >= 200 && status < 300) return 'succeeded';
  if (status === 402) return 'declined';
  return status >= 400 && status < 500 && status !== 429 ? 'failed' : null;
}

/** A request that was decided. */
export interface GuardedStart<Args extends readonly unknown[], Answer> {
  readonly guarded: GuardedRequest;
  /** Answers instead of the application. */
  readonly handler: ((...args: Args) => Answer) | undefined;
  /** A 403 must be sent: BLOCK without a handler. */
  readonly isRefused: boolean;
  /** Must be called when the application has answered. */
  readonly finish: (status: number) => void;
}

const VISIT = /^[0-9a-f]{32}$/;
const ERROR_EVERY_MS = 60_000;

export class Protection<Req, Args extends readonly unknown[], Answer> {
  readonly #client: Gatehouse;
  readonly #eventType: string;
  readonly #options: ProtectOptions<Req, Args, Answer>;
  #nextErrorMs = -Infinity;

  constructor(client: Gatehouse, eventType: string, options: ProtectOptions<Req, Args, Answer> = {}) {
    this.#client = client;
    this.#eventType = eventType;
    this.#options = options;
  }

  /** Decides. Rejects only in mode `enforce`, and only for faults of the caller. */
  async start(parts: GuardedParts<Req>): Promise<GuardedStart<Args, Answer>> {
    const isEnforced = this.#options.mode === 'enforce';
    let result: DecideResult | null = null;
    try {
      result = await this.#client.decide(await this.#describe(parts));
    } catch (error) {
      if (isEnforced) throw error;
      this.#report(error);
    }
    const report = oneOutcome(this.#client, result);
    const decision = isEnforced && result !== null ? result.decision : 'ALLOW';
    const handler = isHolding(decision) ? this.#options.handlers?.[decision] : undefined;
    const isRefused = decision === 'BLOCK' && handler === undefined;
    // A challenge ends on another request, and a refused request has no outcome.
    const isOpen = handler === undefined && !isRefused && decision !== 'SOFT_CHALLENGE';
    const outcomeOf = this.#options.outcomeOf ?? outcomeOfStatus;
    return {
      guarded: { result, decision, outcome: report },
      handler,
      isRefused,
      finish: (status) => {
        if (isOpen) report(outcomeOf(status, parts.request));
      },
    };
  }

  async #describe(parts: GuardedParts<Req>): Promise<Api.DecideRequest> {
    const { request, visitor, body } = parts;
    const options = this.#options;
    const remoteAddress = options.addressOf?.(request);
    const facts = this.#client.fromRequest(visitor, {
      ...options,
      ...(remoteAddress !== undefined && { remoteAddress }),
    });
    const identified = (await options.identify?.(request)) ?? {};
    const token = options.sessionToken === undefined ? tokenOfBody(body) : options.sessionToken(request);
    return {
      ...facts,
      event_type: this.#eventType,
      session_token: token || this.#visitOf(parts, facts.url?.startsWith('https:') === true),
      ...(hasRequest(identified) ? identified.request : { entity_keys: withoutGaps(identified) }),
    };
  }

  /** Returns the visit of the cookie, or of a new cookie; null if none is wanted. */
  #visitOf({ visitor, setCookie }: GuardedParts<Req>, isSecure: boolean): string | null {
    const name = this.#options.visitCookie ?? 'gatehouse_visit';
    if (name === false) return null;
    const cookies = (readHeader(visitor.headers, 'cookie') ?? '').split(/;\s*/).map((pair) => pair.split('='));
    const known = cookies.find(([key, value]) => key === name && VISIT.test(value ?? ''))?.[1];
    if (known !== undefined) return known;
    const visit = crypto.randomUUID().replaceAll('-', '');
    setCookie(`${name}=${visit}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`);
    return visit;
  }

  #report(error: unknown): void {
    if (this.#options.onError !== undefined) return this.#options.onError(error);
    if (performance.now() < this.#nextErrorMs) return;
    this.#nextErrorMs = performance.now() + ERROR_EVERY_MS;
    // oxlint-disable-next-line no-console -- A fault of the setting must not stay unseen while nothing is enforced.
    console.error(`gatehouse: ${this.#eventType} is not protected:`, error);
  }
}

/** Returns a function that reports the first outcome it gets, and ignores the others. */
function oneOutcome(client: Gatehouse, result: DecideResult | null): (outcome: ReportedAs | null) => void {
  let isSet = false;
  return (outcome) => {
    if (isSet) return;
    isSet = true;
    if (outcome !== null && result !== null) void client.outcome(result, outcome);
  };
}

function isHolding(decision: string): decision is HoldingDecision {
  return decision === 'SOFT_CHALLENGE' || decision === 'REVIEW' || decision === 'BLOCK';
}

function hasRequest(result: IdentifyResult): result is { readonly request: Partial<Api.DecideRequest> } {
  return typeof result['request'] === 'object' && result['request'] !== null;
}

function withoutGaps(identity: Identity): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(identity).flatMap(([name, value]) => (value === undefined || value === null ? [] : [[name, value]])),
  );
}

function tokenOfBody(body: unknown): string | undefined {
  const token = (body as { readonly session_token?: unknown } | null | undefined)?.session_token;
  return typeof token === 'string' ? token : undefined;
}

/** Returns the parsed body of a `Request`; null without fields. A malformed body is left to the application. */
export async function readFields(
  headers: Headers,
  read: { readonly json: () => Promise<unknown>; readonly form: () => Promise<unknown> },
): Promise<unknown> {
  const type = headers.get('content-type') ?? '';
  try {
    if (/^application\/json\b/i.test(type)) return await read.json();
    return /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(type) ? await read.form() : null;
  } catch {
    return null;
  }
}
