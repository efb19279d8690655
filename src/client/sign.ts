import { createHmac, hash } from 'node:crypto';

export interface SignInput {
  /** The key's text, `sk_live_…` or `pk_live_…`, or of a test key. */
  readonly key: string;
  /** Upper case. */
  readonly method: string;
  /** The request's target as sent, including the query. */
  readonly path: string;
  /** The exact bytes that are sent. */
  readonly body: string | Uint8Array;
  readonly timestampSeconds: number;
  /** 1 to 128 visible ASCII characters, never used before with this key. */
  readonly requestId: string;
}

/**
 * Returns the four headers that sign a request. The signing string is five lines without a newline at its end: method, path, timestamp,
 * SHA-256 of the body in hex, request id. A secret key signs with its own text, a public key with the 32 raw bytes of its text's SHA-256.
 * Source: contract, 3.4.
 */
export function signRequest(input: SignInput): Record<string, string> {
  const timestamp = String(input.timestampSeconds);
  const text = [input.method, input.path, timestamp, hash('sha256', input.body, 'hex'), input.requestId].join('\n');
  const hmacKey = input.key.startsWith('pk_') ? hash('sha256', input.key, 'buffer') : input.key;
  return {
    'X-SVC-Key': input.key,
    'X-SVC-Ts': timestamp,
    'X-SVC-Rid': input.requestId,
    'X-SVC-Sig': createHmac('sha256', hmacKey).update(text).digest('hex'),
  };
}
