import { describe, expect, test } from 'vitest';
import { egressPolicy } from '../../../../src/egress/public-address.ts';
import { checkTarget } from '../../../../src/egress/egress-target.ts';
import { CONNECTORS } from '../../../../src/extract/connectors/connector-table.ts';
import { checkRequest, type CheckedRequest } from '../../../../src/extract/request/read-request.ts';
import { GOOD, SESSION_ID, TEST_CONNECTOR } from '../../api/extractions/support.ts';

const policy = egressPolicy([]);

function check(body: unknown) {
  return checkRequest(body, {
    connectors: [TEST_CONNECTOR, ...CONNECTORS],
    checkTarget: (url) => checkTarget(url, policy),
  });
}

function accepted(changes: object): CheckedRequest {
  const checked = check({ ...GOOD, ...changes });
  if (checked.kind !== 'ok') throw new Error(JSON.stringify(checked.problem));
  return checked.value;
}

/** Returns the code of the problem, and pointer and code of each error. */
function refused(body: unknown): readonly [string, ...(readonly [string, string])[]] {
  const checked = check(body);
  if (checked.kind === 'ok') throw new Error('it was accepted');
  const { code, errors = [] } = checked.problem;
  return [code, ...errors.map((error) => [error.pointer, error.code] as const)];
}

const changed = (changes: object) => refused({ ...GOOD, ...changes });
const withInput = (input: unknown) => changed({ input });

describe('checkRequest: envelope', () => {
  test('a request without connector, operation and input gets one error for each of them', () => {
    const wanted = [
      'validation_failed',
      ['/connector', 'required'],
      ['/operation', 'required'],
      ['/input', 'required'],
    ];
    expect(refused({})).toEqual(wanted);
    expect(refused({ connector: null, operation: null, input: null })).toEqual(wanted);
  });

  test.each([
    ['connector', 7],
    ['operation', ['x']],
    ['input', 'tea'],
    ['input', []],
    ['collect', 'all'],
    ['output', 7],
    ['session', 7],
  ])('a request with a %s of the wrong type is 422: %j', (name, value) => {
    expect(changed({ [name]: value })).toEqual(['validation_failed', [`/${name}`, 'wrong_type']]);
  });

  test('an unknown connector and an unknown operation are reported as such', () => {
    expect(changed({ connector: 'none' })).toEqual(['unknown_connector', ['/connector', 'unknown_connector']]);
    expect(changed({ operation: 'none' })).toEqual(['unknown_operation', ['/operation', 'unknown_operation']]);
    for (const name of ['constructor', '__proto__', 'TESTS', '', 'tests '])
      expect(changed({ connector: name })[0]).toBe('unknown_connector');
  });

  test('the envelope is checked before the catalogue, so that an unknown name never hides an invalid field', () => {
    const errors = [
      ['/collect/limit', 'too_small'],
      ['/output/format', 'invalid_value'],
    ];
    expect(changed({ connector: 'none', collect: { limit: 0 }, output: { format: 'xml' } })).toEqual([
      'validation_failed',
      ...errors,
    ]);
  });

  test('null counts as absent, and unknown members are ignored', () => {
    const checked = accepted({ collect: null, output: null, session: null, delivery: null, extra: 1 });
    expect(checked).toMatchObject({
      collect: { mode: 'limit', limit: 100 },
      session: null,
      delivery: { kind: 'store' },
    });
    expect(checked.output.format).toBe('json');
  });

  test('a session must have the form of a session id', () => {
    expect(accepted({ session: SESSION_ID }).session).toBe(SESSION_ID);
    for (const session of ['', 'x', SESSION_ID.toLowerCase(), `${SESSION_ID}0`])
      expect(changed({ session })).toEqual(['validation_failed', ['/session', 'invalid_value']]);
  });
});

