import { hash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../../../src/kernel/clock.ts';
import { NO_COLD_HEADERS } from '../../../src/kernel/cold-headers.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { RequestHead } from '../../../src/http/exchange.ts';
import { signRequest } from '../../../src/client/sign.ts';
import { KeyCache } from '../../../src/auth/key-cache.ts';
import { canonicalText, prepareHmacKey, verifyHmac } from '../../../src/auth/signature.ts';
import { checkCredentialForm, verifyRequest } from '../../../src/auth/verify.ts';

/** The vectors come from openssl: `scripts/make-vectors.sh`. Signer and verifier are tested against them, not against each other. */
interface Vector {
  readonly name: string;
  readonly key: string;
  readonly hmac_key_hex: string;
  readonly method: string;
  readonly path: string;
  readonly timestamp: number;
  readonly body: string;
  readonly body_sha256: string;
  readonly request_id: string;
  readonly signing_string: string;
  readonly signature: string;
}

const VECTORS = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url), 'utf8')) as readonly Vector[];

const clockAt = (seconds: number): Clock => ({ ...systemClock, nowMs: () => seconds * 1_000 });

function keyringWith(...keys: readonly string[]): KeyCache {
  const keyCache = new KeyCache();
  keyCache.load(
    keys.map((key, i) => ({
      hash: hash('sha256', key, 'hex'),
      kind: key.startsWith('sk_live_') ? 'secret' : 'public',
      customer: 1 as CustomerNumber,
      number: i + 1,
      prefix: key.slice(0, 12),
      rateLimit: 1_000,
      revokedAtSeconds: null,
      origins: [],
    })),
  );
  return keyCache;
}

function headOf(vector: Vector, overrides: Partial<RequestHead> = {}): RequestHead {
  const [path = '', query = ''] = vector.path.split('?');
  return {
    method: vector.method,
    path,
    query,
    target: vector.path,
    svcKey: vector.key,
    svcTimestamp: String(vector.timestamp),
    svcRequestId: vector.request_id,
    svcSignature: vector.signature,
    authorization: '',
    contentType: 'application/json',
    host: '127.0.0.1',
    cold: NO_COLD_HEADERS,
    contentLength: Buffer.byteLength(vector.body),
    lengthFault: null,
    formFault: null,
    params: {},
    ...overrides,
  };
}

const refused = (code: string): object => ({ kind: 'refused', problem: { code } });

