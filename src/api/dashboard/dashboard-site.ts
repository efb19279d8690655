import { problem } from '../../contract/problem.ts';
import { ROUTES } from '../../contract/routes.ts';
import { bindRoutes } from '../../http/bind.ts';
import type { Exchange, Handler, RequestHead, Route } from '../../http/exchange.ts';
import type { Handlers, SecretHandlers } from '../../http/handlers.ts';
import { createRouter } from '../../http/router.ts';
import type { DashboardAccess } from './dashboard-access.ts';
import { signInHandlers, type SignInParts } from './sign-in-handlers.ts';

export const DASHBOARD_PATH = '/dashboard';
const API_PATH = '/dashboard/api';

export interface DashboardParts extends SignInParts {
  readonly access: DashboardAccess;
  /** Pages and files. */
  readonly pages: Handler;
  /** The handlers of /v1, which take the session for a key. */
  readonly handlers: SecretHandlers;
  readonly readiness: Handler;
  /** Returns the rate-limit fields for refusals of the router. */
  readonly refusalFields: (exchange: Exchange) => string;
  readonly onRefused: (code: string) => void;
}

/**
 * Header fields of every response under /dashboard. Features that the pages do not use are off; writing to the clipboard stays on, for
 * copying ids. Source: contract, 18.4.
 */
const SECURITY_FIELDS = [
  '',
  "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'Referrer-Policy: no-referrer',
  'Cross-Origin-Opener-Policy: same-origin',
  'Cross-Origin-Resource-Policy: same-origin',
  'X-Frame-Options: DENY',
  `Permissions-Policy: ${[
    'accelerometer',
    'autoplay',
    'browsing-topics',
    'camera',
    'clipboard-read',
    'display-capture',
    'encrypted-media',
    'gamepad',
    'geolocation',
    'gyroscope',
    'hid',
    'idle-detection',
    'local-fonts',
    'magnetometer',
    'microphone',
    'midi',
    'payment',
    'picture-in-picture',
    'publickey-credentials-get',
    'screen-wake-lock',
    'serial',
    'usb',
    'window-management',
    'xr-spatial-tracking',
  ]
    .map((feature) => `${feature}=()`)
    .join(', ')}`,
].join('\r\n');

/** Files say so themselves. */
const DATA_FIELDS = `${SECURITY_FIELDS}\r\nX-Content-Type-Options: nosniff`;

/** Calls by POST that write nothing: allowed in a read-only dashboard. */
const READING_POSTS: ReadonlySet<string> = new Set(['/v1/simulate', '/v1/rules/check', '/v1/policy/backtest']);

/**
 * Returns the handler of everything under /dashboard: pages and files, signing in and out, and /dashboard/api/v1/*, which leads to the
 * handlers of /v1/*. The session's cookie is read nowhere else. Source: contract, 18.
 */
export function createDashboard(parts: DashboardParts): Handler {
  const { access, pages, onRefused } = parts;
  const own = createRouter(
    bindRoutes(signInHandlers(parts), () => ''),
    onRefused,
  );
  const api = createRouter(
    [...bindRoutes(ofSecretKeys(parts.handlers), parts.refusalFields), readinessRoute(parts.readiness)],
    onRefused,
  );

  return (head, exchange) => {
    const { path } = head;
    if (path === '/dashboard/session' || path === '/dashboard/logout' || path === '/dashboard/api/session') {
      exchange.addFields(DATA_FIELDS);
      own(head, exchange);
    } else if (path === API_PATH || path.startsWith(`${API_PATH}/`)) {
      exchange.addFields(DATA_FIELDS);
      callApi(head, exchange);
    } else {
      exchange.addFields(SECURITY_FIELDS);
      pages(head, exchange);
    }
  };

  function callApi(head: RequestHead, exchange: Exchange): void {
    const isWrite = head.method !== 'GET' && head.method !== 'HEAD';
    const inner = { ...head, ...NO_CREDENTIALS, path: head.path.slice(API_PATH.length) };
    // The router refuses a malformed request before it calls a handler.
    if (head.lengthFault !== null || head.formFault !== null) api(inner, exchange);
    else {
      const fault = isWrite ? access.crossSiteFault(head) : access.foreignFault(head);
      const session = fault === null ? access.sessionOf(head) : null;
      // A body that nobody reads would precede the next request.
      const close = head.contentLength > 0;
      if (fault !== null) access.refuse(exchange, fault, close);
      else if (session === null) access.refuseSession(exchange, head);
      else if (parts.isReadOnly && isWrite && !READING_POSTS.has(inner.path)) access.refuse(exchange, READ_ONLY, close);
      else api({ ...inner, session: { keyHash: session.key.hash, name: session.name } }, exchange);
    }
  }
}

const READ_ONLY = problem('read_only', 'This dashboard is read-only (GATEHOUSE_DASHBOARD_READ_ONLY).');

/** The session counts alone, whatever other credentials a request has. */
const NO_CREDENTIALS = { svcKey: '', svcTimestamp: '', svcRequestId: '', svcSignature: '', authorization: '' } as const;

/**
 * Keeps the endpoints that take a secret key, whatever else is given: a session must reach neither signed calls nor the endpoints of
 * operators, which trust loopback addresses.
 */
function ofSecretKeys(handlers: SecretHandlers): Partial<Handlers> {
  return Object.fromEntries(
    Object.entries(handlers).filter(([id]) => ROUTES[id as keyof typeof ROUTES].access === 'secret'),
  );
}

function readinessRoute(GET: Handler): Route {
  return { path: '/readyz', methods: { GET }, bodyBytesMax: 0 };
}

/** Returns the handler of a listener of the dashboard's own: it serves nothing else. */
export function onlyDashboard(dashboard: Handler, onRefused: (code: string) => void): Handler {
  return createRouter([], onRefused, [{ path: DASHBOARD_PATH, handler: dashboard }]);
}
