import type * as z from 'zod';
import { sessionRequired } from '../../auth/authenticate.ts';
import { parseJsonObject } from '../../contract/json-body.ts';
import { problem, type Problem } from '../../contract/problem.ts';
import { SIGN_IN, SIGN_OUT } from '../../contract/requests/dashboard-requests.ts';
import type { DashboardEndpointId } from '../../contract/routes.ts';
import { validate } from '../../contract/validate.ts';
import { rateLimited } from '../../decide/respond.ts';
import { SourceRate } from '../../decide/source-rate.ts';
import type { Exchange, Handler, RequestHead } from '../../http/exchange.ts';
import type { Handlers } from '../../http/handlers.ts';
import { bodyTooLarge, sendJson } from '../../http/reply.ts';
import { RATE_SIGN_INS, SIGN_IN_BODY_BYTES_MAX } from '../../kernel/limits.ts';
import type { Store } from '../../state/feed/open-store.ts';
import { CookieSession, type CookieSessionParts } from './cookie-session.ts';
import type { DashboardAccess } from './dashboard-access.ts';
import { type SignInKeyParts, SignInKeys, type SignInResult } from './sign-in-keys.ts';

export interface SignInParts extends SignInKeyParts, CookieSessionParts {
  readonly access: DashboardAccess;
  readonly store: Pick<Store, 'apiKeys' | 'customers' | 'resetRead'>;
  readonly isReadOnly: boolean;
  readonly isSecure: boolean;
}

/** Returns the handlers that open, show and end dashboard sessions. */
export function signInHandlers(parts: SignInParts): Handlers<DashboardEndpointId> {
  const { access, cookie, store, nowMs } = parts;
  const keys = new SignInKeys(parts);
  const browser = new CookieSession(parts);
  /** Sessions cost a line in the log each, and no allowance of management calls. */
  const signIns = new SourceRate(RATE_SIGN_INS);

  const signIn: Handler = (head, exchange) => {
    const fault = access.crossSiteFault(head) ?? mediaFault(head);
    if (fault !== null) {
      access.refuse(exchange, fault, head.contentLength > 0);
      return;
    }
    const open = (result: SignInResult): void => openSession(head, exchange, result);
    readBody(access, exchange, SIGN_IN, ({ key, code = '' }) => {
      if (key !== undefined) open(keys.byText(key));
      else keys.byCode(code, () => access.mayFail(exchange), open);
    });
  };

  function openSession(head: RequestHead, exchange: Exchange, result: SignInResult): void {
    if (result.kind === 'refused') access.refuseSignIn(exchange, result.problem);
    else if (result.kind === 'overloaded') access.refuse(exchange, result.problem);
    else {
      const rate = signIns.take(result.key.hash, Math.floor(nowMs() / 1_000));
      if (rate.allowed) browser.open(head, exchange, result.key);
      else access.refuse(exchange, rateLimited(rate));
    }
  }

  const signOut: Handler = (head, exchange) => {
    const fault = access.crossSiteFault(head) ?? (head.contentLength > 0 ? mediaFault(head) : null);
    const session = fault === null ? access.sessionOf(head) : null;
    if (fault !== null) access.refuse(exchange, fault, head.contentLength > 0);
    else if (session === null) access.refuse(exchange, sessionRequired(), head.contentLength > 0, cookie.clear());
    else readBody(access, exchange, SIGN_OUT, ({ all = false }) => browser.end(head, exchange, session, all));
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
}

/** Parses and validates the body; an empty one counts as `{}`. */
function readBody<Body>(
  access: DashboardAccess,
  exchange: Exchange,
  schema: z.ZodType<Body>,
  use: (body: Body) => void,
): void {
  exchange.readBody(SIGN_IN_BODY_BYTES_MAX, (bytes) => {
    if (bytes === null) {
      access.refuse(exchange, bodyTooLarge(SIGN_IN_BODY_BYTES_MAX), true);
      return;
    }
    const parsed = parseJsonObject(bytes.length === 0 ? EMPTY_OBJECT : Buffer.from(bytes));
    const read =
      parsed.kind === 'fault' ? { kind: 'problem' as const, problem: parsed.problem } : validate(schema, parsed.value);
    if (read.kind === 'problem') access.refuse(exchange, read.problem);
    else use(read.value);
  });
}

const EMPTY_OBJECT = Buffer.from('{}');

const NO_JSON = problem('unsupported_media_type', 'Send the body as application/json.');

function mediaFault({ contentType }: RequestHead): Problem | null {
  return /^application\/json *(?:;|$)/i.test(contentType) ? null : NO_JSON;
}
