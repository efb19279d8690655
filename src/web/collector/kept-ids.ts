import type { CollectorSettings } from './collector-options.ts';
import { attempt } from './page-proof.ts';
import { toHex } from './sha256.ts';

const SESSION = 'gatehouse.sid';
const BROWSER = 'gatehouse.did';
const RANDOM_ID = /^[0-9a-f]{32}$/;

/** The ids of the session and of the browser: random numbers of 128 bits, kept as far as the settings permit. */
export interface KeptIds {
  readonly sid: string;
  /** Null unless storage is `on` and works. */
  readonly did: string | null;
  /** Gives a page without storage a new session id; no effect with storage. */
  renewPage(): void;
}

/** Reads or makes the ids. What less storage than before does not permit is deleted. */
export function keepIds({ storage }: Pick<CollectorSettings, 'storage'>): KeptIds {
  if (storage !== 'on') remove('localStorage', BROWSER);
  if (storage === 'off') remove('sessionStorage', SESSION);
  let sid = (storage === 'off' ? null : kept('sessionStorage', SESSION)) ?? randomId();
  const did = storage === 'on' ? kept('localStorage', BROWSER) : null;
  return {
    get sid() {
      return sid;
    },
    did,
    renewPage() {
      if (storage === 'off') sid = randomId();
    },
  };
}

/** Deletes everything that the collector keeps. */
export function forgetIds(): void {
  remove('sessionStorage', SESSION);
  remove('localStorage', BROWSER);
}

type Store = 'localStorage' | 'sessionStorage';

/** Returns the stored id, a new one that is stored from now on, or null if the browser refuses storage. */
function kept(store: Store, name: string): string | null {
  try {
    const found = window[store].getItem(name);
    if (found !== null && RANDOM_ID.test(found)) return found;
    const made = randomId();
    window[store].setItem(name, made);
    return made;
  } catch {
    return null;
  }
}

function remove(store: Store, name: string): void {
  try {
    window[store].removeItem(name);
  } catch {
    // Storage that is refused holds nothing.
  }
}

/** Not a secret: where the browser's generator was replaced and fails, an ordinary random number serves. */
function randomId(): string {
  const bytes = new Uint8Array(16);
  if (attempt(() => crypto.getRandomValues(bytes)) === undefined)
    for (let i = 0; i < bytes.length; i++) bytes[i] = Math.random() * 256;
  return toHex(bytes);
}