describe('checkRequest: collect', () => {
  test.each([
    [{}, { mode: 'limit', limit: 100 }],
    [{ mode: 'limit' }, { mode: 'limit', limit: 100 }],
    [{ limit: 5 }, { mode: 'limit', limit: 5 }],
    [
      { mode: 'limit', limit: 1 },
      { mode: 'limit', limit: 1 },
    ],
    [
      { mode: 'limit', limit: 100_000 },
      { mode: 'limit', limit: 100_000 },
    ],
    [{ mode: 'all' }, { mode: 'all' }],
    [{ mode: 'all', limit: null }, { mode: 'all' }],
  ])('collect %j is read as %j', (given, collect) => {
    expect(accepted({ collect: given }).collect).toEqual(collect);
  });

  test.each([
    [{ mode: 'limit', limit: 0 }, '/collect/limit', 'too_small'],
    [{ mode: 'limit', limit: -1 }, '/collect/limit', 'too_small'],
    [{ mode: 'limit', limit: 100_001 }, '/collect/limit', 'too_large'],
    [{ mode: 'limit', limit: 1.5 }, '/collect/limit', 'wrong_type'],
    [{ mode: 'limit', limit: '5' }, '/collect/limit', 'wrong_type'],
    [{ mode: 'some' }, '/collect/mode', 'invalid_value'],
    [{ mode: 'all', limit: 5 }, '/collect/limit', 'invalid_value'],
  ])('collect %j is 422', (collect, pointer, code) => {
    expect(changed({ collect })).toEqual(['validation_failed', [pointer, code]]);
  });
});

describe('checkRequest: input', () => {
  test('the input is passed on without nulls, together with the first steps', () => {
    const checked = accepted({ input: { query: 'tea', depth: 2, sort: null } });
    expect(checked.input).toEqual({ query: 'tea', depth: 2 });
    expect(checked.steps).toEqual([{ key: 'first', state: { query: 'tea' } }]);
  });

  test.each([
    ['no members', {}, '/input/query', 'required'],
    ['null for a required member', { query: null }, '/input/query', 'required'],
    ['a member of the wrong type', { query: 7 }, '/input/query', 'wrong_type'],
    ['an empty text', { query: '' }, '/input/query', 'too_short'],
    ['a blank text', { query: '  ' }, '/input/query', 'invalid_value'],
    ['a long text', { query: 'x'.repeat(21) }, '/input/query', 'too_long'],
    ['a value outside of the choices', { query: 'tea', sort: 'best' }, '/input/sort', 'invalid_value'],
    ['a number that is too small', { query: 'tea', depth: -1 }, '/input/depth', 'too_small'],
    ['a number that is too large', { query: 'tea', depth: 10 }, '/input/depth', 'too_large'],
    ['a fraction', { query: 'tea', depth: 1.5 }, '/input/depth', 'wrong_type'],
    ['an empty list', { query: 'tea', paths: [] }, '/input/paths', 'too_few'],
    ['a long list', { query: 'tea', paths: ['a', 'b', 'c', 'd'] }, '/input/paths', 'too_many'],
    ['a wrong item', { query: 'tea', paths: ['a', 7] }, '/input/paths/1', 'wrong_type'],
    ['an unknown name', { query: 'tea', 'a/b~c': 1 }, '/input/a~1b~0c', 'invalid_value'],
    ['a name that objects inherit', { query: 'tea', constructor: 1 }, '/input/constructor', 'invalid_value'],
    ['a value that the operation itself rejects', { query: 'nonsense' }, '/input/query', 'invalid_value'],
  ])('an input with %s is 422 at its pointer', (_what, input, pointer, code) => {
    expect(withInput(input)).toEqual(['validation_failed', [pointer, code]]);
  });

  test('all errors of the input are reported at once, together with those of output', () => {
    expect(changed({ input: { depth: 'x', sort: 1 }, output: { fields: ['nowhere'] } })).toEqual([
      'validation_failed',
      ['/input/query', 'required'],
      ['/input/sort', 'wrong_type'],
      ['/input/depth', 'wrong_type'],
      ['/output/fields/0', 'unknown_path'],
    ]);
  });

  test('at most 32 errors are reported', () => {
    const input = { query: 'tea', ...Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`x${n}`, n])) };
    expect(withInput(input)).toHaveLength(33);
  });

  test('an input over 64 KiB is 422 without being validated', () => {
    expect(withInput({ query: 'x'.repeat(65_536) })).toEqual(['validation_failed', ['/input', 'too_large']]);
  });

  test('the input of every example in the catalogue is accepted', () => {
    for (const connector of CONNECTORS) {
      for (const { name, example } of connector.operations) {
        const checked = check({ connector: connector.id, operation: name, input: example.input });
        expect([connector.id, name, checked.kind]).toEqual([connector.id, name, 'ok']);
      }
    }
  });
});

