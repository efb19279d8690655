import { accessFault } from '../../auth/key-access.ts';
import type { Key, KeyCache } from '../../auth/key-cache.ts';
import { keyNotAllowed } from '../../auth/authenticate.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { Exchange, Handler, RequestHead, StreamedBody } from '../../http/exchange.ts';
import { sendProblem } from '../../http/reply.ts';
import type { TrustedProxies } from '../../http/trusted-proxies.ts';
import type { GateSettings } from '../../risk/policy/gate-settings.ts';
import type { FailedAuthentications } from '../failed-authentications.ts';
import type { DecidePipeline } from '../pipeline.ts';
import type { GateCookies } from './gate-cookie.ts';
import { gateEventType, isExempt } from './gate-path.ts';
import { gateBodyOf, readGateVisit } from './gate-visit.ts';

export interface VisitorGateParts {
  readonly clock: Clock;
  readonly keyCache: KeyCache;
  readonly failures: FailedAuthentications;
  readonly trustedProxies: TrustedProxies;
  readonly cookies: GateCookies;
  readonly settingsOf: (customer: CustomerNumber) => GateSettings;
  readonly decide: Pick<DecidePipeline, 'submit'>;
  readonly onRefused: (code: string) => void;
  readonly onFailed: (error: unknown) => void;
  readonly counts: GateCounts;
}

/** What the gate answered, since the start. */
export type GateOutcome = 'passed' | 'exempt' | 'challenged' | 'blocked' | 'failed_open';
export class GateCounts {
  readonly #counts = new Map<GateOutcome, number>();

  add(outcome: GateOutcome): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + 1);
  }

  get all(): readonly (readonly [GateOutcome, number])[] {
    return [...this.#counts];
  }
}

const BEARER = /^Bearer +([\x21-\x7e]{1,128}) *$/i;
const NO_CONTENT = 'text/plain\r\nCache-Control: no-store';

/**
 * `GET|POST /v1/gate`, for proxies that ask before each request of a visitor. They make an error of every status but 2xx, 401 and 403, so
 * with a valid key nothing else is sent: overload, limits and faults let the visitor through, and a header names the reason. Source:
 * contract, 4.8.
 */
export function gateHandler(parts: VisitorGateParts): Handler {
  const { clock, keyCache, failures, trustedProxies, onRefused } = parts;
  const nowSeconds = (): number => Math.floor(clock.nowMs() / 1000);

  return (head, exchange) => {
    const key = keyOf(head, exchange);
    // Nobody reads a body, which would be parsed as the next request.
    const close = head.contentLength > 0 || head.lengthFault !== null || head.formFault !== null;
    if (key === null) {
      failures.take(exchange.remoteAddress(), nowSeconds());
      onRefused(NOT_ALLOWED.code);
      sendProblem(exchange, NOT_ALLOWED, { close });
      return;
    }
    const answer = new GateAnswer(parts, exchange, close);
    try {
      judge(head, exchange, key, answer);
    } catch (error) {
      parts.onFailed(error);
      answer.failOpen('internal_error');
    }
  };

  /** Returns the gate key of the request; null without one. Its networks are those of proxies, so they are compared with the peer. */
  function keyOf({ authorization }: RequestHead, exchange: Exchange): Key | null {
    const { known, key } = keyCache.find(BEARER.exec(authorization)?.[1] ?? '');
    const peer = { remoteAddress: () => exchange.peerAddress() };
    return known && key.kind === 'secret' && accessFault(key, 'gate', peer) === null ? key : null;
  }

  function judge(head: RequestHead, exchange: Exchange, key: Key, answer: GateAnswer): void {
    const settings = parts.settingsOf(key.customer);
    const visit = readGateVisit(head, exchange, trustedProxies.has(exchange.peerAddress()));
    if (visit.path !== null && isExempt(visit.path, settings)) {
      answer.pass('ALLOW', 'exempt');
      return;
    }
    const { customer } = key;
    const { address, userAgent, isSecure } = visit;
    const session = parts.cookies.sessionOf(
      head.cold.get('cookie'),
      { customer, address, userAgent },
      nowSeconds(),
      isSecure,
    );
    const eventType = visit.path === null ? 'gate' : gateEventType(visit.method, visit.path, settings);
    answer.prepare(session.cookieLine, settings.challengeUrl);
    parts.decide.submit(key, gateBodyOf(visit, eventType, session.token), answer);
  }
}

const NOT_ALLOWED = {
  ...keyNotAllowed(),
  detail: 'Send "Authorization: Bearer" and a secret key with the scope gate.',
};

/** Takes the response of decide instead of the client, and turns it into one that a proxy understands. */
class GateAnswer implements Exchange {
  readonly #parts: Pick<VisitorGateParts, 'onFailed' | 'counts'>;
  readonly #exchange: Exchange;
  readonly #close: boolean;
  #cookieLine = '';
  #challengeUrl: string | null = null;

  constructor(parts: Pick<VisitorGateParts, 'onFailed' | 'counts'>, exchange: Exchange, close: boolean) {
    this.#parts = parts;
    this.#exchange = exchange;
    this.#close = close;
  }

  get aborted(): boolean {
    return this.#exchange.aborted;
  }

  prepare(cookieLine: string, challengeUrl: string | null): void {
    this.#cookieLine = cookieLine;
    this.#challengeUrl = challengeUrl;
  }

  /** Receives the response of decide. */
  send(status: number, _fields: string, body: string | Uint8Array): void {
    try {
      const answer = JSON.parse(String(body)) as { readonly decision?: string; readonly code?: string };
      if (status === 200) this.#decided(answer.decision ?? 'ALLOW');
      else this.failOpen(answer.code ?? 'internal_error');
    } catch (error) {
      this.#parts.onFailed(error);
      this.failOpen('internal_error');
    }
  }

  failOpen(reason: string): void {
    this.#answer(204, 'ALLOW', 'failed_open', `\r\nX-Gatehouse-Failed-Open: ${reason}`);
  }

  pass(decision: string, outcome: GateOutcome): void {
    this.#answer(204, decision, outcome, this.#cookieLine);
  }

  #decided(decision: string): void {
    if (decision === 'BLOCK') this.#answer(403, decision, 'blocked', this.#cookieLine);
    else if (decision === 'SOFT_CHALLENGE' && this.#challengeUrl !== null)
      this.#answer(401, decision, 'challenged', `${this.#cookieLine}\r\nLocation: ${this.#challengeUrl}`);
    else this.pass(decision, 'passed');
  }

  #answer(status: number, decision: string, outcome: GateOutcome, lines: string): void {
    this.#parts.counts.add(outcome);
    this.#exchange.send(status, `${NO_CONTENT}\r\nX-Gatehouse-Decision: ${decision}${lines}`, '', this.#close);
  }

  remoteAddress(): string {
    return this.#exchange.remoteAddress();
  }

  peerAddress(): string {
    return this.#exchange.peerAddress();
  }

  readBody(): void {
    throw new Error('the gate reads no body');
  }

  pauseUntil(next: Promise<void>): void {
    this.#exchange.pauseUntil(next);
  }

  /** Header lines of decide are not for a proxy. */
  addFields(): void {}

  sendStream(_status: number, _fields: string, _body: StreamedBody): Promise<void> {
    throw new Error('decide sends no stream');
  }
}
