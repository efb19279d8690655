import type { DashboardSession, DashboardSessions } from '../../auth/dashboard-sessions.ts';
import { sessionRequired } from '../../auth/authenticate.ts';
import type { KeyCache } from '../../auth/key-cache.ts';
import type { SessionCookie } from '../../auth/session-cookie.ts';
import type { SiteGuard } from '../../auth/site-guard.ts';
import { problem, type Problem } from '../../contract/problem.ts';
import type { FailedAuthentications } from '../../decide/failed-authentications.ts';
import { rateLimited } from '../../decide/respond.ts';
import type { Exchange, RequestHead } from '../../http/exchange.ts';
import { sendProblem } from '../../http/reply.ts';

export interface AccessParts {
  readonly guard: SiteGuard;
  readonly sessions: DashboardSessions;
  readonly cookie: SessionCookie;
  readonly keyCache: Pick<KeyCache, 'findSecret'>;
  /** Failed authentications of an address, counted together with those of the API. */
  readonly failures: FailedAuthentications;
  /** The service's clock, for the windows of failed authentications. */
  readonly nowSeconds: () => number;
  /** The wall clock, Unix ms. */
  readonly nowMs: () => number;
  readonly onRefused: (code: string) => void;
}

const CROSS_SITE: Problem = problem(
  'cross_site_request',
  'Send X-Gatehouse: 1 from a page of the dashboard. If a proxy or a forwarded port is in between, GATEHOUSE_PUBLIC_URL must be the ' +
    'address in the browser.',
);

/** Decides who may use the dashboard, and refuses everyone else. */
export class DashboardAccess {
  readonly #parts: AccessParts;

  constructor(parts: AccessParts) {
    this.#parts = parts;
  }

  /** Returns why a request that may change something is refused; null if it comes from a page of the dashboard. */
  crossSiteFault(head: RequestHead): Problem | null {
    return this.#parts.guard.isOwn(head) ? null : CROSS_SITE;
  }

  /**
   * Returns why a request that only reads is refused; null if no other origin sent it. The cookie comes with requests of other ports and of
   * neighbouring hosts too: their pages cannot read responses, but could use up the allowance of the key.
   */
  foreignFault(head: RequestHead): Problem | null {
    return this.#parts.guard.isForeign(head) ? CROSS_SITE : null;
  }

  /** Returns the session of the cookie; null without one. All sessions of a revoked key end here. */
  sessionOf(head: RequestHead): DashboardSession | null {
    const { sessions, cookie, keyCache, nowMs } = this.#parts;
    const session = sessions.use(cookie.read(head.cold.get('cookie')), nowMs());
    if (session === null || keyCache.findSecret(session.key.hash) !== null) return session;
    sessions.endAll(session.key.hash);
    return null;
  }

  /** Refuses a request without a session. A cookie that names none counts as a failed authentication of its address. */
  refuseSession(exchange: Exchange, head: RequestHead): void {
    const { cookie } = this.#parts;
    const close = head.contentLength > 0;
    if (cookie.read(head.cold.get('cookie')) === '') this.refuse(exchange, sessionRequired(), close);
    else this.refuseSignIn(exchange, sessionRequired(), close);
  }

  /** Counts a failed authentication against its source address. Over that allowance the response is 429 and closes the connection. */
  refuseSignIn(exchange: Exchange, fault: Problem, close = false): void {
    const { failures, nowSeconds } = this.#parts;
    const source = failures.take(exchange.remoteAddress(), nowSeconds());
    this.refuse(exchange, source.allowed ? fault : rateLimited(source), close || !source.allowed);
  }

  /** Returns whether another failed authentication of its source address is allowed. Counts nothing. */
  mayFail(exchange: Exchange): boolean {
    const { failures, nowSeconds } = this.#parts;
    return failures.peek(exchange.remoteAddress(), nowSeconds()).remaining > 0;
  }

  refuse(exchange: Exchange, fault: Problem, close = false, more = ''): void {
    this.#parts.onRefused(fault.code);
    sendProblem(exchange, fault, { close, more });
  }
}
