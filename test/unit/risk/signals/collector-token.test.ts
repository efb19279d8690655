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

describe('a collector token', () => {
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
      facts: {
        kind: 'collector',
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
    ['no fingerprint', { ...BODY, fp: undefined }],
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
  ])('A collector token with %s is treated as opaque', (_name, body) => {
    expect(readToken(token(body))).toEqual({ facts: { kind: 'opaque' }, fingerprint: null });
  });

  test.each([
    ['another prefix', `st2.${token(BODY).slice(4)}`],
    ['the prefix in upper case', `ST1.${token(BODY).slice(4)}`],
    ['padding', `${token(BODY)}=`],
    ['base64 of the other alphabet', `${token(BODY)}+/`],
    ['a trailing space', `${token(BODY)} `],
    ['bytes that are not UTF-8', `st1.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}`],
    ['no body', 'st1.'],
  ])('A token with %s is treated as opaque', (_name, text) => {
    expect(readToken(text)).toEqual({ facts: { kind: 'opaque' }, fingerprint: null });
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
      expect(readToken(text)).toEqual({ facts: { kind: 'none' }, fingerprint: null });
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
