import { signal } from '@preact/signals';
import type { SignedInBody } from '../../contract/wire-types.ts';

/** The session of the page. The secret key is never kept here: the session is a cookie that scripts cannot read. */

export type SessionState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'signed_out'; readonly why: string | null }
  | { readonly kind: 'signed_in'; readonly session: SignedInBody };

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
