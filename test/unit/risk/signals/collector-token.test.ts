import { hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isBlank, readToken } from '../../../../src/risk/signals/collector-token.ts';
import { COLLECTOR_TOKEN_BYTES_MAX } from '../../../../src/kernel/limits.ts';
import { ANY_CHARACTER } from '../../../support/any-text.ts';

const FP = 'ab'.repeat(32);
const BODY = { v: 1, fp: FP, sid: 'session-1', iat: 1_790_000_000, sig: { webdriver: true } };

function token(body: unknown): string {
  return `st1.${Buffer.from(typeof body === 'string' ? body : JSON.stringify(body), 'utf8').toString('base64url')}`;
}

const padded = (padding: number): string => token({ ...BODY, pad: 'x'.repeat(padding) });

const NO_SIGNALS = {
  webdriver: null,
  pluginCount: null,
  languages: null,
  platform: null,
  touchPoints: null,
  screenWidth: null,
  screenHeight: null,
  timeZone: null,
  mobileHint: null,
  platformHint: null,
  automation: null,
  keyRhythm: null,
  webView: null,
};

const BROKEN = { facts: { kind: 'opaque', isBroken: true }, fingerprint: null, seal: null };

describe('a collector token', () => {
  test('A token of minimal mode has no fingerprint of a device, and the same derived one in the whole session', () => {
    const { fp: _none, ...minimal } = BODY;
    const [first, second] = [readToken(token(minimal)), readToken(token({ ...minimal, iat: 1_790_000_060 }))];
    expect(first.facts).toMatchObject({ kind: 'collector', hasFingerprint: false, sessionId: 'session-1' });
    expect(first.fingerprint).toBe(hash('sha256', 'sid:session-1', 'hex'));
    expect(second.fingerprint).toBe(first.fingerprint);
    expect(readToken(token({ ...minimal, sid: 'session-2' })).fingerprint).not.toBe(first.fingerprint);
  });

  test('A collector token is parsed into fingerprint, session, time of issue and signals', () => {
    const sig = {
      webdriver: false,
      plugins: 3,
      languages: ['de-DE', 'de'],
      platform: 'Win32',
      touch: 0,
      width: 1920,
      height: 1080,
      tz: 'Europe/Berlin',
      mobile: false,
      platform_hint: 'Windows',
      auto: ['no_frame'],
      beat: { keys: 10, gaps: 9, gap: 120, gap_sd: 40 },
      wv: 'android',
    };
    expect(readToken(token({ ...BODY, sig }))).toEqual({
      fingerprint: FP,
      seal: null,
      facts: {
        browserHash: null,
        kind: 'collector',
        hasFingerprint: true,
        sessionId: 'session-1',
        issuedAtSeconds: 1_790_000_000,
        signals: {
          webdriver: false,
          pluginCount: 3,
          languages: ['de-DE', 'de'],
          platform: 'Win32',
          touchPoints: 0,
          screenWidth: 1920,
          screenHeight: 1080,
          timeZone: 'Europe/Berlin',
          mobileHint: false,
          platformHint: 'Windows',
          automation: ['no_frame'],
          keyRhythm: { gaps: 9, meanMs: 120, deviationMs: 40 },
          webView: 'android',
        },
      },
    });
  });

  test("A collector token's fingerprint in upper case is converted to lower case", () => {
    expect(readToken(token({ ...BODY, fp: FP.toUpperCase() })).fingerprint).toBe(FP);
  });

  test("A collector token's signals of a wrong type count as absent, and too many languages are truncated", () => {
    const wrong = {
      webdriver: 1,
      plugins: '3',
      languages: 'de',
      platform: 7,
      touch: null,
      width: [],
      tz: {},
      mobile: 'no',
    };
    for (const sig of [wrong, undefined, null, 'text', [], 5]) {
      expect(readToken(token({ ...BODY, sig })).facts).toMatchObject({ kind: 'collector', signals: NO_SIGNALS });
    }
    const many = readToken(
      token({ ...BODY, sig: { languages: Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? 'de' : 5)) } }),
    );
    expect(many.facts.kind === 'collector' && many.facts.signals.languages).toEqual(
      Array.from({ length: 16 }, () => 'de'),
    );
    const long = readToken(token({ ...BODY, sig: { platform: 'x'.repeat(129) } }));
    expect(long.facts).toMatchObject({ signals: { platform: null } });
  });

  test.each([
    ['another version', { ...BODY, v: 2 }],
    ['a version as text', { ...BODY, v: '1' }],
    ['a short fingerprint', { ...BODY, fp: FP.slice(1) }],
    ['a fingerprint that is not hexadecimal', { ...BODY, fp: `g${FP.slice(1)}` }],
    ['a fingerprint that is null', { ...BODY, fp: null }],
    ['an empty session id', { ...BODY, sid: '' }],
    ['a long session id', { ...BODY, sid: 'x'.repeat(129) }],
    ['a session id that is a number', { ...BODY, sid: 5 }],
    ['a time of issue with a fraction', { ...BODY, iat: 1.5 }],
    ['a negative time of issue', { ...BODY, iat: -1 }],
    ['a time of issue as text', { ...BODY, iat: '5' }],
    ['a huge time of issue', { ...BODY, iat: 1e300 }],
    ['an array', [BODY]],
    ['null', null],
    ['malformed JSON', '{"v":1'],
    ['nothing', ''],
    ['deep nesting', '['.repeat(6_000)],
  ])('A collector token with %s is treated as opaque and broken', (_name, body) => {
    expect(readToken(token(body))).toEqual(BROKEN);
  });

  test.each([
    ['another prefix', `st2.${token(BODY).slice(4)}`],
    ['padding', `${token(BODY)}=`],
    ['base64 of the other alphabet', `${token(BODY)}+/`],
    ['a trailing space', `${token(BODY)} `],
    ['bytes that are not UTF-8', `st1.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}`],
    ['no body', 'st1.'],
  ])('A token with %s is treated as opaque and broken', (_name, text) => {
    expect(readToken(text)).toEqual(BROKEN);
  });

  test.each([
    ['the prefix in upper case', `ST1.${token(BODY).slice(4)}`],
    ['another version of the prefix', 'st3.abc'],
    ["the customer's own session id", '8f14e45fceea167a5a36dedd4bea2543'],
    ['a long session id', 'x'.repeat(9_000)],
  ])('A token with %s is opaque and not broken', (_name, text) => {
    expect(readToken(text)).toEqual({ facts: { kind: 'opaque', isBroken: false }, fingerprint: null, seal: null });
  });

  test('A collector token at its size limit is parsed, and one character longer it is opaque', () => {
    let padding = 0;
    while (padded(padding + 1).length <= COLLECTOR_TOKEN_BYTES_MAX) padding++;
    expect(readToken(padded(padding)).facts.kind).toBe('collector');
    expect(readToken(padded(padding + 1)).facts.kind).toBe('opaque');
  });

  test('__proto__ in a collector token has no effect', () => {
    const text = `{"__proto__":{"v":1,"polluted":1},"fp":"${FP}","sid":"a","iat":1}`;
    expect(readToken(token(text)).facts.kind).toBe('opaque');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('An empty or blank text is no token', () => {
    for (const text of ['', ' ', '\t\n', '\u00a0', '\ufeff']) {
      expect(isBlank(text)).toBe(true);
      expect(readToken(text)).toEqual({ facts: { kind: 'none' }, fingerprint: null, seal: null });
    }
  });

  test('Parsing a token never throws, whatever it contains', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: ANY_CHARACTER }),
          fc.json().map(token),
          fc.uint8Array().map((b) => `st1.${Buffer.from(b).toString('base64url')}`),
        ),
        (text) => {
          const { facts, fingerprint } = readToken(text);
          expect(fingerprint !== null).toBe(facts.kind === 'collector');
        },
      ),
    );
    fc.assert(
      fc.property(
        fc.record({
          v: fc.constant(1),
          fp: fc.constant(FP),
          sid: fc.jsonValue(),
          iat: fc.jsonValue(),
          sig: fc.jsonValue(),
        }),
        (body) => {
          expect(['collector', 'opaque']).toContain(readToken(token(body)).facts.kind);
        },
      ),
    );
  });
});

