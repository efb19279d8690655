import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { runPolicyTest, timesOfEvents, type PolicyTestResult } from '../../../src/replay/policy-test.ts';
import { type PolicyTestEvent, readTestFile } from '../../../src/replay/policy-test-file.ts';
import { ReplayEngine } from '../../../src/replay/replay-engine.ts';
import type { GeoFacts } from '../../../src/risk/facts.ts';
import { parsePolicy } from '../../../src/risk/policy/policy-check.ts';
import { compilePolicies } from '../../../src/risk/policy/policy-set.ts';

/** Runs the rules of docs/own-rules.md on the events beside them. */

const PAGE = readFileSync('docs/own-rules.md', 'utf8');
const VELOCITY_BYTES = 4 * 2 ** 20;

function part(name: string): string {
  const [, text = ''] = new RegExp(`<!-- ${name} -->([\\s\\S]*?)<!-- /${name} -->`).exec(PAGE) ?? [];
  return text;
}

/** Returns the cells of the table's rows, without code marks and escaped bars. */
function rowsOf(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('| `'));
  return lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) =>
        cell
          .trim()
          .replace(/^`(.*)`$/, '$1')
          .replaceAll('\\|', '|'),
      ),
  );
}

const ADDRESSES = new Map(
  rowsOf(part('addresses')).map(([address = '', country = '', asn = '', kind = '']): [string, GeoFacts] => [
    address,
    {
      country,
      latitude: null,
      longitude: null,
      accuracyKm: null,
      asn: Number(asn),
      organisation: null,
      tor: kind === 'tor',
      proxy: false,
      residentialProxy: false,
      hosting: kind === 'data centre',
      vpn: false,
      relay: false,
      anonymisersKnown: true,
    },
  ]),
);
const GEO = { lookup: (ip: string) => ADDRESSES.get(ip) ?? null, epoch: () => 1, crawlers: () => new Set<string>() };

function eventsOf(yaml: string): readonly PolicyTestEvent[] {
  const read = readTestFile(yaml);
  if (read.kind === 'faults') throw new Error(JSON.stringify(read.faults));
  return read.file.events;
}

async function run(policy: string, events: readonly PolicyTestEvent[]): Promise<PolicyTestResult> {
  const parsed = parsePolicy(policy);
  if (parsed.kind === 'faults') throw new Error(JSON.stringify(parsed.faults));
  expect(parsed.warnings).toEqual([]);
  const times = timesOfEvents(events);
  if (times.kind === 'fault') throw new Error(times.fault.message);
  const policies = compilePolicies(parsed.document, () => null);
  const engine = new ReplayEngine({ policies, geo: GEO, sources: null, velocityBytes: VELOCITY_BYTES, keys: null });
  return runPolicyTest(events, times.times, engine);
}

/** Expects that some event names the code as a reason, and some as none. */
function expectBoth(code: string, events: readonly PolicyTestEvent[]): void {
  expect(events.flatMap(({ expect: wanted }) => wanted?.reasons ?? [])).toContain(code);
  expect(events.flatMap(({ expect: wanted }) => wanted?.no_reasons ?? [])).toContain(code);
}

const EXAMPLES = [
  ...part('examples').matchAll(/\*\*(.+?)\.\*\* [\s\S]*?```json\n([\s\S]*?)```\s+```yaml\n([\s\S]*?)```/g),
].map(([, title = '', policy = '', events = '']) => ({ title, policy, events }));

describe('docs/own-rules.md', () => {
  test('It has twenty examples', () => {
    expect(EXAMPLES).toHaveLength(20);
  });

  test.each(EXAMPLES)('$title: the rule fires and stays quiet as its events say', async ({ policy, events }) => {
    const { rules } = JSON.parse(policy) as { rules: readonly { code: string }[] };
    const read = eventsOf(events);
    for (const { code } of rules) expectBoth(code, read);
    expect(rules).toHaveLength(1);
    expect((await run(policy, read)).differences).toEqual([]);
  });

  test('Rules that read counters of the own fire and stay quiet as their events say', async () => {
    const [, policy = '', yaml = ''] = /```json\n([\s\S]*?)```\s+```yaml\n([\s\S]*?)```/.exec(part('counters')) ?? [];
    const events = eventsOf(yaml);
    for (const code of ['own_spends_much', 'own_promo_leaked']) expectBoth(code, events);
    expect((await run(policy, events)).differences).toEqual([]);
  });

  test('The rules of other products fire and stay quiet as their events say', async () => {
    const text = part('translated');
    const rows = rowsOf(text);
    const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(text) ?? [];
    const events = eventsOf(yaml);
    const rules = rows.map(([code = '', , , when = '']) => ({ code, when, weight: 0.1, mode: 'enforce' }));
    expect(rules.length).toBeGreaterThanOrEqual(12);
    for (const { code } of rules) expectBoth(code, events);
    expect((await run(JSON.stringify({ rules }), events)).differences).toEqual([]);
  });
});
