import { createHash } from 'node:crypto';
import type * as nodeCrypto from 'node:crypto';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { RequestHead } from '../../../src/http/exchange.ts';
import { KeyCache } from '../../../src/auth/key-cache.ts';
import { checkCredentialForm, verifyRequest } from '../../../src/auth/verify.ts';
import { fakeClock, HEAD, NOW_SECONDS, PUBLIC_KEY, SECRET_KEY, signedHead, storedKey } from '../decide/support.ts';

let hashes = 0;
vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof nodeCrypto>();
  const hash = (...parameters: Parameters<typeof crypto.hash>): unknown => {
    hashes++;
    return crypto.hash(...parameters);
  };
  return { ...crypto, hash };
});

const BODY = Buffer.from('{}');
const keyCache = new KeyCache();
const clock = fakeClock();

beforeEach(() => {
  keyCache.load([storedKey(SECRET_KEY), storedKey(PUBLIC_KEY)]);
  clock.nowSeconds = NOW_SECONDS;
  clock.observed.length = 0;
});

/** Returns `verified`, or the error code. */
function outcome(head: RequestHead, body: Uint8Array = BODY): string {
  const verified = verifyRequest(head, body, keyCache, clock);
  return verified.kind === 'verified' ? 'verified' : verified.problem.code;
}

describe('the form of the credentials', () => {
  test.each([
    ['no key', { svcKey: '' }, 'missing_credentials'],
    ['a key with a space', { svcKey: 'sk_live_ a' }, 'missing_credentials'],
    ['a key that is too long', { svcKey: 'x'.repeat(129) }, 'missing_credentials'],
    ['no timestamp', { svcTimestamp: '' }, 'missing_credentials'],
    ['a timestamp of 13 digits', { svcTimestamp: '1790000000000' }, 'missing_credentials'],
    ['a negative timestamp', { svcTimestamp: '-5' }, 'missing_credentials'],
    ['a timestamp with a sign', { svcTimestamp: '+1790000000' }, 'missing_credentials'],
    ['a timestamp with a point', { svcTimestamp: '1790000000.0' }, 'missing_credentials'],
    ['a timestamp in scientific form', { svcTimestamp: '179e7' }, 'missing_credentials'],
    ['a timestamp with a newline', { svcTimestamp: `${NOW_SECONDS}\n` }, 'missing_credentials'],
    ['a timestamp in other digits', { svcTimestamp: '١٧٩٠' }, 'missing_credentials'],
    ['no request id', { svcRequestId: '' }, 'missing_credentials'],
    ['a request id of 129 characters', { svcRequestId: 'x'.repeat(129) }, 'missing_credentials'],
    ['a request id with a space', { svcRequestId: 'a b' }, 'missing_credentials'],
    ['a request id with a tab', { svcRequestId: 'a\tb' }, 'missing_credentials'],
    ['a request id beyond ASCII', { svcRequestId: 'ü' }, 'missing_credentials'],
    ['no signature', { svcSignature: '' }, 'invalid_signature'],
    ['a short signature', { svcSignature: 'a'.repeat(63) }, 'invalid_signature'],
    ['a long signature', { svcSignature: 'a'.repeat(65) }, 'invalid_signature'],
    ['a signature that is not hexadecimal', { svcSignature: 'g'.repeat(64) }, 'invalid_signature'],
    ['a signature with a prefix', { svcSignature: `0x${'a'.repeat(62)}` }, 'invalid_signature'],
  ] as const)('A request with %s gets 401', (_name, changes, code) => {
    expect(checkCredentialForm({ ...HEAD, ...changes })).toMatchObject({ status: 401, code });
  });

  test('A timestamp of 1 to 12 digits, an id of 1 to 128 visible characters and hex digits of either case are accepted', () => {
    const good: readonly Partial<RequestHead>[] = [
      {},
      { svcTimestamp: '1' },
      { svcTimestamp: '999999999999' },
      { svcRequestId: '!' },
      { svcRequestId: '~'.repeat(128) },
      { svcSignature: 'aF'.repeat(32) },
      { svcKey: 'x'.repeat(128) },
    ];
    for (const changes of good) expect(checkCredentialForm({ ...HEAD, ...changes })).toBeNull();
  });
});

