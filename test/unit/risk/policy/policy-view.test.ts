import { describe, expect, test } from 'vitest';
import { parsePolicy } from '../../../../src/risk/policy/policy-check.ts';
import type { PolicyDocument } from '../../../../src/risk/policy/policy-document.ts';
import { DEFAULT_DOCUMENT } from '../../../../src/risk/policy/policy-set.ts';
import { differences, PolicyView, rulesOf } from '../../../../src/risk/policy/policy-view.ts';
import { RULES } from '../../../../src/risk/rules/rule-table.ts';

const OWN = 'cus_01ARZ3NDEKTSV4RRFFQ69G5FAV';
const OTHER = 'cus_01ARZ3NDEKTSV4RRFFQ69G5FAW';

function documentOf(file: object): PolicyDocument {
  const parsed = parsePolicy(JSON.stringify(file));
  if (parsed.kind === 'faults') throw new Error(JSON.stringify(parsed.faults));
  return parsed.document;
}

const DEFAULT = new PolicyView(DEFAULT_DOCUMENT, OWN);

describe('the policy as one customer sees it', () => {
  test('Every rule has its own weights, its sentence and what quiets it, and is unchanged by default', () => {
    const rules = rulesOf(DEFAULT);
    expect(rules.map(({ reason }) => reason)).toEqual(RULES.map(({ code }) => code));
    expect(rules.find(({ reason }) => reason === 'ip_hosting')).toEqual({
      reason: 'ip_hosting',
      family: 'network',
      enabled: true,
      weight: 0.3,
      levels: { default: 0.3 },
      thresholds: {},
      isChanged: false,
      eventTypes: [],
      sentence: 'the IP address belongs to a hosting company',
      quietedBy: 'relays and satellite networks, verified crawlers',
    });
    expect(rules.every(({ isChanged }) => !isChanged)).toBe(true);
  });

  test('A rule shows the weights and thresholds of the file, and event types for which it differs', () => {
    const file = {
      weights: { ip_hosting: 0.1 },
      thresholds: { 'velocity_ip_1m.decisions': 500 },
      event_types: { login: { rules_off: ['ip_hosting'] } },
    };
    const rules = rulesOf(new PolicyView(documentOf(file), OWN));
    const hosting = rules.find(({ reason }) => reason === 'ip_hosting');
    expect([hosting?.enabled, hosting?.weight, hosting?.isChanged]).toEqual([true, 0.1, true]);
    expect(hosting?.eventTypes).toEqual([
      { eventType: 'login', enabled: false, weight: 0.1, levels: { default: 0.1 }, thresholds: {} },
    ]);
    expect(rules.find(({ reason }) => reason === 'velocity_ip_1m')?.thresholds).toEqual({ decisions: 500 });
  });

  test('Settings of another customer are not shown', async () => {
    const document = documentOf({ customers: { [OTHER]: { bands: { block: 95 }, weights: { ip_hosting: 0.9 } } } });
    const view = new PolicyView(document, OWN);
    expect(await differences(DEFAULT, view, 10)).toEqual({ differences: [], isTruncated: false });
    expect((await differences(DEFAULT, new PolicyView(document, OTHER), 10)).differences).toHaveLength(2);
  });

  test('Differences name bands, weights, rules and other settings, with both values', async () => {
    const file = { bands: { block: 90 }, rules_off: ['ip_vpn'], mode: 'observe', watched_countries: ['FR'] };
    expect((await differences(DEFAULT, new PolicyView(documentOf(file), OWN), 10)).differences).toEqual([
      { eventType: null, kind: 'setting', name: 'mode', before: 'enforce', after: 'observe' },
      { eventType: null, kind: 'band', name: 'BLOCK', before: 80, after: 90 },
      { eventType: null, kind: 'rule', name: 'ip_vpn', before: true, after: false },
      { eventType: null, kind: 'setting', name: 'watched_countries', before: '', after: 'FR' },
    ]);
  });

  test('An event type is listed only where it differs in another way', async () => {
    const file = { weights: { ip_hosting: 0.1 }, event_types: { login: { bands: { review: 65 } } } };
    expect((await differences(DEFAULT, new PolicyView(documentOf(file), OWN), 10)).differences).toEqual([
      { eventType: null, kind: 'weight', name: 'ip_hosting', before: 0.3, after: 0.1 },
      { eventType: 'login', kind: 'band', name: 'REVIEW', before: null, after: 65 },
    ]);
  });

  test('More differences than a person reads are truncated', async () => {
    const weights = Object.fromEntries(['ip_hosting', 'ip_vpn', 'ip_tor_exit'].map((code) => [code, 0.01]));
    const found = await differences(DEFAULT, new PolicyView(documentOf({ weights }), OWN), 2);
    expect([found.differences.length, found.isTruncated]).toEqual([2, true]);
  });

  test("The challenger's policy is this one with its changes", async () => {
    expect(DEFAULT.challenger()).toBeNull();
    const view = new PolicyView(
      documentOf({ version: 'v1', bands: { block: 85 }, challenger: { version: 'c1', weights: { ip_vpn: 0.21 } } }),
      OWN,
    );
    const challenger = view.challenger();
    expect(challenger?.version).toBe('c1');
    expect(challenger?.policyOf('').bands.block).toBe(85);
    expect(challenger === null ? [] : (await differences(view, challenger, 10)).differences).toEqual([
      { eventType: null, kind: 'weight', name: 'ip_vpn', before: expect.any(Number) as number, after: 0.21 },
    ]);
  });
});
