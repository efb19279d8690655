import { hash } from 'node:crypto';
import type * as z from 'zod';
import { sessionRequired } from '../../auth/authenticate.ts';
import type { DashboardSession, DashboardSessions, SessionKey } from '../../auth/dashboard-sessions.ts';
import type { KeyCache } from '../../auth/key-cache.ts';
import type { SessionCookie } from '../../auth/session-cookie.ts';
import type { SignInCodes } from '../../auth/sign-in-codes.ts';
import { parseJsonObject } from '../../contract/json-body.ts';
import { problem, type Problem } from '../../contract/problem.ts';
import { SIGN_IN, SIGN_OUT } from '../../contract/requests/dashboard-requests.ts';
import type { DashboardEndpointId } from '../../contract/routes.ts';
import { validate } from '../../contract/validate.ts';
import { overloaded, rateLimited } from '../../decide/pipeline.ts';
import { SourceRate } from '../../decide/source-rate.ts';
import type { Exchange, Handler, RequestHead } from '../../http/exchange.ts';
import type { Handlers } from '../../http/handlers.ts';
import { bodyTooLarge, JSON_FIELDS, sendJson } from '../../http/reply.ts';
import { RATE_SIGN_INS, SIGN_IN_BODY_BYTES_MAX } from '../../kernel/limits.ts';
import type { Log } from '../../observe/log.ts';
import type { SignInShare } from '../../ports/sign-ins.ts';
import type { Store } from '../../state/feed/open-store.ts';
import { hashOfKey } from '../../state/tables/key-table.ts';
import type { DashboardAccess } from './dashboard-access.ts';

export interface SignInParts {
  readonly access: DashboardAccess;
  readonly sessions: DashboardSessions;
  readonly codes: SignInCodes;
  /** Makes sessions known to the other nodes of a cluster; null on a single node. */
  readonly share?: SignInShare | null;
  readonly cookie: SessionCookie;
  readonly keyCache: KeyCache;
  readonly store: Pick<Store, 'apiKeys' | 'customers' | 'resetRead'>;
  /** The wall clock, Unix ms. */
  readonly nowMs: () => number;
  readonly isReadOnly: boolean;
  readonly isSecure: boolean;
  readonly log: Pick<Log, 'info'>;
}

type SignInResult =
  | { readonly kind: 'key'; readonly key: SessionKey }
  | { readonly kind: 'refused'; readonly problem: Problem };

