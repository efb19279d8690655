import { createHash, createHmac } from 'node:crypto';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { Clock } from '../../../src/kernel/clock.ts';
import { NO_COLD_HEADERS } from '../../../src/kernel/cold-headers.ts';
import type { RequestHead } from '../../../src/http/exchange.ts';
import type { StoredKey } from '../../../src/auth/key-cache.ts';

/** 21 November 2026, noon. */
export const NOW_SECONDS = Date.UTC(2026, 10, 21, 12) / 1000;

export const SECRET_KEY = `sk_live_${'A'.repeat(38)}`;
export const PUBLIC_KEY = `pk_live_${'B'.repeat(38)}`;

export function storedKey(text: string, changes: Partial<StoredKey> = {}): StoredKey {
  return {
    hash: createHash('sha256').update(text).digest('hex'),
    kind: text.startsWith('pk_') ? 'public' : 'secret',
    customer: 7 as CustomerNumber,
    number: text.startsWith('pk_') ? 2 : 1,
    prefix: text.slice(0, 12),
    rateLimit: 1_000,
    revokedAtSeconds: null,
    origins: [],
    ...changes,
  };
}

/** A clock that changes only when it is set. */
export function fakeClock(nowSeconds = NOW_SECONDS): Clock & { nowSeconds: number; observed: number[] } {
  return {
    nowSeconds,
    observed: [],
    nowMs() {
      return this.nowSeconds * 1000;
    },
    observe(timestampSeconds) {
      this.observed.push(timestampSeconds);
    },
    followsTimestamps: false,
  };
}

export const HEAD: RequestHead = {
  method: 'POST',
  path: '/v1/decide',
  query: '',
  target: '/v1/decide',
  svcKey: SECRET_KEY,
  svcTimestamp: String(NOW_SECONDS),
  svcRequestId: 'request-1',
  svcSignature: '0'.repeat(64),
  authorization: '',
  contentType: 'application/json',
  host: '127.0.0.1',
  cold: NO_COLD_HEADERS,
  contentLength: 2,
  lengthFault: null,
  formFault: null,
  params: {},
};

export interface Signing {
  readonly body?: string;
  /** The target that is signed; default: that of the head, with its query. */
  readonly target?: string;
  /** The HMAC key; default: the contract's for the head's key. */
  readonly hmacKey?: string | Buffer;
  /** Fields that are signed instead of the head's own. */
  readonly signed?: Partial<RequestHead>;
}

/** Returns the head of a signed request, computed independently of the service's code. */
export function signedHead(changes: Partial<RequestHead> = {}, signing: Signing = {}): RequestHead {
  const head = { ...HEAD, ...changes };
  const signed = { ...head, ...signing.signed };
  const text = [
    signed.method,
    signing.target ?? (signed.query === '' ? signed.path : `${signed.path}?${signed.query}`),
    signed.svcTimestamp,
    createHash('sha256')
      .update(signing.body ?? '{}')
      .digest('hex'),
    signed.svcRequestId,
  ].join('\n');
  const usual = head.svcKey.startsWith('pk_') ? createHash('sha256').update(head.svcKey).digest() : head.svcKey;
  const svcSignature = createHmac('sha256', signing.hmacKey ?? usual)
    .update(text)
    .digest('hex');
  return { ...head, svcSignature };
}
