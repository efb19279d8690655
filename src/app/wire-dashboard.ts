import type { EndpointFactory } from '../api/kit/endpoint-factory.ts';
import type { SecretEndpointId } from '../contract/routes.ts';
import type { FailedAuthentications } from '../decide/failed-authentications.ts';
import type { Handlers } from '../http/handlers.ts';
import { DashboardAccess } from '../api/dashboard/dashboard-access.ts';
import { createDashboard, DASHBOARD_PATH } from '../api/dashboard/dashboard-site.ts';
import { readCookie, sessionCookie } from '../auth/session-cookie.ts';
import type { Handler, RequestHead } from '../http/exchange.ts';
import { sitePages, type PageTheme, PAGE_THEMES } from '../http/site-pages.ts';
import { webFolder } from '../kernel/programs.ts';
import { dashboardBuild } from './dashboard-build.ts';
import type { DashboardState } from './dashboard-state.ts';
import type { ServiceParts } from './service-parts.ts';

/** What the dashboard shares with the service. */
export interface DashboardService {
  readonly failures: FailedAuthentications;
  /** Those of /v1, which take the session for a key, and readiness. */
  readonly handlers: Handlers<SecretEndpointId | 'readiness'>;
  readonly endpoint: EndpointFactory;
  readonly onRefused: (code: string) => void;
}

/** Returns the handler of everything under /dashboard. */
export function wireDashboard(parts: ServiceParts, state: DashboardState, service: DashboardService): Handler {
  const { settings, clock, keyCache, log } = parts;
  const { guard, sessions, codes, share } = state;
  const { failures, handlers, endpoint, onRefused } = service;
  const cookie = sessionCookie(guard.isSecure);
  const access = new DashboardAccess({
    guard,
    sessions,
    cookie,
    keyCache,
    failures,
    nowSeconds: () => Math.floor(clock.nowMs() / 1000),
    nowMs,
    onRefused,
  });
  return createDashboard({
    access,
    sessions,
    codes,
    share,
    cookie,
    keyCache,
    store: parts.installation.store,
    nowMs,
    isReadOnly: settings.dashboard.isReadOnly,
    isSecure: guard.isSecure,
    log,
    pages: sitePages({
      path: DASHBOARD_PATH,
      build: dashboardBuild(webFolder('dashboard'), log),
      themeOf,
      onRefused,
    }),
    handlers,
    readiness: handlers.readiness,
    refusalFields: endpoint.refusalFields,
    onRefused,
  });
}

/** Sessions live in real time, also in simulated time. */
const nowMs = (): number => Date.now();

/** Returns the theme of the cookie `gh_theme`; `system` without a valid one. */
function themeOf({ cold }: RequestHead): PageTheme {
  const wanted = readCookie(cold.get('cookie'), 'gh_theme');
  return PAGE_THEMES.find((theme) => theme === wanted) ?? 'system';
}
