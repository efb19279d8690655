import { describe, expect, test } from 'vitest';
import type { ExplainedDecisionBody } from '../../../src/contract/wire-types.ts';
import { rebuildRequest } from '../../../src/web/dashboard/pages/try/rebuilt-request.ts';

const NO_CLAIM = { claimed: null, verified: null, operator: null, purpose: null };
const STORED = {
  request_id: 'req_01M7XWJVNGTMWB6Q2TT84ZKPK0',
  session_mode: 'full',
  event_type: 'login',
  ip: '203.0.113.7',
  path: '/login',
  agent: { browser: 'chromium', system: 'android', form: 'mobile', automation: 'none', ...NO_CLAIM },
  links: [
    { kind: 'ip', id: '203.0.113.7' },
    { kind: 'entity.email', id: 'hash:0011223344556677' },
    { kind: 'entity.user_id', id: '7' },
  ],
  outcome: 'failed',
} as unknown as ExplainedDecisionBody;

const statesOf = (change: Partial<ExplainedDecisionBody> = {}): Record<string, string> =>
  Object.fromEntries(rebuildRequest({ ...STORED, ...change }).fields.map(({ name, state }) => [name, state]));

describe('A request that is rebuilt from a decision', () => {
  test('has what is stored, and names every field that is not the one that was sent', () => {
    expect(rebuildRequest(STORED).body).toEqual({
      event_type: 'login',
      session_token: `rebuilt-${STORED.request_id}`,
      ip: '203.0.113.7',
      user_agent: expect.stringMatching(/Android 10.*Chrome.*Mobile/) as string,
      url: '/login',
      entity_keys: { user_id: '7' },
      outcome: 'failed',
    });
    expect(statesOf()).toEqual({
      event_type: 'stored',
      session_token: 'stand-in',
      ip: 'stored',
      user_agent: 'stand-in',
      url: 'part',
      'entity_keys.email': 'unknown',
      'entity_keys.user_id': 'stored',
      outcome: 'stored',
      referrer: 'unknown',
      headers: 'unknown',
    });
  });

  test('without a session token has none either, since a stand-in would change the decision', () => {
    const { body } = rebuildRequest({ ...STORED, session_mode: 'no_session' });
    expect(body).not.toHaveProperty('session_token');
    expect(statesOf({ session_mode: 'no_session' })['session_token']).toBe('stored');
  });

  test('of which nothing is stored is empty but for its stand-in, and never has the hash of an identity as its value', () => {
    const bare = { event_type: '', ip: null, path: null, agent: null, outcome: null, links: [] };
    expect(rebuildRequest({ ...STORED, ...bare }).body).toEqual({ session_token: `rebuilt-${STORED.request_id}` });
    expect(JSON.stringify(rebuildRequest(STORED).body)).not.toContain('hash:');
  });

  test.each([
    ['http_library', 'other', 'other', /^curl\//],
    ['headless', 'chromium', 'linux', /HeadlessChrome/],
    ['none', 'safari', 'ios', /iPhone.*Version\//],
    ['none', 'firefox', 'windows', /Firefox\//],
    ['bot', 'other', 'other', /Bot/],
    ['ai', 'chromium', 'linux', null],
    ['none', 'other', 'other', null],
  ] as const)(
    'with the class %s, %s, %s has a usual user agent of it, or says that it is unknown',
    (automation, browser, system, form) => {
      const agent = { browser, system, form: 'other', automation, ...NO_CLAIM };
      const { user_agent: text } = rebuildRequest({ ...STORED, agent }).body;
      if (form === null) expect(text).toBeUndefined();
      else expect(text).toMatch(form);
      expect(statesOf({ agent })['user_agent']).toBe(form === null ? 'unknown' : 'stand-in');
    },
  );
});
