import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pack } from '../../../src/kernel/pack.ts';
import { DECISIONS, SESSION_MODES } from '../../../src/risk/decision.ts';
import { decodeRecord, encodeRecord, fingerprintOf } from '../../../src/risk/decision-record.ts';
import { FEATURE_SET } from '../../../src/risk/feature-row.ts';
import { FEATURE_NAMES, fillFeatures } from '../../../src/risk/features.ts';
import { readFeatureRow } from '../../../src/risk/stored-features.ts';
import { readClass } from '../../../src/risk/record-class.ts';
import { readAgent } from '../../../src/risk/signals/agent.ts';
import { readIp } from '../../../src/risk/signals/ip.ts';
import { RULES } from '../../../src/risk/rules/rule-table.ts';
import { SHADOW_REASONS } from '../../../src/risk/shadow.ts';
import { CALM_GEO, facts } from '../../support/facts.ts';
import { history } from '../../support/history.ts';
import { ANY_CHARACTER } from '../../support/any-text.ts';

const PARTS = {
  requestId: 'req_01J00000000000000000000000',
  occurredAtMs: 1_800_000_000_123,
  verdict: { decision: 'REVIEW', score: 71.2, reasons: [], reviewHint: '' },
  sessionMode: 'full',
  shadow: 'near_block',
  publicKey: true,
  eventType: 'login',
  facts: facts({ ip: readIp('91.10.20.30') }),
  contributions: [{ rule: { code: 'device_headless' }, weight: 0.7, evidence: 'HeadlessChrome' }],
} as const;

const CURL = 'curl/8.5.0';
const NO_CLAIM = { claimed: null, verified: null, operator: null, purpose: null };

const wellFormed = (text: string): string => Buffer.from(text).toString();

