import { createHmac, randomUUID } from 'node:crypto';

/** Tokens as the collector script makes them; written from the contract, 4.5 and 17.3, without the service's own code. */

export interface TokenBody {
  readonly v?: number;
  readonly fp: string;
  readonly sid?: string;
  readonly iat?: number;
  readonly did?: string;
  readonly sig?: object;
}

export interface Grant {
  readonly grant: string;
  /** base64url of 32 bytes. */
  readonly nonce: string;
}

function bodyOf({
  v = 1,
  fp,
  sid = randomUUID(),
  iat = Math.floor(Date.now() / 1_000) - 30,
  did,
  sig = {},
}: TokenBody) {
  return { v, fp, sid, iat, sig, ...(did !== undefined && { did }) };
}

export function plainToken(body: TokenBody): string {
  return `st1.${Buffer.from(JSON.stringify(bodyOf(body))).toString('base64url')}`;
}

/** Signs the token with the nonce of a grant. */
export function grantedToken(body: TokenBody, { grant, nonce }: Grant, seq: number, aud: string): string {
  return signedToken({ ...bodyOf(body), g: grant, seq, aud }, Buffer.from(nonce, 'base64url'));
}

/** Signs any JSON as a token. */
export function signedToken(json: unknown, key: Buffer | string): string {
  const payload = Buffer.from(typeof json === 'string' ? json : JSON.stringify(json));
  const mac = createHmac('sha256', key).update(payload).digest('base64url');
  return `st2.${payload.toString('base64url')}.${mac}`;
}
