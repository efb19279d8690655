import { beforeAll, describe, expect, test } from 'vitest';
import { CALM, decide, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

const MALFORMED: readonly (readonly [string, string | Uint8Array])[] = [
  ['an empty body', ''],
  ['text', 'hello'],
  ['a truncated object', '{"ip":"1.2.3.4"'],
  ['an object with a trailing comma', '{"ip":"1.2.3.4",}'],
  ['an object after a byte order mark', '\uFEFF{}'],
  ['an object followed by a NUL', '{}\0'],
  ['64 KB of brackets', '['.repeat(65_536 >> 11)],
  ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
];

const INVALID: readonly (readonly [string, string])[] = [
  ['an array', '[]'],
  ['a string', '"x"'],
  ['null', 'null'],
  ['a number', '7'],
  ['33 levels deep', `{"a":${'['.repeat(32)}${']'.repeat(32)}}`],
  ['64 KiB of brackets', '['.repeat(65_536)],
  ['an object with a repeated name', '{"session_token":"a","session_token":""}'],
  ['an object with a repeated name, once escaped', '{"session_token":"a","session\\u005ftoken":""}'],
  ['an object with __proto__ twice', '{"__proto__":1,"__proto__":2}'],
];

const WRONG_TYPES: readonly (readonly [string, unknown])[] = [
  ['/ip', { ...CALM, ip: 7 }],
  ['/user_agent', { ...CALM, user_agent: {} }],
  ['/url', { ...CALM, url: [] }],
  ['/referrer', { ...CALM, referrer: true }],
  ['/session_token', { ...CALM, session_token: 1 }],
  ['/event_type', { ...CALM, event_type: ['login'] }],
  ['/entity_keys', { ...CALM, entity_keys: 'x' }],
  ['/entity_keys/a~1b', { ...CALM, entity_keys: { 'a/b': true } }],
  ['/headers', { ...CALM, headers: [] }],
  ['/headers/accept', { ...CALM, headers: { accept: { a: 1 } } }],
  ['/outcome', { ...CALM, outcome: true }],
  ['/timestamp', { ...CALM, timestamp: '1' }],
  ['/timestamp', { ...CALM, timestamp: 1.5 }],
];

describe.each(TRANSPORTS)('POST /v1/decide, 400, over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  test.each(MALFORMED)('a request body that is %s is malformed_json', async (_name, body) => {
    const answer = await decide(server.url, server.secretKey, body);
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.json).toMatchObject({
      status: 400,
      code: 'malformed_json',
      type: 'urn:gatehouse:error:malformed_json',
    });
    expect(answer.headers['x-svc-rl-limit']).toBe('600000');
  });

  test.each(INVALID)('a request body that is %s is invalid_request', async (_name, body) => {
    const answer = await decide(server.url, server.secretKey, body);
    expect(answer.status).toBe(400);
    expect(answer.json['code']).toBe('invalid_request');
  });

  test.each(WRONG_TYPES)('a wrong type at %s is reported with its pointer', async (pointer, body) => {
    const answer = await decide(server.url, server.secretKey, body);
    expect(answer.status).toBe(400);
    expect(answer.json['code']).toBe('invalid_request');
    expect(answer.json['errors']).toEqual([expect.objectContaining({ pointer, code: 'wrong_type' })]);
  });

  test('an unknown outcome is reported with its pointer', async () => {
    const answer = await decide(server.url, server.secretKey, { ...CALM, outcome: 'lost' });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/outcome', code: 'invalid_value' }],
    });
  });

  test('a pointer with non-ASCII text is returned unchanged', async () => {
    const answer = await decide(server.url, server.secretKey, { ...CALM, headers: { 'naïve-日本': {} } });
    expect(answer.json['errors']).toEqual([expect.objectContaining({ pointer: '/headers/naïve-日本' })]);
  });

  test('a body with 513 members is too_many_members', async () => {
    const members = Object.fromEntries(Array.from({ length: 513 }, (_x, n) => [`n${n}`, n]));
    const answer = await decide(server.url, server.secretKey, members);
    expect([answer.status, answer.json['code']]).toEqual([400, 'too_many_members']);
  });

  test('all invalid fields are reported at once', async () => {
    const answer = await decide(server.url, server.secretKey, { ...CALM, ip: 1, url: 2, event_type: 3 });
    const pointers = (answer.json['errors'] as { pointer: string }[]).map(({ pointer }) => pointer);
    expect(pointers).toEqual(['/ip', '/url', '/event_type']);
  });

  test.each([
    ['null is absent', { ...CALM, ip: null, url: null, headers: null, entity_keys: null, timestamp: null }],
    ['an outcome', { ...CALM, outcome: 'succeeded' }],
    ['unknown fields are ignored', { ...CALM, anything: { at: ['all'] } }],
    ['32 levels', { ...CALM, deep: JSON.parse(`${'['.repeat(31)}${']'.repeat(31)}`) as unknown }],
    ['500 names', { ...CALM, ...Object.fromEntries(Array.from({ length: 500 }, (_x, n) => [`n${n}`, n])) }],
    [
      'more than 32 entity keys',
      { ...CALM, entity_keys: Object.fromEntries(Array.from({ length: 50 }, (_x, n) => [`k${n}`, n])) },
    ],
    ['a lone surrogate', `{"session_token":"\\ud800","event_type":"search"}`],
    ['1e400 in a field that is not read', `{"session_token":"a","x":1e400}`],
  ])('a body is accepted and decided: %s', async (_name, body) => {
    const answer = await decide(server.url, server.secretKey, body);
    expect(answer.status).toBe(200);
  });

  test('a request concurrent with an invalid one is unaffected', async () => {
    const bodies = ['{', CALM, '[]', CALM, { ...CALM, ip: 1 }, CALM];
    const answers = await Promise.all(bodies.map((body) => decide(server.url, server.secretKey, body)));
    expect(answers.map(({ status }) => status)).toEqual([400, 200, 400, 200, 400, 200]);
  });
});
