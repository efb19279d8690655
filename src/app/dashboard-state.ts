import { DASHBOARD_PATH } from '../api/dashboard/dashboard-site.ts';
import { DashboardSessions } from '../auth/dashboard-sessions.ts';
import type { KeyCache } from '../auth/key-cache.ts';
import { SignInCodes } from '../auth/sign-in-codes.ts';
import { createSiteGuard, type SiteGuard } from '../auth/site-guard.ts';
import type { LinkReply, LinkRequest } from './control-protocol.ts';
import type { Listener } from './open-listener.ts';
import type { SignInShare } from '../ports/sign-ins.ts';
import { hasRole } from './roles.ts';
import type { Settings } from './settings.ts';

/** The state of the dashboard that exists before the service: a first start prints a sign-in link. */
export interface DashboardState {
  readonly guard: SiteGuard;
  readonly sessions: DashboardSessions;
  readonly codes: SignInCodes;
  /** Null on a node that works alone, and before it has joined the others. */
  readonly share: SignInShare | null;
}

/** A link that signs in once. */
export interface SignInLink {
  readonly url: string;
  readonly expiresAtMs: number;
}

/** `listener` is the one that serves the dashboard. Null if it is off, and on a node without the role `api`. */
export function openDashboard({ dashboard, roles, tls }: Settings, listener: Listener): DashboardState | null {
  if (!dashboard.isOn || !hasRole(roles, 'api')) return null;
  return {
    guard: createSiteGuard({ ...listener.address, publicOrigin: dashboard.publicOrigin, isTls: tls !== null }),
    sessions: new DashboardSessions(),
    codes: new SignInCodes(),
    share: null,
  };
}

/** `keyHash`: SHA-256 of the secret key that the link signs in with. The code is in the fragment, which browsers never send. */
export function signInLink(
  { guard, codes }: Pick<DashboardState, 'guard' | 'codes'>,
  keyHash: string,
  nowMs: number,
): SignInLink {
  const { text, expiresAtMs } = codes.issue(keyHash, nowMs);
  return { url: `${guard.origin}${DASHBOARD_PATH}#code=${text}`, expiresAtMs };
}

/** Returns the function that makes links for the command line. */
export function linkCreator(
  state: DashboardState | null,
  keyCache: Pick<KeyCache, 'findSecret'>,
): (request: LinkRequest) => LinkReply {
  return ({ link }) => {
    if (state === null) return { kind: 'fault', code: 'dashboard_off', detail: 'GATEHOUSE_DASHBOARD is off' };
    if (keyCache.findSecret(link.keyHash) === null) {
      return { kind: 'fault', code: 'unknown_key', detail: 'the server does not know this key' };
    }
    return { kind: 'ok', value: signInLink(state, link.keyHash, Date.now()) };
  };
}