describe('checkRequest: addresses in the input', () => {
  test.each([
    'http://10.0.0.1/',
    'http://[::1]/',
    '127.0.0.1',
    'localhost',
    'u@127.0.0.1',
    '2130706433',
    '127.0.0.1/#x',
    'http:10.0.0.1',
    'http:/10.0.0.1/',
    'http:\\\\10.0.0.1/',
    'HTTPS:10.0.0.1/x',
    'ht\ntp:10.0.0.1',
    'localhost:8080',
  ])('the input %s is 422 blocked_url', (url) => {
    expect(withInput({ query: 'tea', url })).toEqual(['blocked_url', ['/input/url', 'blocked_url']]);
    expect(withInput({ query: 'tea', site: url })).toEqual(['blocked_url', ['/input/site', 'blocked_url']]);
  });

  test('allowed addresses are accepted, and so are texts that only look like addresses', () => {
    for (const input of [
      { query: 'tea', url: 'https://a.example/' },
      { query: 'tea', url: 'a.example:8080/x' },
      { query: 'http://10.0.0.1/' },
    ])
      expect(accepted({ input }).input).toEqual(input);
  });

  test('the addresses in inputs of real connectors are checked', () => {
    const site = 'http://169.254.169.254/latest';
    for (const [connector, operation, name] of [
      ['wordpress', 'site.posts', 'site'],
      ['wordpress', 'company.posts', 'company'],
    ])
      expect(refused({ connector, operation, input: { [name ?? '']: site } })).toEqual([
        'blocked_url',
        [`/input/${name ?? ''}`, 'blocked_url'],
      ]);
  });
});

describe('checkRequest: output', () => {
  test('the output is read completely and checked against the records of the operation', () => {
    const output = { format: 'csv', fields: ['id', 'author.name'], rename: { 'author.name': 'by' }, flatten: true };
    expect(accepted({ output }).output).toMatchObject(output);
    const collision = { rename: { title: 'id' } };
    expect(changed({ output: collision })).toEqual(['validation_failed', ['/output/rename/title', 'name_collision']]);
  });

  test('an output with an unsupported schema is 422 at the schema', () => {
    const schema = { properties: { id: { $ref: 'https://else.example/schema' } } };
    const [code, ...errors] = changed({ output: { schema } });
    expect([code, errors]).toEqual([
      'validation_failed',
      [['/output/schema/properties/id/$ref', 'unsupported_schema']],
    ]);
  });
});

