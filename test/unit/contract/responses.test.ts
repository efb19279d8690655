import { describe, expect, test } from 'vitest';
import { expectDocumented } from '../../support/contract.ts';
import { expectRawDocumented } from '../../support/raw-answers.ts';
import type { Answer } from '../../support/requests.ts';

const HASH = 'a'.repeat(64);
const RATE = {
  'x-svc-rl-limit': '6000',
  'x-svc-rl-remaining': '5999',
  'x-svc-rl-reset': '1795262400',
  'ratelimit-policy': '"default";q=6000;w=60',
  ratelimit: '"default";r=5999;t=60',
};
const ENTRY = {
  fingerprint_hash: HASH,
  kind: 'fingerprint',
  value: HASH,
  action: 'block',
  note: null,
  created_at: 1_795_262_400,
  updated_at: 1_795_262_400,
  expires_at: null,
};

function answer(status: number, json: Record<string, unknown>, headers: Record<string, string> = RATE): Answer {
  const type = status >= 400 ? 'application/problem+json' : 'application/json';
  const own = { 'content-type': type, 'cache-control': 'no-store' };
  return { status, headers: { ...own, ...headers }, text: JSON.stringify(json), json };
}

function problem(status: number, code: string, title: string, more: object = {}): Record<string, unknown> {
  return { type: `urn:gatehouse:error:${code}`, title, status, code, detail: 'd', request_id: 'req_1', ...more };
}

const NOT_FOUND = problem(404, 'not_found', 'Not found');
const PATH = `/v1/lists/${HASH}`;

/** The check that all responses in tests pass through must detect each kind of error. */
describe('the check of responses', () => {
  test.each<[string, string, Answer]>([
    ['GET', `${PATH}?a=b`, answer(200, ENTRY)],
    ['GET', PATH, answer(404, NOT_FOUND)],
    ['GET', '/v1/nothing', answer(404, NOT_FOUND, {})],
    ['HEAD', PATH, { ...answer(200, ENTRY), text: '', json: {} }],
  ])('The check accepts a documented response to %s %s', (method, target, given) => {
    expect(() => expectDocumented(method, target, given)).not.toThrow();
  });

  test.each<[string, string, string, Answer, RegExp]>([
    ['a status that is not listed', 'GET', PATH, answer(201, ENTRY), /status is not listed/],
    ['a field of the wrong type', 'GET', PATH, answer(200, { ...ENTRY, note: 7 }), /\/note/],
    ['a missing field', 'GET', PATH, answer(200, { action: 'block' }), /\/kind/],
    ['a field that is not described', 'GET', PATH, answer(200, { ...ENTRY, extra: 1 }), /\/extra is not in the schema/],
    ['missing rate-limit fields', 'GET', PATH, answer(200, ENTRY, {}), /RateLimit is missing/],
    ['a header that is not listed', 'GET', PATH, answer(200, ENTRY, { ...RATE, link: '<x>' }), /Link is not listed/],
    [
      'another media type',
      'GET',
      PATH,
      answer(200, ENTRY, { ...RATE, 'content-type': 'text/csv' }),
      /media type text\/csv/,
    ],
    [
      'a code that is not listed',
      'GET',
      PATH,
      answer(409, problem(409, 'not_ready', 'Not ready')),
      /not_ready is not listed/,
    ],
    ['a code with the status of another', 'GET', PATH, answer(400, NOT_FOUND), /status or title/],
    ['a body where none is described', 'DELETE', PATH, { ...answer(204, ENTRY), text: '{}' }, /no body/],
    ['a path that is not described', 'GET', '/v1/nothing', answer(200, ENTRY), /no such endpoint/],
    ['429 without Retry-After', 'GET', PATH, answer(429, problem(429, 'overloaded', 'Overloaded')), /Retry-After/],
    ['201 without Location', 'POST', '/v1/sessions', answer(201, {}), /Location is missing/],
  ])('The check rejects a response with this error: %s', (_name, method, path, given, message) => {
    expect(() => expectDocumented(method, path, given)).toThrow(message);
  });
});

describe('the check of raw responses', () => {
  const request = (method: string, target: string): string => `${method} ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const head = (status: number, fields: Record<string, string>): string => {
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    return `HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n`;
  };
  const HEALTH = request('GET', '/healthz');
  const JSON_TYPE = { 'Content-Type': 'application/json' };
  const ok = (text: string): string => head(200, { ...JSON_TYPE, 'Content-Length': String(text.length) }) + text;
  const GOOD = ok('{"status":"ok"}');
  const BAD = ok('{"status":7}');

  test.each<[string, string, string]>([
    ['the only response', HEALTH, GOOD],
    ['a response without a body', request('HEAD', '/healthz') + HEALTH, head(200, JSON_TYPE) + GOOD],
    [
      'a chunked response',
      HEALTH,
      `${head(200, { ...JSON_TYPE, 'Transfer-Encoding': 'chunked' })}f\r\n{"status":"ok"}\r\n0\r\n\r\n`,
    ],
    ['an incomplete response', HEALTH, BAD.slice(0, -1)],
    ['what follows a malformed request', `${HEALTH}nonsense\r\n\r\n`, GOOD + BAD],
    ['nothing', HEALTH, ''],
  ])('The check of raw responses accepts %s', (_name, sent, received) => {
    expect(() => expectRawDocumented(sent, received)).not.toThrow();
  });

  test.each<[string, string, string]>([
    ['the first response', HEALTH, BAD],
    ['a later response', HEALTH + HEALTH, GOOD + BAD],
    ['the response behind a body', `GET /healthz HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}${HEALTH}`, GOOD + BAD],
    [
      'a chunked response',
      HEALTH,
      `${head(200, { ...JSON_TYPE, 'Transfer-Encoding': 'chunked' })}c\r\n{"status":7}\r\n0\r\n\r\n`,
    ],
  ])('The check of raw responses finds an error in %s', (_name, sent, received) => {
    expect(() => expectRawDocumented(sent, received)).toThrow();
  });
});