/** Returns the handlers that open, show and end dashboard sessions. */
export function signInHandlers(parts: SignInParts): Handlers<DashboardEndpointId> {
  const { access, sessions, codes, share = null, cookie, keyCache, store, nowMs } = parts;

  /** Sessions cost a line in the log each, and no allowance of management calls. */
  const signIns = new SourceRate(RATE_SIGN_INS);
  /** Codes that other nodes are asked for at the moment. */
  let asking = 0;

  const signIn: Handler = (head, exchange) => {
    const fault = access.crossSiteFault(head) ?? mediaFault(head);
    if (fault !== null) access.refuse(exchange, fault, head.contentLength > 0);
    else {
      readBody(exchange, SIGN_IN, ({ key, code = '' }) => {
        if (key !== undefined) openSession(head, exchange, byKey(key));
        else {
          const own = codes.redeem(code, nowMs());
          if (own !== null || share === null) openSession(head, exchange, keyOf(own));
          else redeemElsewhere(share, code, head, exchange);
        }
      });
    }
  };

  /** Asks the other nodes for a code: only for one that can be right, of a source with failures left, and for a few at a time. */
  function redeemElsewhere(nodes: SignInShare, code: string, head: RequestHead, exchange: Exchange): void {
    if (!CODE.test(code) || !access.mayFail(exchange)) openSession(head, exchange, refused(INVALID_CODE));
    else if (asking === ASKING_MAX)
      access.refuse(exchange, overloaded('sign_ins', 'Too many sign-ins are checked at the moment.'));
    else {
      asking++;
      const codeHash = hash('sha256', code, 'hex');
      void nodes.redeemed(codeHash).then((keyHash) => {
        asking--;
        openSession(head, exchange, keyOf(keyHash));
      });
    }
  }

  const signOut: Handler = (head, exchange) => {
    const fault = access.crossSiteFault(head) ?? (head.contentLength > 0 ? mediaFault(head) : null);
    const session = fault === null ? access.sessionOf(head) : null;
    if (fault !== null) access.refuse(exchange, fault, head.contentLength > 0);
    else if (session === null) access.refuse(exchange, sessionRequired(), head.contentLength > 0, cookie.clear());
    else readBody(exchange, SIGN_OUT, ({ all = false }) => endSession(head, exchange, session, all));
  };

  const readSignIn: Handler = (head, exchange) => {
    const fault = access.foreignFault(head);
    if (fault !== null) {
      access.refuse(exchange, fault);
      return;
    }
    const session = access.sessionOf(head);
    if (session === null) {
      access.refuseSession(exchange, head);
      return;
    }
    store.resetRead();
    const customer = store.customers.find(session.key.customer);
    sendJson(exchange, 200, {
      customer_id: customer?.id ?? '',
      name: customer?.name ?? '',
      key_prefix: session.key.prefix,
      created_at: Math.floor(session.createdAtMs / 1000),
      expires_at: Math.floor(session.expiresAtMs / 1000),
      read_only: parts.isReadOnly,
      secure: parts.isSecure,
    });
  };

  return { signIn, signOut, readSignIn };

  function openSession(head: RequestHead, exchange: Exchange, result: SignInResult): void {
    if (result.kind === 'refused') {
      access.refuseSignIn(exchange, result.problem);
      return;
    }
    const rate = signIns.take(result.key.hash, Math.floor(nowMs() / 1_000));
    if (!rate.allowed) {
      access.refuse(exchange, rateLimited(rate));
      return;
    }
    // The session that the browser had ends: nobody goes on with an id that was known before.
    const before = cookie.read(head.cold.get('cookie'));
    const ended = sessions.rowOf(before)?.idHash;
    sessions.end(before);
    const id = sessions.open(result.key, nowMs());
    logChange('signed in to the dashboard', sessions.use(id, nowMs()));
    const opened = sessions.rowOf(id);
    const answer = (): void => exchange.send(204, JSON_FIELDS + cookie.set(id), '');
    // The next request of the browser may go to another node.
    if (share === null || opened === null) answer();
    else void Promise.all([share.opened(opened), ended === undefined ? null : share.ended(ended)]).then(answer);
  }

  function logChange(message: string, session: DashboardSession | null): void {
    const { customer, prefix } = session?.key ?? {};
    parts.log.info({ customer, key_prefix: prefix, session: session?.name }, message);
  }

  function endSession(head: RequestHead, exchange: Exchange, session: DashboardSession, all: boolean): void {
    const { key } = session;
    logChange(all ? 'signed out of the dashboard everywhere' : 'signed out of the dashboard', session);
    const id = cookie.read(head.cold.get('cookie'));
    const ended = sessions.rowOf(id)?.idHash ?? '';
    if (all) sessions.endAll(key.hash);
    else sessions.end(id);
    const answer = (): void => exchange.send(204, JSON_FIELDS + cookie.clear(), '');
    if (share === null) answer();
    else void (all ? share.endedAll(key.hash) : share.ended(ended)).then(answer);
  }

  /** Parses and validates the body; an empty one counts as `{}`. */
  function readBody<Body>(exchange: Exchange, schema: z.ZodType<Body>, use: (body: Body) => void): void {
    exchange.readBody(SIGN_IN_BODY_BYTES_MAX, (bytes) => {
      if (bytes === null) {
        access.refuse(exchange, bodyTooLarge(SIGN_IN_BODY_BYTES_MAX), true);
        return;
      }
      const parsed = parseJsonObject(bytes.length === 0 ? EMPTY_OBJECT : Buffer.from(bytes));
      const read =
        parsed.kind === 'fault'
          ? { kind: 'problem' as const, problem: parsed.problem }
          : validate(schema, parsed.value);
      if (read.kind === 'problem') access.refuse(exchange, read.problem);
      else use(read.value);
    });
  }

  function byKey(text: string): SignInResult {
    const { known, key } = keyCache.find(text);
    const keyHash = hashOfKey(text);
    if (known) return key.kind === 'public' ? refused(PUBLIC_KEY) : { kind: 'key', key: { ...key, hash: keyHash } };
    store.resetRead();
    return refused(store.apiKeys.find(keyHash) === null ? UNKNOWN_KEY : REVOKED_KEY);
  }

  /** `keyHash`: the key of a valid code. */
  function keyOf(keyHash: string | null): SignInResult {
    if (keyHash === null) return refused(INVALID_CODE);
    const key = keyCache.findSecret(keyHash);
    return key === null ? refused(REVOKED_KEY) : { kind: 'key', key: { ...key, hash: keyHash } };
  }
}

/** As `SignInCodes` makes them. */
const CODE = /^[\w-]{43}$/;
/** Choice: people sign in one at a time; a flood of made-up codes must not become a flood of questions to all nodes. */
const ASKING_MAX = 4;

const EMPTY_OBJECT = Buffer.from('{}');

const PUBLIC_KEY = problem('key_not_allowed', 'This is a public key. Sign in with a secret key, sk_live_…');
const UNKNOWN_KEY = problem('unknown_key', 'This API key is not known.');
const REVOKED_KEY = problem('revoked_key', 'This API key was revoked.');
const INVALID_CODE = problem('invalid_code', 'This sign-in code is not known, was used before, or has expired.');
const NO_JSON = problem('unsupported_media_type', 'Send the body as application/json.');

function refused(fault: Problem): SignInResult {
  return { kind: 'refused', problem: fault };
}

function mediaFault({ contentType }: RequestHead): Problem | null {
  return /^application\/json *(?:;|$)/i.test(contentType) ? null : NO_JSON;
}