describe.each([
  ['secret', SECRET_KEY],
  ['public', PUBLIC_KEY],
] as const)('a request signed with a %s key', (kind, svcKey) => {
  test('A correctly signed request is verified, and the clock observes its time', () => {
    const verified = verifyRequest(signedHead({ svcKey }), BODY, keyCache, clock);
    expect(verified).toMatchObject({ kind: 'verified', key: { kind, customer: 7 }, timestampSeconds: NOW_SECONDS });
    expect(clock.observed).toEqual([NOW_SECONDS]);
  });

  test.each([
    [-301, 'timestamp_out_of_window'],
    [-300, 'verified'],
    [-299, 'verified'],
    [299, 'verified'],
    [300, 'verified'],
    [301, 'timestamp_out_of_window'],
  ])('A request from a clock that is %d s off is %s', (skew, expected) => {
    expect(outcome(signedHead({ svcKey, svcTimestamp: String(NOW_SECONDS + skew) }))).toBe(expected);
  });

  test('A signature in upper case is verified', () => {
    const head = signedHead({ svcKey });
    expect(outcome({ ...head, svcSignature: head.svcSignature.toUpperCase() })).toBe('verified');
  });

  test('A request may be signed over its target with or without the query, and over no other target', () => {
    const query = 'a=b&c';
    const sent = { svcKey, query, target: `/v1/decide?${query}` };
    expect(outcome(signedHead(sent))).toBe('verified');
    expect(outcome(signedHead(sent, { target: '/v1/decide' }))).toBe('verified');
    for (const target of ['/v1/decide?a=b', '/v1/decide?', '/v1/decide?c&a=b', '/v1/Decide', '/v1/decide/', '']) {
      expect(outcome(signedHead(sent, { target }))).toBe('invalid_signature');
    }
    expect(outcome(signedHead({ svcKey }, { target: '/v1/decide?a=b' }))).toBe('invalid_signature');
  });

  test.each([
    ['method', { method: 'PUT' }],
    ['path', { path: '/v1/decisions' }],
    ['timestamp', { svcTimestamp: String(NOW_SECONDS + 1) }],
    ['request id', { svcRequestId: 'request-2' }],
  ] as const)('A signature over another %s is not verified', (_name, signed) => {
    expect(outcome(signedHead({ svcKey }, { signed }))).toBe('invalid_signature');
  });

  test('A signature over another body is not verified', () => {
    const head = signedHead({ svcKey });
    for (const body of ['{} ', '', '{"a":1}']) expect(outcome(head, Buffer.from(body))).toBe('invalid_signature');
    expect(outcome(signedHead({ svcKey }, { body: '' }), new Uint8Array())).toBe('verified');
  });

  test("A signature with another key's HMAC is not verified", () => {
    const other = kind === 'secret' ? PUBLIC_KEY : SECRET_KEY;
    expect(outcome(signedHead({ svcKey }, { hmacKey: other }))).toBe('invalid_signature');
    expect(outcome(signedHead({ svcKey }, { hmacKey: '' }))).toBe('invalid_signature');
    expect(outcome({ ...signedHead({ svcKey }), svcKey: other })).toBe('invalid_signature');
  });
});

describe('the HMAC key', () => {
  const digest = createHash('sha256').update(PUBLIC_KEY).digest();

  test("The HMAC key of a public key is its raw digest or the digest's text in lower case, never its own text", () => {
    expect(outcome(signedHead({ svcKey: PUBLIC_KEY }, { hmacKey: digest }))).toBe('verified');
    expect(outcome(signedHead({ svcKey: PUBLIC_KEY }, { hmacKey: digest.toString('hex') }))).toBe('verified');
    expect(outcome(signedHead({ svcKey: PUBLIC_KEY }, { hmacKey: digest.toString('hex').toUpperCase() }))).toBe(
      'invalid_signature',
    );
    expect(outcome(signedHead({ svcKey: PUBLIC_KEY }, { hmacKey: PUBLIC_KEY }))).toBe('invalid_signature');
  });

  test('The HMAC key of a secret key is its text, never its digest', () => {
    const secretDigest = createHash('sha256').update(SECRET_KEY).digest();
    expect(outcome(signedHead({}, { hmacKey: secretDigest }))).toBe('invalid_signature');
    expect(outcome(signedHead({}, { hmacKey: secretDigest.toString('hex') }))).toBe('invalid_signature');
  });
});

