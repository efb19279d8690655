import { hash } from 'node:crypto';
import { COLLECTOR_TOKEN_BYTES_MAX, TOKEN_SEQUENCE_MAX } from '../../kernel/limits.ts';
import type { FingerprintHash } from '../../kernel/brand.ts';
import type { KeyRhythm, TokenFacts, TokenSignals } from '../facts.ts';

/**
 * A session token of the collector script: `st1.` + base64url of UTF-8 JSON with `v`, `fp`, `sid`, `iat` and `sig`, and optionally `did`.
 * With a grant: `st2.` + the same, whose JSON also has `g`, `seq` and `aud`, + `.` + base64url of an HMAC of the JSON. The client writes
 * it, so nothing in it is trusted. A malformed token is treated as opaque and is evidence (`token_broken`), never an error.
 * Source: contract, 4.5 and 17.3.
 */
export interface ReadToken {
  readonly facts: TokenFacts;
  /** The fingerprint of a collector token; null for any other token, whose fingerprint is the hash of its text. */
  readonly fingerprint: FingerprintHash | null;
  /** What must be verified before the grant of an `st2.` token means anything; null for any other token. */
  readonly seal: SealedToken | null;
}

/** The parts of an `st2.` token that are signed, as the client wrote them. */
export interface SealedToken {
  readonly grant: string;
  /** 0 to `TOKEN_SEQUENCE_MAX`. */
  readonly seq: number;
  /** `aud`. */
  readonly audience: string;
  /** The bytes of the JSON. */
  readonly payload: Buffer;
  readonly mac: Buffer;
}

const PREFIX = 'st1.';
const SEALED_PREFIX = 'st2.';
const HEX_64 = /^[0-9a-f]{64}$/i;
const BASE64URL = /^[A-Za-z0-9_-]+$/;
/** Choice: 128 random bits as 22 characters of base64url, 32 hex digits or a UUID; the rest is room for apps. */
const BROWSER_ID = /^[A-Za-z0-9_-]{16,64}$/;
const MAC = /^[A-Za-z0-9_-]{43}$/;
const SESSION_ID_CHARACTERS_MAX = 128;
const GRANT_CHARACTERS_MAX = 128;
/** Choice: a scheme, the longest host name (253) and a port. */
const ORIGIN_CHARACTERS_MAX = 270;
const LIST_MAX = 32;

const NONE: ReadToken = { facts: { kind: 'none' }, fingerprint: null, seal: null };
const OPAQUE: ReadToken = { facts: { kind: 'opaque', isBroken: false }, fingerprint: null, seal: null };
const BROKEN: ReadToken = { facts: { kind: 'opaque', isBroken: true }, fingerprint: null, seal: null };
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

export function readToken(text: string): ReadToken {
  if (isBlank(text)) return NONE;
  const isSealed = text.startsWith(SEALED_PREFIX);
  if (!isSealed && !text.startsWith(PREFIX)) return OPAQUE;
  if (text.length > COLLECTOR_TOKEN_BYTES_MAX) return BROKEN;
  if (!isSealed) return readPayload(text.slice(PREFIX.length), null);
  const end = text.indexOf('.', SEALED_PREFIX.length);
  const mac = end < 0 ? '' : text.slice(end + 1);
  return MAC.test(mac) ? readPayload(text.slice(SEALED_PREFIX.length, end), Buffer.from(mac, 'base64url')) : BROKEN;
}

/** `mac` is null for a token without a grant. */
function readPayload(encoded: string, mac: Buffer | null): ReadToken {
  if (!BASE64URL.test(encoded)) return BROKEN;
  const payload = Buffer.from(encoded, 'base64url');
  let body: unknown;
  try {
    body = JSON.parse(strictUtf8.decode(payload));
  } catch {
    return BROKEN;
  }
  if (!isRecord(body)) return BROKEN;
  const { v, fp, sid, iat, sig, did } = body;
  // The JSON of the second form of the token may name its own version.
  if (v !== 1 && !(v === 2 && mac !== null)) return BROKEN;
  if (fp !== undefined && (typeof fp !== 'string' || !HEX_64.test(fp))) return BROKEN;
  if (typeof sid !== 'string' || sid === '' || sid.length > SESSION_ID_CHARACTERS_MAX) return BROKEN;
  if (typeof iat !== 'number' || !Number.isSafeInteger(iat) || iat < 0) return BROKEN;
  const seal = mac === null ? null : sealOf(body, payload, mac);
  if (mac !== null && seal === null) return BROKEN;
  return {
    facts: {
      kind: 'collector',
      hasFingerprint: fp !== undefined,
      sessionId: sid,
      issuedAtSeconds: iat,
      signals: readSignals(sig),
      browserHash: typeof did === 'string' && BROWSER_ID.test(did) ? hashBrowser(did) : null,
    },
    fingerprint: fp === undefined ? hashSession(sid) : (fp.toLowerCase() as FingerprintHash),
    seal,
  };
}

function sealOf({ g, seq, aud }: Record<string, unknown>, payload: Buffer, mac: Buffer): SealedToken | null {
  if (typeof g !== 'string' || g.length > GRANT_CHARACTERS_MAX || !BASE64URL.test(g)) return null;
  if (typeof seq !== 'number' || !Number.isInteger(seq) || seq < 0 || seq > TOKEN_SEQUENCE_MAX) return null;
  if (typeof aud !== 'string' || aud.length > ORIGIN_CHARACTERS_MAX) return null;
  return { grant: g, seq, audience: aud, payload, mac };
}

/** The fingerprint of a token without one: the same in all tokens of a session, so that lists can name it. Source: contract, 4.4. */
function hashSession(sid: string): FingerprintHash {
  return hash('sha256', `sid:${sid}`, 'hex') as FingerprintHash;
}

/** Returns the hash under which lists hold a browser. Source: contract, 7.1. */
export function hashBrowser(did: string): FingerprintHash {
  return hash('sha256', `did:${did}`, 'hex') as FingerprintHash;
}

export function isBlank(text: string): boolean {
  return text === '' || text.trim() === '';
}

function readSignals(value: unknown): TokenSignals {
  const sig = isRecord(value) ? value : {};
  return {
    webdriver: bool(sig['webdriver']),
    pluginCount: finite(sig['plugins']),
    languages: texts(sig['languages']),
    platform: text(sig['platform']),
    touchPoints: finite(sig['touch']),
    screenWidth: finite(sig['width']),
    screenHeight: finite(sig['height']),
    timeZone: text(sig['tz']),
    mobileHint: bool(sig['mobile']),
    platformHint: text(sig['platform_hint']),
    automation: texts(sig['auto']),
    keyRhythm: rhythm(sig['beat']),
    webView: text(sig['wv']),
  };
}

function rhythm(value: unknown): KeyRhythm | null {
  if (!isRecord(value)) return null;
  const { gaps, gap: meanMs, gap_sd: deviationMs } = value;
  return isCount(gaps) && isCount(meanMs) && isCount(deviationMs) ? { gaps, meanMs, deviationMs } : null;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function bool(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null;
}

function finite(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value.length <= SESSION_ID_CHARACTERS_MAX ? value : null;
}

function texts(value: unknown): readonly string[] | null {
  if (!Array.isArray(value)) return null;
  const all: readonly unknown[] = value.length > LIST_MAX ? value.slice(0, LIST_MAX) : value;
  // The parser's array is as long as its content, a filtered one has room for sixteen more.
  return all.every((x) => typeof x === 'string') ? all : all.filter((x) => typeof x === 'string');
}
