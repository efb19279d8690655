import { signal } from '@preact/signals';

/** Who is signed in. The secret key is never kept here: the session is a cookie that scripts cannot read. */

/** `GET /dashboard/api/session`. */
export interface SessionBody {
  readonly customer_id: string;
  /** The name of the customer. */
  readonly name: string;
  /** The first 12 characters of the key that signed in. */
  readonly key_prefix: string;
  /** Unix seconds. */
  readonly created_at: number;
  readonly expires_at: number;
  /** GATEHOUSE_DASHBOARD_READ_ONLY: writes are refused with 403 `read_only`. */
  readonly read_only: boolean;
  /** False on plain HTTP, for this machine only. */
  readonly secure: boolean;
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

/** Pages do not offer writes that would be refused. */
export function isReadOnly(): boolean {
  return session.value.kind === 'signed_in' && session.value.session.read_only;
}
