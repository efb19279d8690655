import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * For receivers: whether a delivery is from the service, whole, and fresh. Needs nothing but Node.js, so that this one file can be
 * taken along. Never throws for anything that a sender sends, and fails closed.
 */

/** The headers as node:http, Express or Fastify give them (names in any case), or a `Headers` of fetch. */
export type WebhookHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

/**
 * `standard`: `webhook-signature`, which covers id, time and body. `body`: `X-SVC-Webhook-Signature`, which covers the body alone,
 * so that whoever saw a delivery can send it again at any time. `any`: `standard` when the delivery has such a signature, else
 * `body`; no stronger than `body`, since headers can be left away.
 */
export type WebhookScheme = 'standard' | 'body';

export interface VerifyInput {
  readonly headers: WebhookHeaders;
  /** The body's raw bytes, or their text, as they came: before any JSON parser. */
  readonly body: Uint8Array | string;
  /** `whsec_…`; any one of several may match, for example while a rotation is under way. */
  readonly secrets: string | readonly string[];
  /** `standard` unless told. */
  readonly scheme?: WebhookScheme | 'any';
  /** How far the delivery's time may be from now, either way, ends included; 300 unless told. */
  readonly toleranceSeconds?: number;
  /** The receiver's clock, Unix ms; the system's unless told. */
  readonly nowMs?: number;
}

export type VerifyReason =
  | 'missing_header'
  | 'malformed_header'
  /** The receiver's own fault: no secret, or one that is not `whsec_` and the base64 of at least 24 bytes. */
  | 'invalid_secret'
  /** The receiver's own fault: something that was parsed already. */
  | 'body_not_raw'
  | 'signature_mismatch'
  | 'timestamp_too_old'
  | 'timestamp_too_new';

export type Verified =
  | {
      readonly kind: 'verified';
      readonly scheme: WebhookScheme;
      /** The delivery's id, the same on every attempt; null under `body`, which does not cover it. */
      readonly id: string | null;
      /** Under `body` it is not covered either. */
      readonly timestampSeconds: number;
    }
  | { readonly kind: 'refused'; readonly reason: VerifyReason };

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
/** Source: the Standard Webhooks specification; the service's have 32. */
const SECRET_BYTES_MIN = 24;
const TIMESTAMP = /^[0-9]{1,12}$/;
const BODY_SIGNATURE = /^[0-9a-f]{64}$/i;
const TOLERANCE_SECONDS = 300;
/** Choice: a rotation has two; what comes after these is not looked at. */
const SIGNATURES_MAX = 16;

/** Checks one delivery; see `WebhookScheme` for what each scheme is worth. The reason of a refusal is for the receiver's log. */
export function verifyWebhook(input: VerifyInput): Verified {
  const { headers, body } = input;
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return refused('body_not_raw');
  const secrets = [input.secrets].flat();
  if (secrets.length === 0 || !secrets.every(isSecret)) return refused('invalid_secret');
  const wanted = input.scheme ?? 'standard';
  const standard = headerOf(headers, 'webhook-signature');
  if (wanted === 'standard' || (wanted === 'any' && standard !== null)) return verifyStandard(input, standard, secrets);
  return verifyBody(input, secrets);
}

function verifyStandard(input: VerifyInput, signatures: string | null, secrets: readonly string[]): Verified {
  const id = headerOf(input.headers, 'webhook-id');
  const timestamp = headerOf(input.headers, 'webhook-timestamp');
  if (signatures === null || id === null || timestamp === null) return refused('missing_header');
  if (!TIMESTAMP.test(timestamp)) return refused('malformed_header');
  const given = signatures.split(' ', SIGNATURES_MAX).filter((signature) => signature.startsWith('v1,'));
  if (given.length === 0) return refused('malformed_header');
  const expected = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(SECRET, '$1'), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(input.body).digest('base64')}`;
  });
  if (!isAnyEqual(expected, given)) return refused('signature_mismatch');
  return checkTime(input, { kind: 'verified', scheme: 'standard', id, timestampSeconds: Number(timestamp) });
}

function verifyBody(input: VerifyInput, secrets: readonly string[]): Verified {
  const signature = headerOf(input.headers, 'x-svc-webhook-signature');
  const timestamp = headerOf(input.headers, 'x-svc-webhook-ts');
  if (signature === null || timestamp === null) return refused('missing_header');
  if (!TIMESTAMP.test(timestamp) || !BODY_SIGNATURE.test(signature)) return refused('malformed_header');
  const expected = secrets.map((secret) => createHmac('sha256', secret).update(input.body).digest('hex'));
  if (!isAnyEqual(expected, [signature.toLowerCase()])) return refused('signature_mismatch');
  return checkTime(input, { kind: 'verified', scheme: 'body', id: null, timestampSeconds: Number(timestamp) });
}

function checkTime(input: VerifyInput, verified: Verified & { readonly kind: 'verified' }): Verified {
  const ageSeconds = Math.floor((input.nowMs ?? Date.now()) / 1000) - verified.timestampSeconds;
  const toleranceSeconds = input.toleranceSeconds ?? TOLERANCE_SECONDS;
  // Asked for what is within, so that a tolerance or a clock that is no number lets nothing pass.
  if (Math.abs(ageSeconds) <= toleranceSeconds) return verified;
  return refused(ageSeconds < 0 ? 'timestamp_too_new' : 'timestamp_too_old');
}

/** All pairs are compared, each in constant time, so that nothing tells which one matched or how much of it. */
function isAnyEqual(expected: readonly string[], given: readonly string[]): boolean {
  let isEqual = false;
  for (const one of expected) {
    const wanted = Buffer.from(one);
    for (const other of given) {
      const bytes = Buffer.from(other);
      if (bytes.length === wanted.length && timingSafeEqual(bytes, wanted)) isEqual = true;
    }
  }
  return isEqual;
}

function isSecret(secret: unknown): boolean {
  const base64 = typeof secret === 'string' ? SECRET.exec(secret)?.[1] : undefined;
  return base64 !== undefined && Buffer.from(base64, 'base64').length >= SECRET_BYTES_MIN;
}

/** null when it is absent, empty, or sent more than once. `name` is in lower case. */
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

function refused(reason: VerifyReason): Verified {
  return { kind: 'refused', reason };
}
