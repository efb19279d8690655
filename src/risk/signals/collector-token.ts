import { COLLECTOR_TOKEN_BYTES_MAX } from '../../kernel/limits.ts';
import type { FingerprintHash } from '../../kernel/brand.ts';
import type { KeyRhythm, TokenFacts, TokenSignals } from '../facts.ts';

/**
 * A session token of the collector script: `st1.` + base64url of UTF-8 JSON with `v`, `fp`, `sid`, `iat` and `sig`. The client writes it,
 * so nothing in it is trusted. A malformed token is treated as opaque, never as an error.
 * Source: contract, 4.5.
 */
export interface ReadToken {
  readonly facts: TokenFacts;
  /** The fingerprint inside a collector token; null for any other token, whose fingerprint is the hash of its text. */
  readonly fingerprint: FingerprintHash | null;
}

const PREFIX = 'st1.';
const HEX_64 = /^[0-9a-f]{64}$/i;
const BASE64URL = /^[A-Za-z0-9_-]+$/;
const SESSION_ID_CHARACTERS_MAX = 128;
const LIST_MAX = 32;

const NONE: ReadToken = { facts: { kind: 'none' }, fingerprint: null };
const OPAQUE: ReadToken = { facts: { kind: 'opaque' }, fingerprint: null };
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

export function readToken(text: string): ReadToken {
  if (isBlank(text)) return NONE;
  if (!text.startsWith(PREFIX) || text.length > COLLECTOR_TOKEN_BYTES_MAX) return OPAQUE;
  const encoded = text.slice(PREFIX.length);
  if (!BASE64URL.test(encoded)) return OPAQUE;
  let body: unknown;
  try {
    body = JSON.parse(strictUtf8.decode(Buffer.from(encoded, 'base64url')));
  } catch {
    return OPAQUE;
  }
  if (!isRecord(body)) return OPAQUE;
  const { v, fp, sid, iat, sig } = body;
  if (v !== 1 || typeof fp !== 'string' || !HEX_64.test(fp)) return OPAQUE;
  if (typeof sid !== 'string' || sid === '' || sid.length > SESSION_ID_CHARACTERS_MAX) return OPAQUE;
  if (typeof iat !== 'number' || !Number.isSafeInteger(iat) || iat < 0) return OPAQUE;
  return {
    facts: { kind: 'collector', sessionId: sid, issuedAtSeconds: iat, signals: readSignals(sig) },
    fingerprint: fp.toLowerCase() as FingerprintHash,
  };
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
  return value.slice(0, LIST_MAX).filter((x): x is string => typeof x === 'string');
}
