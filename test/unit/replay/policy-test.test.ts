import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { command, type Ran } from '../../support/command-line.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-policy-test-'));
  writeFileSync(join(folder, 'policy.json'), JSON.stringify(POLICY));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const POLICY = {
  version: 'v7',
  rules: [
    {
      code: 'own_big_order',
      when: 'event.type == "payment" && attributes.currency == "EUR" && attributes.amount > 500',
      decision: 'REVIEW',
      mode: 'enforce',
    },
    { code: 'own_seen', when: 'event.type == "payment"', weight: 0.5, mode: 'observe' },
    { code: 'own_slow', when: 'account.known_for_hours >= 24', weight: 0.9, mode: 'enforce' },
    { code: 'own_failing', when: 'ip.logins_failed_24h >= 5', decision: 'BLOCK', mode: 'enforce' },
  ],
};

const EVENTS = `
policy: policy.json
events:
  - name: a big first order
    at: 2026-11-01T10:00:00Z
    request:
      event_type: payment
      session_token: a
      ip: 81.2.69.160
      entity_keys: {email: anna@example.com}
      attributes: {amount: 812.5, currency: EUR}
    expect: {decision: REVIEW, reasons: [own_big_order], no_reasons: [own_slow], observed: [own_seen]}
  - name: the same person a day later
    after: 86400
    request: &login
      event_type: login
      session_token: a
      ip: 81.2.69.160
      entity_keys: {email: anna@example.com}
    expect: {decision: BLOCK, reasons: [own_slow], score_min: 80}
  - name: passwords that fail
    repeat: 6
    after: 30
    request: {event_type: login, session_token: c, ip: 91.1.1.1, entity_keys: {email: ben@example.com}}
    outcome: failed
    expect: {decision: BLOCK, reasons: [own_failing]}
`;

async function runTest(text: string, words: readonly string[] = [], name = 'rules.test.yaml'): Promise<Ran> {
  writeFileSync(join(folder, name), text);
  const inFolder = ['--data-dir', join(folder, 'data')];
  return command([...inFolder, 'policy', 'test', join(folder, name), '--no-geo', ...words]);
}

describe('gatehouse policy test', () => {
  test('A file whose expectations hold passes: own rules, history, outcomes and repeats on their own times', async () => {
    const ran = await runTest(EVENTS);
    expect(ran.out).toContain('passed, 3 expectations, 8 decisions, policy version v7');
    expect([ran.code, ran.err]).toEqual([0, '']);
  });

  test('The same events as JSON give the same result', async () => {
    const { parse } = await import('yaml');
    const ran = await runTest(JSON.stringify(parse(EVENTS)), ['--json'], 'rules.test.json');
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out)).toEqual({
      passed: true,
      policy_version: 'v7',
      events: 3,
      decisions: 8,
      expectations: 3,
      failed: [],
    });
  });

  test('A difference is named with the event, the decision and its reasons, and the exit code is 1', async () => {
    const ran = await runTest(
      EVENTS.replace('decision: REVIEW, reasons: [own_big_order]', 'decision: ALLOW, reasons: [own_x]'),
    );
    expect(ran.code).toBe(1);
    expect(ran.out).toContain(
      'event 0 (a big first order)\n  decision is REVIEW, expected ALLOW\n  reason own_x is missing\n  decided REVIEW,',
    );
    expect(ran.out).toContain('1 event differs, 3 expectations');
  });

  test('--policy replaces the policy that the file names', async () => {
    writeFileSync(join(folder, 'other.json'), '{"version": "v8"}');
    const ran = await runTest(EVENTS, ['--policy', join(folder, 'other.json'), '--json']);
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toMatchObject({
      passed: false,
      policy_version: 'v8',
      failed: [{ event: 0 }, { event: 1 }, { event: 2 }],
    });
  });

  test('Two runs print the same bytes', async () => {
    const text = EVENTS.replaceAll('BLOCK', 'ALLOW');
    const first = await runTest(text, ['--json']);
    expect((await runTest(text, ['--json'])).out).toBe(first.out);
  });

  test('A body that is no decide request fails its event, also without an expectation', async () => {
    const ran = await runTest('events: [{request: {ip: 5}}]', ['--json']);
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toMatchObject({
      failed: [{ event: 0, differences: [expect.stringContaining('/ip')] }],
    });
  });

  test.each([
    ['a syntax error', 'events:\n  - {', /line \d+, column \d+/],
    ['an unknown name', 'events: [{request: {}, expects: {}}]', /\/events\/0\/expects is not known here/],
    ['no events', '{}', /\/events must be a list of events/],
    [
      'a wrong decision',
      'events: [{request: {}, expect: {decision: DENY}}]',
      /\/events\/0\/expect\/decision must be one of ALLOW/,
    ],
    [
      'a time that is none',
      'events: [{request: {}, at: tomorrow}]',
      /\/events\/0\/at must be Unix seconds or an ISO 8601/,
    ],
    ['times that go back', 'events: [{request: {}, at: 100}, {request: {}, at: 99}]', /\/events\/1\/at is earlier/],
  ])('A test file with %s is refused with the position', async (_name, text, message) => {
    const ran = await runTest(text);
    expect([ran.code, ran.out]).toEqual([1, '']);
    expect(ran.err).toMatch(message);
  });

  test('A missing file and an invalid policy are refused', async () => {
    expect(await command(['policy', 'test', join(folder, 'none.yaml')])).toMatchObject({ code: 1, out: '' });
    writeFileSync(join(folder, 'wrong.json'), '{"rules": [{"code": "own_a", "when": "nothing > 3", "weight": 0.1}]}');
    const ran = await runTest(EVENTS, ['--policy', join(folder, 'wrong.json')]);
    expect(ran.err).toMatch(/is not valid:\n {2}\/rules\/0/);
  });
});