describe('a collector token with a grant', () => {
  const MAC = 'A'.repeat(43);
  const SEALED = { ...BODY, g: 'x'.repeat(80), seq: 3, aud: 'https://shop.example' };
  const sealed = (body: unknown, mac = MAC): string =>
    `st2.${Buffer.from(JSON.stringify(body)).toString('base64url')}.${mac}`;

  test('A token with a grant is read like one without, and its signed parts are kept', () => {
    const { facts, fingerprint, seal } = readToken(sealed(SEALED));
    expect([facts, fingerprint]).toEqual([readToken(token(BODY)).facts, FP]);
    expect(seal).toEqual({
      grant: SEALED.g,
      seq: 3,
      audience: 'https://shop.example',
      payload: Buffer.from(JSON.stringify(SEALED)),
      mac: Buffer.alloc(32),
    });
    expect(readToken(sealed({ ...SEALED, v: 2 })).seal).not.toBeNull();
  });

  test.each([
    ['no signature', `st2.${Buffer.from(JSON.stringify(SEALED)).toString('base64url')}`],
    ['an empty signature', sealed(SEALED, '')],
    ['a short signature', sealed(SEALED, MAC.slice(1))],
    ['a long signature', sealed(SEALED, `${MAC}A`)],
    ['a third part', sealed(SEALED, `${MAC}.A`)],
    ['no grant', sealed({ ...SEALED, g: undefined })],
    ['a grant that is no text', sealed({ ...SEALED, g: 5 })],
    ['a grant that is too long', sealed({ ...SEALED, g: 'x'.repeat(129) })],
    ['no number', sealed({ ...SEALED, seq: undefined })],
    ['a negative number', sealed({ ...SEALED, seq: -1 })],
    ['a fraction', sealed({ ...SEALED, seq: 0.5 })],
    ['a number that is too large', sealed({ ...SEALED, seq: 2 ** 20 })],
    ['no page', sealed({ ...SEALED, aud: undefined })],
    ['a page that is too long', sealed({ ...SEALED, aud: 'x'.repeat(271) })],
    ['another version', sealed({ ...SEALED, v: 3 })],
    ['version 2 and no grant', token({ ...BODY, v: 2 })],
  ])('A sealed token with %s is treated as opaque and broken', (_name, text) => {
    expect(readToken(text)).toEqual(BROKEN);
  });

  test.each([
    ['22 characters of base64url', 'q3wV8mJ2Xb0LkT5nZ1cRyA', true],
    ['a UUID', '5f0c4a52-1f1f-4b0f-9c8e-000000000000', true],
    ['15 characters', 'a'.repeat(15), false],
    ['65 characters', 'a'.repeat(65), false],
    ['another alphabet', `${'a'.repeat(20)}+/`, false],
    ['a number', 1e20, false],
  ])('The id of a browser may be %s: %s → %s', (_name, did, isRead) => {
    const { facts } = readToken(token({ ...BODY, did }));
    const browserHash = facts.kind === 'collector' ? facts.browserHash : null;
    expect(browserHash).toBe(isRead ? createHash('sha256').update(`did:${did}`).digest('hex') : null);
  });
});
