import { hexDigits } from './hex.ts';

/**
 * The steps of verifying a delivery, without the computation of signatures, which Node.js does at once and WebCrypto later. Never throws
 * because of a sender's input, and fails closed.
 */

/** The headers as node:http, Express or Fastify provide them (names in any case), or a `Headers` of fetch. */
export type WebhookHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

/**
 * `standard`: `webhook-signature`, which covers id, time and body. `body`: `X-SVC-Webhook-Signature`, which covers only the body, so that
 * anyone who has seen a delivery can replay it at any time. `any`: `standard` if the delivery has such a signature, else `body`; not
 * stronger than `body`, because headers can be omitted.
 */
export type WebhookScheme = 'standard' | 'body';

export interface VerifyInput {
  readonly headers: WebhookHeaders;
  /** The body's raw bytes, or their text, as received: before any JSON parser. */
  readonly body: Uint8Array | string;
  /** `whsec_…`; any one of several may match, for example during a rotation. */
  readonly secrets: string | readonly string[];
  /** Default: `standard`. */
  readonly scheme?: WebhookScheme | 'any';
  /** Maximum distance of the delivery's time from now, in both directions, inclusive; default 300. */
  readonly toleranceSeconds?: number;
  /** The receiver's clock, Unix ms; default: the system's clock. */
  readonly nowMs?: number;
}

export type VerifyReason =
  | 'missing_header'
  | 'malformed_header'
  /** Fault of the receiver: no secret, or one that is not `whsec_` and the base64 of at least 24 bytes. */
  | 'invalid_secret'
  /** Fault of the receiver: the body was parsed already. */
  | 'body_not_raw'
  | 'signature_mismatch'
  | 'timestamp_too_old'
  | 'timestamp_too_new';

export type VerifiedWebhook =
  | {
      readonly kind: 'verified';
      readonly scheme: WebhookScheme;
      /** The delivery's id, the same for every attempt; null for `body`, which does not cover it. */
      readonly id: string | null;
      /** Not covered by `body` either. */
      readonly timestampSeconds: number;
    }
  | { readonly kind: 'refused'; readonly reason: VerifyReason };

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
/** Source: the Standard Webhooks specification; the service's have 32. */
const SECRET_BYTES_MIN = 24;
const TIMESTAMP = /^[0-9]{1,12}$/;
const BODY_SIGNATURE = /^[0-9a-f]{64}$/i;
const TOLERANCE_SECONDS = 300;
/** Choice: a rotation has two; further signatures are ignored. */
const SIGNATURES_MAX = 16;

/** One HMAC-SHA256 that the steps need. */
export interface MacInput {
  readonly key: Uint8Array<ArrayBuffer>;
  readonly data: Uint8Array<ArrayBuffer>;
}

export type WebhookSteps = Generator<MacInput, VerifiedWebhook, Uint8Array>;

const encoder = new TextEncoder();

/** Yields each HMAC that it needs and continues with its value; returns the result. */
export function* checkWebhook(input: VerifyInput): WebhookSteps {
  const { headers, body } = input;
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return refused('body_not_raw');
  const secrets = [input.secrets].flat();
  if (secrets.length === 0 || !secrets.every(isSecret)) return refused('invalid_secret');
  const wanted = input.scheme ?? 'standard';
  const standard = headerOf(headers, 'webhook-signature');
  if (wanted === 'standard' || (wanted === 'any' && standard !== null))
    return yield* checkStandard(input, standard, secrets);
  return yield* checkBody(input, secrets);
}

function* checkStandard(input: VerifyInput, signatures: string | null, secrets: readonly string[]): WebhookSteps {
  const id = headerOf(input.headers, 'webhook-id');
  const timestamp = headerOf(input.headers, 'webhook-timestamp');
  if (signatures === null || id === null || timestamp === null) return refused('missing_header');
  if (!TIMESTAMP.test(timestamp)) return refused('malformed_header');
  const given = signatures.split(' ', SIGNATURES_MAX).filter((signature) => signature.startsWith('v1,'));
  if (given.length === 0) return refused('malformed_header');
  const data = joined(encoder.encode(`${id}.${timestamp}.`), bytesOf(input.body));
  const expected: string[] = [];
  for (const secret of secrets) expected.push(`v1,${base64Of(yield { key: keyBytes(secret), data })}`);
  if (!isAnyEqual(expected, given)) return refused('signature_mismatch');
  return checkTime(input, { kind: 'verified', scheme: 'standard', id, timestampSeconds: Number(timestamp) });
}

function* checkBody(input: VerifyInput, secrets: readonly string[]): WebhookSteps {
  const signature = headerOf(input.headers, 'x-svc-webhook-signature');
  const timestamp = headerOf(input.headers, 'x-svc-webhook-ts');
  if (signature === null || timestamp === null) return refused('missing_header');
  if (!TIMESTAMP.test(timestamp) || !BODY_SIGNATURE.test(signature)) return refused('malformed_header');
  const data = joined(bytesOf(input.body));
  const expected: string[] = [];
  for (const secret of secrets) {
    expected.push(hexDigits(yield { key: encoder.encode(secret), data }));
  }
  if (!isAnyEqual(expected, [signature.toLowerCase()])) return refused('signature_mismatch');
  return checkTime(input, { kind: 'verified', scheme: 'body', id: null, timestampSeconds: Number(timestamp) });
}

function bytesOf(body: Uint8Array | string): Uint8Array {
  return typeof body === 'string' ? encoder.encode(body) : body;
}

function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function base64Of(bytes: Uint8Array): string {
  return btoa(String.fromCodePoint(...bytes));
}

/** Returns the bytes behind `whsec_`; none if it is not base64. */
function keyBytes(secret: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(SECRET.exec(secret)?.[1] ?? ''), (character) => character.codePointAt(0) ?? 0);
  } catch {
    return new Uint8Array();
  }
}

function checkTime(input: VerifyInput, verified: VerifiedWebhook & { readonly kind: 'verified' }): VerifiedWebhook {
  const ageSeconds = Math.floor((input.nowMs ?? Date.now()) / 1000) - verified.timestampSeconds;
  const toleranceSeconds = input.toleranceSeconds ?? TOLERANCE_SECONDS;
  // Tests for being within, so that a tolerance or a clock that is not a number rejects everything.
  if (Math.abs(ageSeconds) <= toleranceSeconds) return verified;
  return refused(ageSeconds < 0 ? 'timestamp_too_new' : 'timestamp_too_old');
}

/** Compares all pairs, each in constant time, so that the time does not reveal which one matched, or how much of it. */
function isAnyEqual(expected: readonly string[], given: readonly string[]): boolean {
  let isEqual = false;
  for (const one of expected) for (const other of given) if (isSameText(one, other)) isEqual = true;
  return isEqual;
}

/** The length is not secret: it is that of the scheme. */
function isSameText(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

function isSecret(secret: unknown): boolean {
  return typeof secret === 'string' && keyBytes(secret).length >= SECRET_BYTES_MIN;
}

/** Returns null if it is absent, empty, or sent more than once. `name` is in lower case. */
function headerOf(headers: WebhookHeaders, name: string): string | null {
  const value = isGetter(headers) ? headers.get(name) : valueOf(headers, name);
  return typeof value === 'string' && value !== '' ? value : null;
}

function isGetter(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers['get'] === 'function';
}

function valueOf(headers: Exclude<WebhookHeaders, { get(name: string): string | null }>, name: string): unknown {
  const values = Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? value : []));
  return values.length === 1 ? values[0] : null;
}

function refused(reason: VerifyReason): VerifiedWebhook {
  return { kind: 'refused', reason };
}