describe('the order of checks of a signed request', () => {
  test('Time is checked first, then the key, then the signature', () => {
    const old = { svcTimestamp: String(NOW_SECONDS - 1_000) };
    const unknown = { svcKey: 'sk_live_nobody' };
    const bad = { svcSignature: 'a'.repeat(64) };
    expect(outcome({ ...HEAD, ...old, ...unknown, ...bad })).toBe('timestamp_out_of_window');
    expect(outcome({ ...HEAD, ...unknown, ...bad })).toBe('unknown_key');
    expect(outcome({ ...HEAD, ...bad })).toBe('invalid_signature');
    expect(outcome(signedHead(unknown))).toBe('unknown_key');
  });

  test("A refusal does not reveal the named key, but contains the server's time if the client's clock is wrong", () => {
    const late = verifyRequest({ ...HEAD, svcTimestamp: '5' }, BODY, keyCache, clock);
    expect(late).toMatchObject({ kind: 'refused', problem: { status: 401, serverTime: NOW_SECONDS } });
    for (const svcKey of [HEAD.svcKey, 'sk_live_nobody']) {
      const refused = verifyRequest({ ...HEAD, svcKey }, BODY, keyCache, clock);
      expect(Object.keys(refused)).toEqual(['kind', 'problem']);
    }
  });

  test('A request that is not verified does not advance the clock', () => {
    for (const head of [HEAD, signedHead({ svcKey: 'sk_live_nobody' }), signedHead({ svcTimestamp: '5' })]) {
      expect(outcome(head)).not.toBe('verified');
    }
    expect(clock.observed).toEqual([]);
  });

  test('The virtual clock accepts timestamps ahead of it, but none too far behind it', () => {
    const simulated = { ...clock, followsTimestamps: true };
    const at = (skew: number): string =>
      verifyRequest(signedHead({ svcTimestamp: String(NOW_SECONDS + skew) }), BODY, keyCache, simulated).kind;
    expect([at(86_400), at(301), at(0), at(-300), at(-301)]).toEqual([
      'verified',
      'verified',
      'verified',
      'verified',
      'refused',
    ]);
  });
});

function hashesOf(head: RequestHead): number {
  hashes = 0;
  outcome(head);
  return hashes;
}

describe('an unknown key', () => {
  test.each([
    ['secret', SECRET_KEY, 'sk_live_nobody'],
    ['public', PUBLIC_KEY, 'pk_live_nobody'],
  ])(
    'An unknown %s key costs as many hashes as a known one with a wrong or a right signature',
    (_kind, known, unknown) => {
      // A text is hashed when it is first presented, and a key's HMAC keys are prepared; afterwards all requests are equal.
      for (const svcKey of [known, unknown]) outcome(signedHead({ svcKey }));
      const right = hashesOf(signedHead({ svcKey: known }));
      const wrong = hashesOf({ ...HEAD, svcKey: known });
      const strange = hashesOf({ ...HEAD, svcKey: unknown });
      expect(right).toBeGreaterThanOrEqual(3);
      expect([wrong, strange]).toEqual([right, right]);
    },
  );

  test("An unknown key cannot be used by signing with itself or with the stand-in's source", () => {
    for (const svcKey of ['sk_live_first', 'sk_live_second', 'pk_live_first']) {
      expect(outcome(signedHead({ svcKey }))).toBe('unknown_key');
      expect(outcome(signedHead({ svcKey }, { hmacKey: 'sk_live_first' }))).toBe('unknown_key');
    }
  });

  test('A revoked key is unknown after the next load', () => {
    keyCache.load([storedKey(SECRET_KEY, { revokedAtSeconds: NOW_SECONDS })]);
    expect(outcome(signedHead())).toBe('unknown_key');
  });
});
