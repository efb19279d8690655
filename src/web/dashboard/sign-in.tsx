import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { API, type ApiFault, getJson, send, toFault } from './api.ts';
import { Button, Field } from './components/fields.tsx';
import { Icon } from './components/icon.tsx';
import { FaultView } from './components/state-view.tsx';
import type { SignedInBody } from '../../contract/wire-types.ts';
import { session } from './session.ts';
import { visibleText } from './visible-text.ts';

const CODE = /^#code=([\w-]{1,200})$/;

/** Returns the one-time code of the URL and removes it from the URL and from the history; null if there is none. */
export function consumeCode(): string | null {
  const code = CODE.exec(location.hash)?.[1] ?? null;
  if (location.hash !== '') history.replaceState(history.state, '', location.pathname + location.search);
  return code;
}

/** Reads who is signed in. A 401 is not an error: it shows the page below. */
export async function loadSession(): Promise<void> {
  try {
    const body = await getJson<SignedInBody>(`${API}/session`);
    session.value = { kind: 'signed_in', session: body };
  } catch (error) {
    const fault = toFault(error);
    if (fault.status !== 401) throw error;
    if (session.value.kind !== 'signed_out') session.value = { kind: 'signed_out', why: null };
  }
}

async function signIn(secret: { readonly key: string } | { readonly code: string }): Promise<void> {
  await send('POST', '/dashboard/session', secret);
  await loadSession();
}

/** Ends this session, or all sessions of the key. */
export async function signOut(all = false): Promise<void> {
  await send('POST', '/dashboard/logout', all ? { all: true } : {});
  session.value = { kind: 'signed_out', why: null };
}

/** Advice about a refusal, by its code. Others show their own title. */
const ADVICE: Readonly<Record<string, string>> = {
  unknown_key: 'No such key. Look for a missing character at either end.',
  revoked_key: 'This key was revoked. Use another secret key of the same customer.',
  key_not_allowed: 'This is a public key. The dashboard needs a secret key, which begins with sk_live_ or sk_test_.',
  invalid_code:
    'This link was used already or is older than 10 minutes. `gatehouse dashboard link` prints another one.',
};

const ENDED: Readonly<Record<string, string>> = {
  session_required: 'Your session has ended. Sign in again to continue where you were.',
  revoked_key: 'The key that you signed in with was revoked.',
};

export function SignIn({ code, why }: { readonly code: string | null; readonly why: string | null }): JSX.Element {
  const [key, setKey] = useState('');
  const [isBusy, setBusy] = useState(code !== null);
  const [fault, setFault] = useState<ApiFault | null>(null);
  const attempt = async (secret: { readonly key: string } | { readonly code: string }): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      await signIn(secret);
    } catch (error) {
      setFault(toFault(error));
    }
    setBusy(false);
  };
  useEffect(() => {
    document.title = 'Sign in · Gatehouse';
    if (code !== null) void attempt({ code });
  }, [code]);
  const isPublic = key.trim().startsWith('pk_');
  const advice = fault === null ? undefined : ADVICE[fault.code];
  const error = isPublic ? ADVICE['key_not_allowed'] : advice;
  const isPlain = location.protocol === 'http:';
  return (
    <main class="sign-in" id="main">
      <form
        class="sign-in-card"
        onSubmit={(event) => {
          event.preventDefault();
          void attempt({ key: key.trim() });
        }}
      >
        <p class="brand brand-large">
          <Logo /> Gatehouse
        </p>
        <h1>Sign in</h1>
        {why !== null && <p class="notice">{ENDED[why] ?? ENDED['session_required']}</p>}
        <Field
          label="Secret key"
          type="password"
          name="key"
          value={key}
          onValue={(value) => {
            setKey(value);
            setFault(null);
          }}
          placeholder="sk_live_…"
          autoComplete="off"
          spellcheck={false}
          autoFocus
          required
          maxLength={200}
          error={error}
          hint="It is sent once. A cookie that scripts cannot read keeps you signed in for 12 h."
        />
        {fault !== null && advice === undefined && <FaultView fault={fault} />}
        <Button type="submit" kind="primary" disabled={isBusy || key.trim() === '' || isPublic}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </Button>
        {isPlain && (
          <p class="notice">
            <Icon name="warning" size={14} /> This connection is not encrypted. That is only acceptable on this machine
            ({visibleText(location.host)}).
          </p>
        )}
        <p class="muted small">
          On first start the server prints a link that signs you in without a key, and{' '}
          <code>gatehouse dashboard link</code> prints another one. It works once, for 10 minutes.
        </p>
      </form>
    </main>
  );
}

export function Logo(): JSX.Element {
  return (
    <svg class="logo" width="20" height="20" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M8 25V13l8-6 8 6v12M12.500 25v-6a3.500 3.500 0 0 1 7 0v6" />
    </svg>
  );
}
