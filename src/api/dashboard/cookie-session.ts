import type { DashboardSession, DashboardSessions, SessionKey } from '../../auth/dashboard-sessions.ts';
import type { SessionCookie } from '../../auth/session-cookie.ts';
import type { Exchange, RequestHead } from '../../http/exchange.ts';
import { JSON_FIELDS } from '../../http/reply.ts';
import type { Log } from '../../observe/log.ts';
import type { SignInShare } from '../../ports/sign-ins.ts';

export interface CookieSessionParts {
  readonly sessions: DashboardSessions;
  /** Makes sessions known to the other nodes of a cluster; null on a single node. */
  readonly share?: SignInShare | null;
  readonly cookie: SessionCookie;
  /** The wall clock, Unix ms. */
  readonly nowMs: () => number;
  readonly log: Pick<Log, 'info'>;
}

/** Opens and ends the session of a browser's cookie. Responds once the other nodes of a cluster know of the change. */
export class CookieSession {
  readonly #parts: CookieSessionParts;

  constructor(parts: CookieSessionParts) {
    this.#parts = parts;
  }

  open(head: RequestHead, exchange: Exchange, key: SessionKey): void {
    const { sessions, share = null, cookie, nowMs } = this.#parts;
    // The session that the browser had ends: nobody goes on with an id that was known before.
    const before = cookie.read(head.cold.get('cookie'));
    const ended = sessions.rowOf(before)?.idHash;
    sessions.end(before);
    const id = sessions.open(key, nowMs());
    this.#logChange('signed in to the dashboard', sessions.use(id, nowMs()));
    const opened = sessions.rowOf(id);
    const answer = (): void => exchange.send(204, JSON_FIELDS + cookie.set(id), '');
    // The next request of the browser may go to another node.
    if (share === null || opened === null) answer();
    else void Promise.all([share.opened(opened), ended === undefined ? null : share.ended(ended)]).then(answer);
  }

  /** `all`: every session of the same key. */
  end(head: RequestHead, exchange: Exchange, session: DashboardSession, all: boolean): void {
    const { sessions, share = null, cookie } = this.#parts;
    const { key } = session;
    this.#logChange(all ? 'signed out of the dashboard everywhere' : 'signed out of the dashboard', session);
    const id = cookie.read(head.cold.get('cookie'));
    const ended = sessions.rowOf(id)?.idHash ?? '';
    if (all) sessions.endAll(key.hash);
    else sessions.end(id);
    const answer = (): void => exchange.send(204, JSON_FIELDS + cookie.clear(), '');
    if (share === null) answer();
    else void (all ? share.endedAll(key.hash) : share.ended(ended)).then(answer);
  }

  #logChange(message: string, session: DashboardSession | null): void {
    const { customer, prefix } = session?.key ?? {};
    this.#parts.log.info({ customer, key_prefix: prefix, session: session?.name }, message);
  }
}
