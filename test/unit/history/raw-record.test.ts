import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pack } from '../../../src/kernel/pack.ts';
import { keptRowOf } from '../../../src/history/kept-row.ts';
import { eraseRecord } from '../../../src/history/decision-log/erase-record.ts';
import { linkCount } from '../../../src/history/decision-log/row-links.ts';
import { RawRecord } from '../../../src/history/decision-log/raw-record.ts';
import { DECISIONS } from '../../../src/risk/decision.ts';
import { decodeRecord, encodeRecord } from '../../../src/risk/decision-record.ts';
import { LinkTailWriter, readLinkTail, visitLinks } from '../../../src/risk/link-tail.ts';
import { SHADOW_REASONS } from '../../../src/risk/shadow.ts';
import { ANY_CHARACTER } from '../../support/any-text.ts';
import { collectorToken, facts } from '../../support/facts.ts';

function tailOf(kinds: readonly string[]): Buffer | null {
  const writer = new LinkTailWriter();
  for (const [n, kind] of kinds.entries()) {
    const hashed = { write: (target: Uint8Array, at: number): void => void target.fill(n + 1, at, at + 8) };
    if (kind.startsWith('entity.')) writer.addEntity(kind.slice('entity.'.length), hashed);
    else writer.addKind(kind as 'ip', hashed);
  }
  return writer.done();
}

const parts = fc.record({
  requestId: fc.constant('req_01J00000000000000000000000'),
  occurredAtMs: fc.constant(1_790_000_000_123),
  verdict: fc.record({
    decision: fc.constantFrom(...DECISIONS),
    score: fc.double({ min: 0, max: 100, noNaN: true }),
    reasons: fc.constant([]),
    reviewHint: fc.constant(''),
  }),
  wouldBe: fc.constantFrom(...DECISIONS, null),
  sessionMode: fc.constant('full' as const),
  shadow: fc.constantFrom(...SHADOW_REASONS, null),
  challenger: fc.constantFrom(...DECISIONS, null),
  publicKey: fc.boolean(),
  eventType: fc.string({ unit: ANY_CHARACTER, maxLength: 80 }),
  facts: fc.constantFrom(null, facts(), facts({ token: collectorToken(), ip: null, geo: null })),
  contributions: fc.array(
    fc.record({
      rule: fc.record({ code: fc.string({ unit: 'grapheme-ascii', maxLength: 40 }) }),
      weight: fc.double({ min: 0, max: 1, noNaN: true }),
      evidence: fc.string({ unit: ANY_CHARACTER, maxLength: 250 }),
    }),
    { maxLength: 20 },
  ),
  withFeatures: fc.boolean(),
  learning: fc.constantFrom(null, { rate: 0.05, policyVersion: 'v', model: null }),
  links: fc.constantFrom(
    null,
    { bytes: null, identities: null },
    { bytes: tailOf(['session', 'ip', 'entity.email', 'entity.own name']), identities: ['a***@shop.example', 'x'] },
    { bytes: tailOf(['network']), identities: null },
  ),
});

describe('a record that loses what is about a person', () => {
  test('It keeps its length, time, decision, score and reason codes, and nothing else about anybody', () => {
    fc.assert(
      fc.property(parts, fc.nat(40), (given, offset) => {
        const bytes = encodeRecord(given);
        const all = Buffer.concat([Buffer.alloc(offset, 0xdc), bytes, Buffer.alloc(9, 0xdc)]);
        const before = decodeRecord(bytes);
        expect(eraseRecord(all, offset, offset + bytes.length)).toBe(true);
        expect(all.subarray(0, offset).every((byte) => byte === 0xdc)).toBe(true);
        expect(all.subarray(offset + bytes.length)).toEqual(Buffer.alloc(9, 0xdc));
        const { links, ...after } = decodeRecord(all.subarray(offset, offset + bytes.length));
        expect(links === null ? [] : readLinkTail(links)).toEqual([]);
        expect(linkCount(all, offset, offset + bytes.length)).toBe(0);
        const { links: _links, ...rest } = before;
        expect(after).toEqual({
          ...rest,
          fingerprintHash: null,
          ip: null,
          asn: null,
          trace: null,
          path: null,
          classBytes: null,
          features: null,
          identities: null,
          contributions: before.contributions.map((one) => ({ ...one, evidence: '' })),
        });
      }),
    );
  });
});

describe('a record that is read without unpacking it', () => {
  test('Every field is the one of the unpacked record, wherever the record lies', () => {
    const raw = new RawRecord();
    fc.assert(
      fc.property(parts, fc.nat(40), (given, offset) => {
        const bytes = encodeRecord(given);
        const all = Buffer.concat([Buffer.alloc(offset, 0xdc), bytes, Buffer.alloc(9, 0xdc)]);
        const record = decodeRecord(bytes);
        expect(raw.read(all, offset, offset + bytes.length)).toBe(true);
        expect([raw.requestId, raw.effective, raw.score, raw.challenger, raw.eventType, raw.country]).toEqual([
          record.requestId,
          record.wouldBe ?? record.decision,
          record.score,
          record.challenger,
          record.eventType,
          record.country,
        ]);
        expect([record.shadow, record.challenger]).toEqual([given.shadow, given.challenger]);
        const { fingerprint } = raw;
        expect(fingerprint === null ? null : Buffer.from(fingerprint, 'latin1').toString('hex')).toBe(
          record.fingerprintHash,
        );
        const fired: unknown[] = [];
        raw.contributions((code, weight) => fired.push({ code, weight }));
        expect(fired).toEqual(record.contributions.map(({ code, weight }) => ({ code, weight })));
        const from = raw.linksAt();
        expect(from === -1).toBe(record.links === null);
        const hashes: string[] = [];
        const end = offset + bytes.length;
        if (from !== -1) visitLinks(all, from, end, (_code, _name, at) => hashes.push(all.toString('hex', at, at + 8)));
        expect(hashes).toEqual(record.links === null ? [] : readLinkTail(record.links).map(({ hash }) => hash));
        expect(keptRowOf(raw, 'sample')).toEqual(keptRowOf(record, 'sample'));
      }),
    );
  });

  test('A record of an older build is refused', () => {
    const old = pack(['req_01J00000000000000000000000', 1, 0, 0, 0, -1, null, 0, 'login', null, null, null, []]);
    expect(new RawRecord().read(Buffer.from(old), 0, old.length)).toBe(false);
  });
});
