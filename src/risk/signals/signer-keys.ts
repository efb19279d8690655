import { hash } from 'node:crypto';

/** An Ed25519 key of a signer. */
export interface DirectoryKey {
  /** Thumbprint. Source: RFC 8037, appendix A.3. */
  readonly id: string;
  /** The public key, 32 bytes in base64url. */
  readonly x: string;
  /** Unix seconds. */
  readonly from: number;
  readonly until: number;
}

export interface KeyDirectory {
  readonly host: string;
  readonly fetchedAtSeconds: number;
  readonly keys: readonly DirectoryKey[];
}

/** Choice: a directory that cannot be fetched keeps its keys for a day, so that an outage of its host revokes nothing at once. */
export const KEYS_KEPT_SECONDS = 86_400;
/** Choice: an operator has a key or two, and the next one. */
const KEYS_MAX = 32;
/** Its private key is published too. Source: RFC 9421, B.1.4; draft-ietf-webbotauth-httpsig-protocol, 6.8. */
const TEST_KEY = 'poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U';

/** Returns the usable keys of a directory as its host serves it; null if it is none. Keys of other kinds are left out. */
export function parseKeyDirectory(text: string): readonly DirectoryKey[] | null {
  const parsed = parseJson(text);
  const given = isRecord(parsed) ? parsed['keys'] : null;
  if (!Array.isArray(given) || given.length > KEYS_MAX) return null;
  return given.flatMap((one: unknown) => {
    if (!isRecord(one) || one['kty'] !== 'OKP' || one['crv'] !== 'Ed25519') return [];
    const { x, nbf = 0, exp = Number.MAX_SAFE_INTEGER, use = 'sig' } = one;
    if (typeof x !== 'string' || !/^[\w-]{43}$/.test(x) || use !== 'sig') return [];
    if (typeof nbf !== 'number' || typeof exp !== 'number') return [];
    const id = hash('sha256', `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`, 'base64url');
    return id === TEST_KEY ? [] : [{ id, x, from: nbf, until: exp }];
  });
}

/** Reads what `JSON.stringify` made of directories; empty for any other text. */
export function readDirectories(text: string): readonly KeyDirectory[] {
  const parsed = parseJson(text);
  return Array.isArray(parsed) ? (parsed as readonly KeyDirectory[]) : [];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
