import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDecideRequest, type DecideRequest } from '../../../src/risk/decide-request.ts';
import { OUTCOMES } from '../../../src/risk/event-outcome.ts';
import { DECIDE_BODY_BYTES_MAX } from '../../../src/kernel/limits.ts';
import { ANY_CHARACTER } from '../../support/any-text.ts';
import { timesInFull } from '../../support/long.ts';

function parse(body: unknown) {
  return parseDecideRequest(
    Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  );
}

function read(body: unknown): DecideRequest {
  const parsed = parse(body);
  if (parsed.kind === 'fault') throw new Error(JSON.stringify(parsed.problem));
  return parsed.request;
}

function faultOf(body: unknown) {
  const parsed = parse(body);
  if (parsed.kind === 'request') throw new Error('this was no fault');
  return parsed.problem;
}

function pointersOf(body: unknown): string[] {
  return (faultOf(body).errors ?? []).map(({ pointer }) => pointer);
}

const EMPTY: DecideRequest = {
  ip: null,
  userAgent: null,
  url: null,
  referrer: null,
  sessionToken: '',
  entities: [],
  headers: new Map(),
  eventType: '',
  outcome: null,
  attributes: new Map(),
  httpSignature: null,
};

const nested = (levels: number): string => `{"x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

describe('a decide body', () => {
  test('A decide body is parsed field by field', () => {
    const body = {
      ip: '8.8.8.8',
      user_agent: 'Mozilla/5.0 ünïcode 🦊',
      url: 'https://shop.example/a',
      referrer: 'https://shop.example/',
      session_token: ' st ',
      entity_keys: { email: 'a@b.example', user_id: 42, share: 1.5, empty: '', nothing: null },
      headers: { Accept: 'text/html', 'Accept-Language': ['de', 'en'], DNT: 1, gone: null },
      event_type: '  Checkout ',
      timestamp: 1_790_000_000,
      unknown: { ip: 5 },
    };
    expect(read(body)).toEqual({
      ip: '8.8.8.8',
      userAgent: 'Mozilla/5.0 ünïcode 🦊',
      url: 'https://shop.example/a',
      referrer: 'https://shop.example/',
      sessionToken: ' st ',
      entities: [
        { name: 'email', value: 'a@b.example' },
        { name: 'user_id', value: '42' },
        { name: 'share', value: '1.5' },
      ],
      headers: new Map([
        ['accept', 'text/html'],
        ['accept-language', 'de, en'],
        ['dnt', '1'],
      ]),
      eventType: 'checkout',
      outcome: null,
      attributes: new Map(),
      httpSignature: null,
    });
  });

  test('A signed request is read with both of its fields only, and a field of another type is refused with its place', () => {
    const all = {
      signature_input: 'a',
      signature: 'b',
      signature_agent: 'c',
      method: 'GET',
      authority: 'd',
      path: '/e',
    };
    expect(read({ http_signature: all }).httpSignature).toEqual({
      signatureInput: 'a',
      signature: 'b',
      signatureAgent: 'c',
      method: 'GET',
      authority: 'd',
      path: '/e',
    });
    expect(read({ http_signature: { ...all, signature: null } }).httpSignature).toBeNull();
    expect(pointersOf({ http_signature: { ...all, method: 7, path: [] } })).toEqual([
      '/http_signature/method',
      '/http_signature/path',
    ]);
    expect(pointersOf({ http_signature: 'a' })).toEqual(['/http_signature']);
  });

  test('A decide body may be empty, and null means absent', () => {
    expect(read('{}')).toEqual(EMPTY);
    expect(read(' \t\r\n{ } ')).toEqual(EMPTY);
    const names = [
      'ip',
      'user_agent',
      'url',
      'referrer',
      'session_token',
      'event_type',
      'entity_keys',
      'headers',
      'timestamp',
      'outcome',
    ];
    expect(read(Object.fromEntries(names.map((name) => [name, null])))).toEqual(EMPTY);
  });

  test('An outcome must be one of the known ones, spelled exactly', () => {
    for (const outcome of OUTCOMES) expect(read({ outcome }).outcome).toBe(outcome);
    for (const outcome of ['', 'Succeeded', 'failed ', 'lost']) {
      const parsed = parse(JSON.stringify({ outcome }));
      if (parsed.kind !== 'fault') throw new Error('it was taken');
      expect(parsed.problem).toMatchObject({ code: 'invalid_request', status: 400 });
      expect(parsed.problem.errors).toMatchObject([{ pointer: '/outcome', code: 'invalid_value' }]);
    }
  });

  test('An empty user agent counts as given', () => {
    expect(read({ user_agent: '' }).userAgent).toBe('');
  });

  test('An ip that cannot be parsed is no error, and an event type may be any text', () => {
    expect(read({ ip: 'no address', event_type: 'SOMETHING New' })).toMatchObject({
      ip: 'no address',
      eventType: 'something new',
    });
  });

  test.each([
    ['ip', 5],
    ['ip', {}],
    ['user_agent', true],
    ['url', ['x']],
    ['referrer', 1.5],
    ['session_token', 7],
    ['session_token', false],
    ['outcome', 1],
    ['outcome', ['failed']],
    ['event_type', {}],
    ['entity_keys', []],
    ['entity_keys', 'x'],
    ['headers', 'x'],
    ['headers', [['a', 'b']]],
    ['timestamp', 'now'],
    ['timestamp', 1.5],
    ['timestamp', true],
  ])('A %s of the wrong type (%j) is rejected with 400 and its pointer', (name, value) => {
    expect(faultOf({ [name]: value })).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(pointersOf({ [name]: value })).toEqual([`/${name}`]);
  });

  test('Wrong values inside entity_keys and headers have their own escaped pointers', () => {
    const body = {
      entity_keys: { good: 'x', 'a/b': {}, 'c~d': [1], flag: true },
      headers: { 'x/y': {}, list: ['a', 5] },
    };
    expect(pointersOf(body)).toEqual([
      '/entity_keys/a~1b',
      '/entity_keys/c~0d',
      '/entity_keys/flag',
      '/headers/x~1y',
      '/headers/list',
    ]);
  });

  test('All wrong fields of the top level are reported at once', () => {
    const names = [
      'ip',
      'user_agent',
      'url',
      'referrer',
      'session_token',
      'entity_keys',
      'headers',
      'event_type',
      'timestamp',
    ];
    const body = Object.fromEntries(names.map((name) => [name, true]));
    expect(pointersOf(body).sort()).toEqual(names.map((name) => `/${name}`).sort());
  });

  test('The response stays small, however many fields are wrong', () => {
    const name = '\u0001'.repeat(100);
    const wrong = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [name.slice(i % 50) + String(i), []]));
    const { errors } = faultOf({ entity_keys: wrong, headers: wrong });
    expect(errors?.length).toBeLessThanOrEqual(20);
    expect(JSON.stringify(errors).length).toBeLessThan(6_000);
  });

  test('The first 32 entity keys count, and too long or empty ones are ignored', () => {
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`key_${i}`, `value_${i}`]));
    expect(read({ entity_keys: many }).entities).toEqual(
      Array.from({ length: 32 }, (_, i) => ({ name: `key_${i}`, value: `value_${i}` })),
    );
    const edge = { ['n'.repeat(64)]: 'v'.repeat(256), ['n'.repeat(65)]: 'x', long: 'v'.repeat(257), empty: '' };
    expect(read({ entity_keys: edge }).entities).toEqual([{ name: 'n'.repeat(64), value: 'v'.repeat(256) }]);
  });

  test('The first 64 headers count, and their names are case-insensitive', () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`H-${i}`, String(i)]));
    const { headers } = read({ headers: many });
    expect([...headers.keys()]).toEqual(Array.from({ length: 64 }, (_, i) => `h-${i}`));
    expect(read({ headers: { Accept: 'a', ACCEPT: 'b' } }).headers).toEqual(new Map([['accept', 'b']]));
    expect(read({ headers: { Empty: [], 'x-svc-ja3': 'abc' } }).headers).toEqual(
      new Map([
        ['empty', ''],
        ['x-svc-ja3', 'abc'],
      ]),
    );
  });

  test('A duplicate top-level name is rejected with 400, however it is escaped, but a nested one is accepted', () => {
    for (const body of [
      '{"ip":"a","ip":"b"}',
      '{"x":1,"x":1}',
      '{"ip":"a","\\u0069p":"b"}',
      '{"":1,"":2}',
      '{"1":1,"1":1}',
      '{"__proto__":1,"__proto__":2}',
    ]) {
      expect(faultOf(body)).toMatchObject({ status: 400, code: 'invalid_request' });
    }
    expect(read('{"x":{"a":1,"a":2},"y":[{"b":1,"b":2}],"ip":"::::"}').ip).toBe('::::');
    expect(read('{"url":"a\\":\\"b:c","referrer":"\\\\","a:b":":"}').url).toBe('a":"b:c');
  });

  test('A body may have 512 members and elements in all, and no more', () => {
    const texts = (count: number): string => Array.from({ length: count }, (_, n) => `"${n}"`).join();
    const many = { status: 400, code: 'too_many_members' };
    // One member of the body, two of `headers`, and the texts.
    expect(read(`{"headers":{"a":[${texts(509)}],"b":"c, {[,"}}`).headers.get('b')).toBe('c, {[,');
    expect(faultOf(`{"headers":{"a":[${texts(510)}],"b":"c, {[,"}}`)).toMatchObject(many);
    const unknown = (count: number): string => Array.from({ length: count }, (_, n) => `"unknown-${n}":${n}`).join();
    expect(read(`{"ip":"::1",${unknown(511)}}`).ip).toBe('::1');
    expect(faultOf(`{"ip":"::1",${unknown(512)}}`)).toMatchObject(many);
    // Empty ones have no elements.
    expect(read(`{"a":[${Array.from({ length: 511 }, () => '{ }').join()}]}`)).toEqual(EMPTY);
    expect(faultOf(`{"a":[${Array.from({ length: 512 }, () => '[]').join()}]}`)).toMatchObject(many);
    expect(faultOf(`{"a":[${'1,'.repeat(30_000)}`)).toMatchObject(many);
  });

  test('32 levels of nesting are accepted and 33 are rejected, whatever the strings contain', () => {
    expect(read(nested(32))).toEqual(EMPTY);
    expect(faultOf(nested(33))).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(read({ url: '[{'.repeat(1_000) }).url).toHaveLength(2_000);
    expect(read(`{"url":"\\"${'['.repeat(100)}"}`).url).toHaveLength(101);
  });

  test('Text outside ASCII is parsed from memory shared between threads as from other memory', () => {
    const bytes = Buffer.from('{"user_agent":"größer 🦊"}');
    const shared = Buffer.from(new SharedArrayBuffer(bytes.length + 8)).subarray(8);
    bytes.copy(shared);
    expect(parse(shared)).toEqual(parse(bytes));
  });
});

