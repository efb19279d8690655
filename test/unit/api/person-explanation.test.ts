import { describe, expect, test } from 'vitest';
import { explainToPerson } from '../../../src/api/person-explanation.ts';
import { PERSON_TEXTS } from '../../../src/api/person-texts.ts';
import { EXPLANATION_LANGUAGES } from '../../../src/contract/vocabulary.ts';
import type { DecisionRecord } from '../../../src/risk/decision-record.ts';
import type { Decision } from '../../../src/risk/decision.ts';
import { PUBLIC_REASONS, PUBLIC_SUBJECTS } from '../../../src/risk/public-reasons.ts';
import { RULES } from '../../../src/risk/rules/rule-table.ts';

function record(decision: Decision, weights: Readonly<Record<string, number>>): DecisionRecord {
  const contributions = Object.entries(weights).map(([code, weight]) => ({ code, weight, evidence: 'client text' }));
  return { requestId: 'req_1', occurredAtMs: 1_790_000_000_000, decision, contributions } as unknown as DecisionRecord;
}

describe('an explanation for a person', () => {
  test('Every rule declares what may be said of it', () => {
    const codes = [...RULES.map(({ code }) => code), 'missing_session_token'];
    expect(Object.keys(PUBLIC_REASONS).sort()).toEqual([...new Set(codes)].sort());
  });

  test('Rules about other people declare nothing', () => {
    const ofOthers = RULES.filter(({ family }) => ['population', 'registry', 'ip_volume'].includes(family));
    expect(ofOthers.length).toBeGreaterThan(8);
    expect(ofOthers.filter(({ code }) => PUBLIC_REASONS[code] !== null).map(({ code }) => code)).toEqual([]);
  });

  test('Each language has a sentence of its own for everything, without a number', () => {
    const all = EXPLANATION_LANGUAGES.map((lang) => {
      const { decisions, reasons, unnamed } = PERSON_TEXTS[lang];
      expect(Object.keys(reasons).sort()).toEqual([...PUBLIC_SUBJECTS].sort());
      return [...Object.values(decisions), ...Object.values(reasons), unnamed];
    });
    for (const sentence of all.flat()) expect(sentence).toMatch(/^\p{Lu}[^\d_]+\.$/u);
    // ALLOW and ALLOW_WATCH share theirs.
    expect(new Set(all.flat()).size).toBe(all.flat().length - EXPLANATION_LANGUAGES.length);
  });

  test('Reasons of one kind are one sentence, the heaviest first, and own rules are not named', () => {
    const found = record('BLOCK', { ip_vpn: 0.2, device_headless: 0.8, device_automation: 0.7, own_secret: 0.9 });
    const { reasons } = PERSON_TEXTS.de;
    expect(explainToPerson(found, 'de')).toEqual({
      request_id: 'req_1',
      lang: 'de',
      occurred_at: 1_790_000_000,
      decision: PERSON_TEXTS.de.decisions.BLOCK,
      reasons: [reasons.automation, reasons.connection],
    });
  });

  test('If nothing may be named, a sentence says that details are not published; a request that was let through has none', () => {
    const hidden = record('BLOCK', { registry_known_bad: 0.9, own_secret: 0.9 });
    expect(explainToPerson(hidden, 'en').reasons).toEqual([PERSON_TEXTS.en.unnamed]);
    expect(explainToPerson(record('ALLOW', { ip_vpn: 0.1 }), 'en').reasons).toEqual([]);
  });
});