describe('checkRequest: delivery', () => {
  const url = 'https://shop.example/records?token=abc';
  const s3 = { kind: 's3', bucket: 'bucket', access_key_id: 'AKIA', secret_access_key: 'shh' };
  const destination = (destination: object) => ({ delivery: { type: 'destination', destination } });

  test('the delivery has defaults', () => {
    expect(accepted({ delivery: { type: 'sync' } }).delivery).toMatchObject({ kind: 'sync', waitSeconds: 30 });
    expect(accepted({ delivery: { type: 'webhook', url } }).delivery).toMatchObject({ url, batchSize: 100 });
    expect(accepted(destination(s3)).delivery.s3).toEqual({
      endpoint: 'https://s3.us-east-1.amazonaws.com',
      bucket: 'bucket',
      region: 'us-east-1',
      prefix: '',
    });
  });

  test('the secrets of a delivery are kept separate', () => {
    const put = accepted(destination({ kind: 'http_put', url }));
    expect(put.delivery).toMatchObject({ kind: 'http_put', url: 'https://shop.example/records' });
    expect(put.deliverySecrets).toEqual({ url });
    const bucket = accepted(destination(s3));
    expect(JSON.stringify(bucket.delivery)).not.toMatch(/AKIA|shh/);
    expect(bucket.deliverySecrets).toEqual({ accessKeyId: 'AKIA', secretAccessKey: 'shh' });
  });

  test('each webhook without a secret gets a new one', () => {
    const secrets = [1, 2].map(() => accepted({ delivery: { type: 'webhook', url } }).newSecret);
    expect(new Set(secrets).size).toBe(2);
    const secret = `whsec_${Buffer.alloc(64, 3).toString('base64')}`;
    expect(accepted({ delivery: { type: 'webhook', url, secret } })).toMatchObject({
      newSecret: null,
      deliverySecrets: { secret },
    });
  });

  test.each([
    ['no type', {}, '/delivery/type', 'required'],
    ['an unknown type', { type: 'mail' }, '/delivery/type', 'invalid_value'],
    ['a wait over 120 s', { type: 'sync', wait_seconds: 121 }, '/delivery/wait_seconds', 'too_large'],
    ['a wait below 0', { type: 'sync', wait_seconds: -1 }, '/delivery/wait_seconds', 'too_small'],
    ['a fraction of a second', { type: 'sync', wait_seconds: 0.5 }, '/delivery/wait_seconds', 'wrong_type'],
    ['no url', { type: 'webhook' }, '/delivery/url', 'required'],
    ['a relative url', { type: 'webhook', url: '/x' }, '/delivery/url', 'invalid_value'],
    ['a batch size of 0', { type: 'webhook', url, batch_size: 0 }, '/delivery/batch_size', 'too_small'],
    ['a batch size over 1,000', { type: 'webhook', url, batch_size: 1_001 }, '/delivery/batch_size', 'too_large'],
    ['a short secret', { type: 'webhook', url, secret: secretOf(23) }, '/delivery/secret', 'invalid_value'],
    ['a long secret', { type: 'webhook', url, secret: secretOf(65) }, '/delivery/secret', 'invalid_value'],
    [
      'a secret without its prefix',
      { type: 'webhook', url, secret: 'x'.repeat(40) },
      '/delivery/secret',
      'invalid_value',
    ],
    ['no destination', { type: 'destination' }, '/delivery/destination', 'required'],
    ['an unknown kind', destination({ kind: 'ftp' }).delivery, '/delivery/destination/kind', 'invalid_value'],
    ['no bucket', destination({ ...s3, bucket: null }).delivery, '/delivery/destination/bucket', 'required'],
    [
      'an invalid bucket',
      destination({ ...s3, bucket: 'a/b' }).delivery,
      '/delivery/destination/bucket',
      'invalid_value',
    ],
    [
      'an invalid region',
      destination({ ...s3, region: 'a/b' }).delivery,
      '/delivery/destination/region',
      'invalid_value',
    ],
    [
      'an invalid endpoint',
      destination({ ...s3, endpoint: 'x' }).delivery,
      '/delivery/destination/endpoint',
      'invalid_value',
    ],
    [
      'an invalid prefix',
      destination({ ...s3, prefix: '../x' }).delivery,
      '/delivery/destination/prefix',
      'invalid_value',
    ],
    [
      'an empty key',
      destination({ ...s3, access_key_id: '' }).delivery,
      '/delivery/destination/access_key_id',
      'invalid_value',
    ],
    ['an http_put without url', destination({ kind: 'http_put' }).delivery, '/delivery/destination/url', 'required'],
  ])('a delivery with %s is 422 at its pointer', (_what, delivery, pointer, code) => {
    expect(changed({ delivery })).toEqual(['validation_failed', [pointer, code]]);
  });

  test('a delivery to a blocked address is 422 blocked_url', () => {
    const inside = 'http://10.0.0.1/x';
    expect(changed({ delivery: { type: 'webhook', url: inside } })).toEqual([
      'blocked_url',
      ['/delivery/url', 'blocked_url'],
    ]);
    expect(changed(destination({ kind: 'http_put', url: inside }))).toEqual([
      'blocked_url',
      ['/delivery/destination/url', 'blocked_url'],
    ]);
    expect(changed(destination({ ...s3, endpoint: 'http://localhost:9000' }))).toEqual([
      'blocked_url',
      ['/delivery/destination/endpoint', 'blocked_url'],
    ]);
  });

  test('an inline delivery is limited to 1,000 records', () => {
    const delivery = { type: 'sync' };
    expect(accepted({ delivery, collect: { limit: 1_000 } }).collect).toEqual({ mode: 'limit', limit: 1_000 });
    expect(accepted({ delivery, collect: { mode: 'all' } }).collect).toEqual({ mode: 'all' });
    expect(changed({ delivery, collect: { limit: 1_001 } })[0]).toBe('sync_limit_exceeded');
  });

  test('an error response repeats no secret', () => {
    const secret = `whsec_${'!'.repeat(40)}`;
    const checked = [
      check({ ...GOOD, delivery: { type: 'webhook', url: 'x', secret } }),
      check({ ...GOOD, ...destination({ ...s3, region: 'a/b', secret_access_key: 'top-secret-text' }) }),
    ];
    expect(JSON.stringify(checked)).not.toMatch(/whsec_!|top-secret-text/);
  });
});

function secretOf(bytes: number): string {
  return `whsec_${Buffer.alloc(bytes, 1).toString('base64')}`;
}