const BOMB_DEPTH = 32_768;
const FULL = DECIDE_BODY_BYTES_MAX;
const filler = (text: string): string => text.repeat(Math.floor(FULL / text.length));
const manyKeys = (value: string): string =>
  `{${Array.from({ length: 5_000 }, (_, i) => `"k${i}":${value}`).join(',')}}`;

/** Hostile bodies: 400 or parsed, never anything else. */
const HOSTILE: readonly (readonly [
  name: string,
  body: string | Buffer,
  expected: 'malformed_json' | 'invalid_request' | 'too_many_members' | 'read',
])[] = [
  ['arrays 32,768 deep', '['.repeat(BOMB_DEPTH) + ']'.repeat(BOMB_DEPTH), 'invalid_request'],
  ['objects 10,000 deep', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, 'invalid_request'],
  ['64 KiB of open brackets', '['.repeat(FULL), 'invalid_request'],
  ['64 KiB of closing brackets', ']'.repeat(FULL), 'malformed_json'],
  ['64 KiB of quotes', '"'.repeat(FULL), 'malformed_json'],
  ['64 KiB of backslashes in a text', `{"url":"${'\\'.repeat(FULL - 10)}"}`, 'read'],
  ['64 KiB of spaces', ' '.repeat(FULL), 'malformed_json'],
  ['64 KiB of colons', ':'.repeat(FULL), 'malformed_json'],
  ['5,000 keys', manyKeys('1'), 'too_many_members'],
  ['5,000 entity keys', `{"entity_keys":${manyKeys('1')}}`, 'too_many_members'],
  ['5,000 wrong entity keys', `{"entity_keys":${manyKeys('[]')}}`, 'too_many_members'],
  ['5,000 wrong headers', `{"headers":${manyKeys('{}')}}`, 'too_many_members'],
  ['a header of 16,000 values', `{"headers":{"a":[${filler('"",').slice(0, 48_000)}""]}}`, 'too_many_members'],
  ['a name twice', '{"ip":"a","ip":"b"}', 'invalid_request'],
  ['__proto__', '{"__proto__":{"ip":"8.8.8.8","polluted":true}}', 'read'],
  ['constructor.prototype', '{"constructor":{"prototype":{"polluted":true}}}', 'read'],
  ['__proto__ in entity_keys and headers', '{"entity_keys":{"__proto__":"x"},"headers":{"__proto__":"y"}}', 'read'],
  ['1e400', '{"timestamp":1e400}', 'invalid_request'],
  ['1e400 where nobody looks', '{"x":1e400}', 'read'],
  ['a number of 65,000 digits', `{"x":${'9'.repeat(65_000)}}`, 'read'],
  ['a number of 65,000 digits as an entity', `{"entity_keys":{"a":${'1'.repeat(65_000)}}}`, 'read'],
  ['65,000 digits behind the point', `{"timestamp":0.${'1'.repeat(65_000)}}`, 'invalid_request'],
  ['an escaped lone surrogate', '{"user_agent":"\\ud800","session_token":"\\udfff"}', 'read'],
  [
    'a lone surrogate in bytes',
    Buffer.concat([Buffer.from('{"url":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    'malformed_json',
  ],
  ['bad UTF-8', Buffer.concat([Buffer.from('{"url":"'), Buffer.from([0xff]), Buffer.from('"}')]), 'malformed_json'],
  [
    'an overlong slash',
    Buffer.concat([Buffer.from('{"url":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
    'malformed_json',
  ],
  ['a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{}')]), 'malformed_json'],
  ['UTF-16', Buffer.from('{}', 'utf16le'), 'malformed_json'],
  ['a NUL in a text', Buffer.from('{"url":"a\0b"}'), 'malformed_json'],
  ['an escaped NUL', '{"url":"a\\u0000b"}', 'read'],
  ['a NUL behind it', '{}\0', 'malformed_json'],
  ['nothing', '', 'malformed_json'],
  ['an array', '[]', 'invalid_request'],
  ['a text', '"text"', 'invalid_request'],
  ['a number', '5', 'invalid_request'],
  ['null', 'null', 'invalid_request'],
  ['two objects', '{}{}', 'malformed_json'],
  ['a trailing comma', '{"ip":"a",}', 'malformed_json'],
  ['a comment', '{/* */}', 'malformed_json'],
  ['single quotes', "{'ip':'a'}", 'malformed_json'],
  ['NaN', '{"timestamp":NaN}', 'malformed_json'],
];

describe('a hostile body', () => {
  test.each(HOSTILE)('A hostile body with %s gets the expected result', (_name, body, expected) => {
    const bytes = Buffer.from(body);
    expect(bytes.length).toBeLessThanOrEqual(FULL + 16);
    const parsed = parseDecideRequest(bytes);
    expect(parsed.kind === 'request' ? 'read' : parsed.problem.code).toBe(expected);
    expect(parsed.kind === 'request' || parsed.problem.status === 400).toBe(true);
  });

  test.each(HOSTILE)('A hostile body with %s costs at most 10 ms', (_name, body) => {
    const bytes = Buffer.from(body);
    // The fastest of five runs, because the machine does other things as well.
    let quickestMs = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 5; i++) {
      const { user, system } = process.cpuUsage();
      parseDecideRequest(bytes);
      const spent = process.cpuUsage({ user, system });
      quickestMs = Math.min(quickestMs, (spent.user + spent.system) / 1000);
    }
    expect(quickestMs).toBeLessThanOrEqual(10);
  });

  test('A hostile body changes no prototype', () => {
    const before = [Object.prototype, Array.prototype, Map.prototype].map(
      (prototype) => Reflect.ownKeys(prototype).length,
    );
    for (const [, body] of HOSTILE) parseDecideRequest(Buffer.from(body));
    expect(
      [Object.prototype, Array.prototype, Map.prototype].map((prototype) => Reflect.ownKeys(prototype).length),
    ).toEqual(before);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('__proto__ sets no field of a body, and is an ordinary name where names are free', () => {
    expect(read('{"__proto__":{"ip":"8.8.8.8"}}').ip).toBeNull();
    const { entities, headers } = read('{"entity_keys":{"__proto__":"x"},"headers":{"__proto__":"y"}}');
    expect(entities).toEqual([{ name: '__proto__', value: 'x' }]);
    expect(headers).toEqual(new Map([['__proto__', 'y']]));
  });
});

const FIELDS = ['ip', 'user_agent', 'url', 'referrer', 'session_token', 'event_type'] as const;

const SIGNED_FIELDS = ['signature_input', 'signature', 'signature_agent', 'method', 'authority', 'path'] as const;

const isHeader = (value: unknown): boolean =>
  ['string', 'number'].includes(typeof value) ||
  (Array.isArray(value) && value.every((item) => typeof item === 'string'));

/** Reference implementation of the parser. Null: rejected. */
function model(body: Record<string, unknown>): Partial<DecideRequest> | null {
  const texts = FIELDS.map((name) => body[name] ?? null);
  if (texts.some((value) => value !== null && typeof value !== 'string')) return null;
  const timestamp = body['timestamp'] ?? null;
  if (timestamp !== null && !Number.isInteger(timestamp)) return null;
  const outcome = OUTCOMES.find((one) => one === body['outcome']) ?? null;
  if ((body['outcome'] ?? null) !== outcome) return null;
  for (const name of ['entity_keys', 'headers']) {
    const value = body[name] ?? null;
    if (value !== null && (typeof value !== 'object' || Array.isArray(value))) return null;
  }
  const entities = Object.entries(body['entity_keys'] ?? {}).filter(([, value]) => value !== null);
  if (entities.some(([, value]) => typeof value !== 'string' && typeof value !== 'number')) return null;
  const headers = Object.entries(body['headers'] ?? {}).filter(([, value]) => value !== null);
  if (!headers.every(([, value]) => isHeader(value))) return null;
  const signed = body['http_signature'] ?? null;
  if (signed !== null && (typeof signed !== 'object' || Array.isArray(signed))) return null;
  const parts = SIGNED_FIELDS.map((name) => (signed as Record<string, unknown> | null)?.[name] ?? null);
  if (parts.some((value) => value !== null && typeof value !== 'string')) return null;
  const [signatureInput, signature, signatureAgent, method, authority, path] = parts as (string | null)[];
  const httpSignature = { signatureInput, signature, signatureAgent, method, authority, path };
  const [ip, userAgent, url, referrer, sessionToken, eventType] = texts as (string | null)[];
  return {
    ip: ip ?? null,
    userAgent: userAgent ?? null,
    url: url ?? null,
    referrer: referrer ?? null,
    sessionToken: sessionToken ?? '',
    eventType: (eventType ?? '').trim().toLowerCase(),
    outcome,
    entities: entities
      .map(([name, value]) => ({ name, value: String(value) }))
      .filter(({ name, value }) => value !== '' && name.length <= 64 && value.length <= 256),
    attributes: new Map(),
    httpSignature:
      signatureInput === null || signature === null ? null : (httpSignature as DecideRequest['httpSignature']),
    headers: new Map(
      headers.map(([name, value]) => [name.toLowerCase(), Array.isArray(value) ? value.join(', ') : String(value)]),
    ),
  };
}

describe('any body', () => {
  test('A body of arbitrary bytes is parsed or rejected, and never throws', () => {
    const near = fc
      .string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'a', '0', ' ', '\0', 'é') })
      .map((text) => Buffer.from(text));
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
          near,
        ),
        (bytes) => {
          const parsed = parseDecideRequest(bytes);
          const right =
            parsed.kind === 'fault' ? parsed.problem.status === 400 : typeof JSON.parse(bytes.toString()) === 'object';
          expect(right).toBe(true);
        },
      ),
      { numRuns: timesInFull(5_000) },
    );
  });

  test('A JSON object is parsed like by the simple reference implementation', () => {
    const name = fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('__proto__', 'constructor', 'Accept', 'accept'));
    const small = fc.oneof(
      fc.string({ unit: ANY_CHARACTER }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constant(null),
    );
    const mostlyRight = fc.record(
      {
        ip: fc.oneof({ weight: 9, arbitrary: fc.ipV4() }, fc.jsonValue()),
        user_agent: fc.oneof({ weight: 9, arbitrary: fc.string({ unit: ANY_CHARACTER }) }, fc.jsonValue()),
        url: fc.option(fc.webUrl()),
        referrer: fc.option(fc.string()),
        session_token: fc.option(fc.string()),
        event_type: fc.oneof({ weight: 9, arbitrary: fc.string() }, fc.jsonValue()),
        timestamp: fc.oneof({ weight: 9, arbitrary: fc.integer() }, fc.jsonValue()),
        outcome: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...OUTCOMES, null) }, fc.jsonValue()),
        entity_keys: fc.oneof({ weight: 9, arbitrary: fc.dictionary(name, small, { maxKeys: 20 }) }, fc.jsonValue()),
        headers: fc.oneof(
          { weight: 9, arbitrary: fc.dictionary(name, fc.oneof(small, fc.array(fc.string())), { maxKeys: 20 }) },
          fc.jsonValue(),
        ),
        http_signature: fc.oneof(
          { weight: 9, arbitrary: fc.dictionary(fc.constantFrom(...SIGNED_FIELDS, 'more'), fc.option(fc.string())) },
          fc.dictionary(fc.constantFrom(...SIGNED_FIELDS), fc.jsonValue()),
          fc.jsonValue(),
        ),
        other: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(mostlyRight, (body) => {
        const text = JSON.stringify(body);
        const parsed = parse(text);
        const expected = model(JSON.parse(text) as Record<string, unknown>);
        expect(parsed.kind === 'fault' ? parsed.problem.code : parsed.request).toEqual(expected ?? 'invalid_request');
      }),
      { numRuns: timesInFull(2_000) },
    );
  });
});