describe('a decision record', () => {
  it('A decision record is decoded as it was encoded', () => {
    expect(decodeRecord(encodeRecord(PARTS))).toEqual({
      requestId: PARTS.requestId,
      occurredAtMs: PARTS.occurredAtMs,
      decision: 'REVIEW',
      wouldBe: null,
      score: 71.2,
      sessionMode: 'full',
      shadow: 'near_block',
      challenger: null,
      fingerprintHash: 'a'.repeat(64),
      collector: true,
      publicKey: true,
      eventType: 'login',
      ip: '91.10.20.30',
      country: CALM_GEO.country,
      asn: CALM_GEO.asn,
      contributions: [{ code: 'device_headless', weight: 0.7, evidence: 'HeadlessChrome' }],
      outcome: null,
      trace: null,
      path: '/checkout',
      classBytes: Buffer.from('a500020d00860014', 'hex'),
      features: null,
      identities: null,
      links: null,
      observed: [],
    });
  });

  it('A decision record keeps the class of the agent and a location of some 11 km, and nothing of a database that is wrong', () => {
    const classOf = (latitude: number, longitude: number, accuracyKm: number | null): unknown => {
      const geo = { ...CALM_GEO, latitude, longitude, accuracyKm };
      const { classBytes } = decodeRecord(encodeRecord({ ...PARTS, facts: facts({ geo, agent: readAgent(CURL) }) }));
      return classBytes === null ? null : readClass(classBytes);
    };
    const agent = { browser: 'other', system: 'other', form: 'other', automation: 'http_library', ...NO_CLAIM };
    expect(classOf(52.5163, 13.3777, 21.4)).toEqual({
      agent,
      location: { latitude: 52.5, longitude: 13.4, accuracyKm: 21 },
    });
    expect(classOf(-33.8688, -151.2093, null)).toMatchObject({
      location: { latitude: -33.9, longitude: -151.2, accuracyKm: null },
    });
    expect(classOf(Number.NaN, 1e9, 1e9)).toMatchObject({
      location: { latitude: 0, longitude: 180, accuracyKm: 65_534 },
    });
  });

  it.each([
    ['Mozilla/5.0 (compatible; Googlebot/2.1)', 'range', false, { claimed: 'Googlebot', verified: 'range' }],
    ['Googlebot-Image/1.0', 'none', false, { claimed: 'Googlebot', verified: 'none' }],
    ['Mozilla/5.0 (compatible; GPTBot/1.2)', null, false, { claimed: 'GPTBot', verified: null, operator: 'openai' }],
    // Anybody can send a request of a public key with any address.
    ['Mozilla/5.0 (compatible; Googlebot/2.1)', 'range', true, { claimed: 'Googlebot', verified: null }],
  ] as const)(
    'A record keeps the crawler that %s names, proof %s, public key %s',
    (text, verified, publicKey, kept) => {
      const agent = readAgent(text);
      const claimed = agent.claimed ?? null;
      const agentProof = verified === null || claimed === null ? null : { ...claimed, verified };
      for (const geo of [null, { ...CALM_GEO, latitude: 1, longitude: 2 }]) {
        const { classBytes } = decodeRecord(
          encodeRecord({ ...PARTS, publicKey, facts: facts({ geo, agent, agentProof }) }),
        );
        const read = classBytes === null ? null : readClass(classBytes);
        expect(read?.agent).toMatchObject(kept);
        expect(read?.location === null).toBe(geo === null);
      }
    },
  );

  it.each([
    ['https://shop.example/a/b?email=a@b.example#c', '/a/b'],
    ['https://shop.example', '/'],
    ['/login#top', '/login'],
    [`https://shop.example/${'x'.repeat(200)}`, `/${'x'.repeat(99)}`],
    ['', null],
    [null, null],
  ])('The path of the URL %s is kept as %s, without its query', (url, path) => {
    expect(decodeRecord(encodeRecord({ ...PARTS, facts: facts({ url }) })).path).toBe(path);
  });

  it('The feature row has the values that a model gets, and only if it is wanted', () => {
    const given = facts({ ip: readIp('91.10.20.30'), url: 'https://shop.example/a?b', history: history() });
    const fired = [{ rule: { code: 'device_headless' }, weight: 0.7, evidence: '' }];
    const parts = { ...PARTS, facts: given, contributions: fired };
    expect(decodeRecord(encodeRecord(parts)).features).toBeNull();
    const { features } = decodeRecord(encodeRecord({ ...parts, withFeatures: true }));
    const row = features === null ? null : readFeatureRow(features);
    const all = new Float32Array(FEATURE_NAMES.length);
    fillFeatures([...FEATURE_NAMES.keys()], given, (code) => code === 'device_headless', all, 0);
    expect(row?.set).toBe(FEATURE_SET);
    expect([...all].map((_value, at) => row?.values.get(at) ?? 0)).toEqual([...all]);
    features?.writeUInt32BE(1, 0);
    expect(features === null ? null : readFeatureRow(features)).toBeNull();
  });

  it('The feature row keeps its values with all rules at once, in any order and named twice', () => {
    const codes = RULES.map(({ code }) => code);
    const fired = [...codes.toReversed(), ...codes].map((code) => ({ rule: { code }, weight: 0.1, evidence: '' }));
    const given = facts({ ip: readIp('91.10.20.30'), history: history() });
    const record = encodeRecord({ ...PARTS, facts: given, contributions: fired, withFeatures: true });
    const { features, links } = decodeRecord(record);
    const row = features === null ? null : readFeatureRow(features);
    const all = new Float32Array(FEATURE_NAMES.length);
    fillFeatures([...FEATURE_NAMES.keys()], given, () => true, all, 0);
    for (const [at, name] of FEATURE_NAMES.entries()) {
      expect([name, row?.values.get(at) ?? 0]).toEqual([name, all[at]]);
    }
    expect(links).toBeNull();
  });

  it('A feature row has the rate, the policy and the model that it was made under, and no reason tells of it', () => {
    const model = { version: '20260101-000000', probability: 0.12345 };
    const learning = { rate: 0.05, policyVersion: `v\t${'1'.repeat(80)}`, model };
    const parts = { ...PARTS, facts: facts({ history: history() }), withFeatures: true };
    const record = decodeRecord(encodeRecord({ ...parts, learning }));
    expect(record.learning).toEqual({
      rate: 0.05,
      policyVersion: `v ${'1'.repeat(62)}`,
      model: { version: '20260101-000000', probability: 0.1235 },
    });
    expect(record.contributions).toEqual(decodeRecord(encodeRecord(parts)).contributions);
    expect(record.observed).toEqual([]);
    const without = decodeRecord(encodeRecord({ ...parts, learning: { ...learning, model: null } }));
    expect(without.learning?.model).toBeNull();
    expect(decodeRecord(encodeRecord(parts))).not.toHaveProperty('learning');
  });

  it('A decision record of an older build is read, with its fingerprint as text and without the newer fields', () => {
    const row = [
      'req_01J00000000000000000000000',
      1_800_000_000_123,
      4,
      90,
      0,
      -1,
      'b'.repeat(64),
      1,
      'login',
      '203.0.113.7',
    ];
    const old = pack([...row, 'DE', 64_500, ['list_block', 1, 'blocked'], 2, Buffer.of(1, 2)]);
    expect(decodeRecord(old)).toMatchObject({ fingerprintHash: 'b'.repeat(64), ip: '203.0.113.7', path: null });
    expect(decodeRecord(old)).toMatchObject({ classBytes: null, features: null, identities: null, links: null });
    expect(fingerprintOf(old)).toBe('b'.repeat(64));
    expect(fingerprintOf(encodeRecord(PARTS))).toBe('a'.repeat(64));
  });

  it('A decision record keeps the outcome in the request, and the trace of its event', () => {
    for (const length of [0, 41, 104, 300]) {
      const bytes = Uint8Array.from({ length: length + 5 }, (_none, n) => n);
      const told = facts({ outcome: 'declined', history: { ...history(), trace: { bytes, length } } });
      const record = decodeRecord(encodeRecord({ ...PARTS, facts: told }));
      expect(record.outcome).toBe('declined');
      expect([...(record.trace ?? [])]).toEqual([...bytes.subarray(0, length)]);
    }
  });

  it('A decision record from before outcomes existed has neither outcome nor trace', () => {
    const old = pack(['req_01J00000000000000000000000', 1, 0, 0, 0, -1, null, 0, 'login', null, null, null, []]);
    expect(decodeRecord(old)).toMatchObject({ eventType: 'login', outcome: null, trace: null });
  });

  it.each(DECISIONS)(
    'A decision record of observe mode keeps would_be %s beside the flags for collector and public key',
    (wouldBe) => {
      const record = decodeRecord(encodeRecord({ ...PARTS, wouldBe }));
      expect(record).toMatchObject({ decision: 'REVIEW', wouldBe, collector: true, publicKey: true });
    },
  );

  it('A decision record without a session has no fingerprint, no address and no country', () => {
    const record = decodeRecord(encodeRecord({ ...PARTS, facts: null, shadow: null, publicKey: false }));
    expect(record).toMatchObject({ fingerprintHash: null, collector: false, ip: null, country: null, shadow: null });
  });

  it('A decision record keeps any text, and truncates long ones', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: ANY_CHARACTER }),
        fc.string({ unit: ANY_CHARACTER, maxLength: 400 }),
        fc.constantFrom(...DECISIONS),
        fc.constantFrom(...SESSION_MODES),
        fc.constantFrom(...SHADOW_REASONS, null),
        (eventType, evidence, decision, sessionMode, shadow) => {
          const contributions = [{ rule: { code: 'x' }, weight: 0.25, evidence }];
          const verdict = { ...PARTS.verdict, decision };
          const parts = { ...PARTS, verdict, sessionMode, shadow, eventType, contributions };
          const record = decodeRecord(encodeRecord(parts));
          expect(record).toMatchObject({ decision, sessionMode, shadow });
          // A lone surrogate has no UTF-8 encoding.
          expect(record.eventType).toBe(wellFormed(eventType.slice(0, 64)));
          expect(record.contributions[0]?.evidence).toBe(wellFormed(evidence.slice(0, 200)));
        },
      ),
    );
  });

  it('Decoding any other bytes throws', () => {
    for (const other of [[], ['id', 0, 9], [1, 2, 3], ['id', 0, 0, 0, 0, -1, null, 0, '', null, null, null, null]]) {
      expect(() => decodeRecord(pack(other))).toThrow('not a decision record');
    }
    expect(() => decodeRecord(new Uint8Array([0xc1]))).toThrow();
  });
});