describe('signing, against the vectors of openssl', () => {
  it('The vectors have each kind of key with each kind of body', () => {
    expect(VECTORS).toHaveLength(8);
    expect(VECTORS.filter(({ key }) => key.startsWith('sk_live_'))).toHaveLength(4);
    expect(VECTORS.filter(({ body }) => body === '')).toHaveLength(2);
    expect(VECTORS.filter(({ path }) => path.includes('?'))).toHaveLength(2);
    expect(VECTORS.filter(({ body }) => Buffer.byteLength(body) > body.length)).toHaveLength(2);
  });

  describe.each(VECTORS)('$name', (vector) => {
    const { key, method, path, timestamp, body, request_id: requestId, signature } = vector;
    const hmacKey = prepareHmacKey(Buffer.from(vector.hmac_key_hex, 'hex'));
    const bytes = Buffer.from(body, 'utf8');
    const keyCache = keyringWith(...new Set(VECTORS.map((one) => one.key)));
    const verify = (head: RequestHead, sent: Uint8Array = bytes, nowSeconds = timestamp) =>
      verifyRequest(head, sent, keyCache, clockAt(nowSeconds));

    it.each([
      ['text', body],
      ['bytes', bytes],
    ])('The client computes the vector’s signature from %s', (_, sent) => {
      expect(signRequest({ key, method, path, body: sent, timestampSeconds: timestamp, requestId })).toEqual({
        'X-SVC-Key': key,
        'X-SVC-Ts': String(timestamp),
        'X-SVC-Rid': requestId,
        'X-SVC-Sig': signature,
      });
    });

    it('The server computes the vector’s signing string', () => {
      expect(hash('sha256', bytes, 'hex')).toBe(vector.body_sha256);
      expect(canonicalText(method, path, String(timestamp), vector.body_sha256, requestId)).toBe(vector.signing_string);
    });

    it('The vector verifies with its key, and does not verify with one digit changed', () => {
      expect(verifyHmac(hmacKey, vector.signing_string, signature)).toBe(true);
      const other = (signature.startsWith('0') ? '1' : '0') + signature.slice(1);
      expect(verifyHmac(hmacKey, vector.signing_string, other)).toBe(false);
      expect(verifyHmac(hmacKey, `${vector.signing_string}\n`, signature)).toBe(false);
    });

    it('The server accepts the vector', () => {
      const head = headOf(vector);
      expect(checkCredentialForm(head)).toBeNull();
      expect(verify(head)).toMatchObject({ kind: 'verified', timestampSeconds: timestamp });
      expect(verify(headOf(vector, { svcSignature: signature.toUpperCase() }))).toMatchObject({ kind: 'verified' });
    });

    it.each<[string, Partial<RequestHead>]>([
      ['method', { method: 'PUT' }],
      ['path', { path: '/v1/decided', target: '/v1/decided' }],
      ['time', { svcTimestamp: String(timestamp + 1) }],
      ['request id', { svcRequestId: `${requestId}x` }],
    ])('The server refuses the vector with another %s', (_, overrides) => {
      expect(verify(headOf(vector, overrides))).toMatchObject(refused('invalid_signature'));
    });

    it('The server refuses the vector with another body, with another key, or at another time', () => {
      const other = VECTORS.find((one) => one.key !== key)?.key ?? '';
      expect(verify(headOf(vector), Buffer.from(`${body} `))).toMatchObject(refused('invalid_signature'));
      expect(verify(headOf(vector, { svcKey: other }))).toMatchObject(refused('invalid_signature'));
      expect(verify(headOf(vector, { svcKey: `${key}x` }))).toMatchObject(refused('unknown_key'));
      expect(verify(headOf(vector), bytes, timestamp + 300)).toMatchObject({ kind: 'verified' });
      expect(verify(headOf(vector), bytes, timestamp + 301)).toMatchObject(refused('timestamp_out_of_window'));
    });
  });
});

describe('docs/signing.md', () => {
  const page = readFileSync(new URL('../../../docs/signing.md', import.meta.url), 'utf8');
  const example = (language: string): string => page.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? '';
  const python = spawnSync('python3', ['--version']).status === 0;

  it.each(VECTORS.slice(0, 2))('The page shows the vector "$name"', (vector) => {
    for (const text of [vector.key, vector.hmac_key_hex, vector.body, vector.body_sha256, vector.signature])
      expect(page).toContain(text);
  });

  it('The Node.js example of the page signs every vector', () => {
    const code = `${example('js')}
      const vectors = JSON.parse(process.argv[1]);
      process.stdout.write(JSON.stringify(
        vectors.map((v) => sign(v.key, v.method, v.path, v.body, v.timestamp, v.request_id))));`;
    const { stdout } = spawnSync(
      process.execPath,
      ['--input-type=module', '--eval', code, '--', JSON.stringify(VECTORS)],
      { encoding: 'utf8' },
    );
    expect(JSON.parse(stdout)).toEqual(VECTORS.map(({ signature }) => signature));
  });

  it.runIf(python)('The Python example of the page signs every vector', () => {
    const code = `${example('python').split('if __name__')[0] ?? ''}
print(json.dumps([sign(v["key"], v["method"], v["path"], v["body"].encode(), v["timestamp"], v["request_id"])
                  for v in json.loads(sys.argv[1])]))`;
    const { stdout } = spawnSync('python3', ['-c', code, JSON.stringify(VECTORS)], { encoding: 'utf8' });
    expect(JSON.parse(stdout)).toEqual(VECTORS.map(({ signature }) => signature));
  });
});
