import { DashboardAccess } from '../api/dashboard/dashboard-access.ts';
import { createDashboard, DASHBOARD_PATH } from '../api/dashboard/dashboard-site.ts';
import { readCookie, sessionCookie } from '../auth/session-cookie.ts';
import type { Handler, RequestHead } from '../http/exchange.ts';
import { sitePages, type Theme, THEMES } from '../http/site-pages.ts';
import { webFolder } from '../kernel/programs.ts';
import { dashboardBuild } from './dashboard-build.ts';
import type { DashboardState } from './dashboard-state.ts';
import type { ServiceParts } from './service-parts.ts';
import type { ApiRole } from './wire-api.ts';
import type { DecideRole } from './wire-decide.ts';
import type { OperationRole } from './wire-operation.ts';

export interface DashboardRoles {
  readonly decide: DecideRole;
  readonly api: ApiRole;
  readonly operation: OperationRole;
  readonly onRefused: (code: string) => void;
}

/** Returns the handler of everything under /dashboard. */
export function wireDashboard(parts: ServiceParts, state: DashboardState, roles: DashboardRoles): Handler {
  const { settings, clock, keyCache, log } = parts;
  const { guard, sessions, codes } = state;
  const { onRefused } = roles;
  const cookie = sessionCookie(guard.isSecure);
  const access = new DashboardAccess({
    guard,
    sessions,
    cookie,
    keyCache,
    failures: roles.decide.failures,
    nowSeconds: () => Math.floor(clock.nowMs() / 1000),
    nowMs,
    onRefused,
  });
  return createDashboard({
    access,
    sessions,
    codes,
    cookie,
    keyCache,
    store: parts.installation.store,
    nowMs,
    isReadOnly: settings.dashboard.isReadOnly,
    isSecure: guard.isSecure,
    pages: sitePages({
      path: DASHBOARD_PATH,
      build: dashboardBuild(webFolder('dashboard'), log),
      themeOf,
      onRefused,
    }),
    handlers: roles.api.handlers,
    readiness: roles.operation.handlers.readiness,
    refusalFields: roles.api.endpoint.refusalFields,
    onRefused,
  });
}

/** Sessions live in real time, also in simulated time. */
const nowMs = (): number => Date.now();

/** Returns the theme of the cookie `gh_theme`; `system` without a valid one. */
function themeOf({ cold }: RequestHead): Theme {
  const wanted = readCookie(cold.get('cookie'), 'gh_theme');
  return THEMES.find((theme) => theme === wanted) ?? 'system';
}
