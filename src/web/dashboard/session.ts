import { signal } from '@preact/signals';

/** Who is signed in. The secret key is never kept here: the session is a cookie that scripts cannot read. */

/** `GET /dashboard/api/session`. */
export interface SessionBody {
  readonly customer: string;
  /** First characters of the key that signed in. */
  readonly key_prefix: string;
  readonly expires_at: number;
  /** GATEHOUSE_DASHBOARD_READ_ONLY: writes are refused. */
  readonly read_only?: boolean;
}

export type SessionState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'signed_out'; readonly why: string | null }
  | { readonly kind: 'signed_in'; readonly session: SessionBody };

export const session = signal<SessionState>({ kind: 'unknown' });

/** Shows the sign-in page instead of the current one; the path stays, so that signing in returns to it. */
export function expireSession(code: string): void {
  if (session.value.kind === 'signed_in') session.value = { kind: 'signed_out', why: code };
  else if (session.value.kind === 'unknown') session.value = { kind: 'signed_out', why: null };
}
