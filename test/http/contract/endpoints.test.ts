import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../../src/contract/endpoint.ts';
import { ENDPOINTS } from '../../../src/contract/endpoints.ts';
import type { Shape } from '../../../src/contract/routes.ts';
import { bearer, UNSIGNED } from '../../support/manage.ts';
import { type Answer, get, send, type SendOptions } from '../../support/requests.ts';
import { type SharedServer, sharedServer } from '../../support/shared-server.ts';

const ENTRIES = Object.entries(ENDPOINTS);
const WITH_KEY = ENTRIES.filter(([, { access }]) => access === 'secret' || access === 'public_or_secret');
/** Endpoints of the dashboard refuse requests of other sites first; test/http/dashboard has their tests. */
const OF_PROGRAMS = ENTRIES.filter(([, { tag, access }]) => tag !== 'dashboard' && access !== 'gate');
/** The gate answers proxies with nothing but 204, 401 and 403: test/http/gate has its tests. */
const NOT_OF_PROXIES = ENTRIES.filter(([, { access }]) => access !== 'gate');
/** Scripts are part of some builds only, see test/http/collector. */
const OPEN = ENTRIES.filter(([, { access, tag }]) => access === 'none' && tag !== 'collector');

/** Returns the endpoint's path with ids that do not exist. */
function pathOf({ path }: Endpoint): string {
  return path.replaceAll(/\{\w+\}/g, 'a'.repeat(64));
}

describe('every endpoint behaves as the table of endpoints describes', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  const ask = (endpoint: Endpoint, key: string, options: SendOptions = {}): Promise<Answer> => {
    const { method } = endpoint;
    return send(server.url, key, { method, path: pathOf(endpoint), ...options });
  };

  test.each(WITH_KEY)('%s refuses a call without a key with 401', async (_id, endpoint) => {
    expect(await ask(endpoint, server.secretKey, { headers: UNSIGNED })).toMatchObject({
      status: 401,
      json: { code: 'missing_credentials' },
    });
  });

  test.each(WITH_KEY)('%s accepts a public key only if the table allows it', async (_id, endpoint) => {
    const { status, json } = await ask(endpoint, server.publicKey);
    if (endpoint.access === 'secret') expect([status, json['code']]).toEqual([403, 'key_not_allowed']);
    else expect([400, 200]).toContain(status);
  });

  test.each(OPEN)('%s needs no key', async (_id, endpoint) => {
    expect(await ask(endpoint, server.secretKey, { headers: UNSIGNED })).toMatchObject({ status: 200 });
  });

  test.each(NOT_OF_PROXIES)('%s refuses a malformed request, even with a valid key', async (_id, endpoint) => {
    const long = { 'x-long': 'a'.repeat(9_000) };
    expect(await ask(endpoint, server.secretKey, { headers: long })).toMatchObject({ status: 431 });
    const chunked = { 'content-length': null, 'transfer-encoding': 'chunked' };
    expect(await ask(endpoint, server.secretKey, { headers: chunked })).toMatchObject({ status: 411 });
    expect(await ask(endpoint, server.secretKey, { method: 'TRACE' })).toMatchObject({ status: 405 });
  });

  test.each(OF_PROGRAMS.filter(([, { bodyBytesMax }]) => bodyBytesMax === 0))(
    '%s accepts no body',
    async (_id, endpoint) => {
      const { status, json } = await bearer(server.url, server.secretKey, endpoint.method, pathOf(endpoint), '{}');
      expect([status, json['code']]).toEqual([413, 'body_too_large']);
    },
  );

  // A body that is ignored is refused only by its size.
  test.each(OF_PROGRAMS.filter(([, { bodyBytesMax, access }]) => bodyBytesMax > 0 && access !== 'public'))(
    '%s accepts a body up to the size in the table',
    async (_id, endpoint) => {
      // Not JSON: a body that is read is refused and creates nothing.
      const fitting = await ask(endpoint, server.secretKey, { body: '['.repeat(endpoint.bodyBytesMax) });
      expect([fitting.status, fitting.json['code']]).toEqual([400, 'invalid_request']);
      const tooLarge = await ask(endpoint, server.secretKey, { body: '['.repeat(endpoint.bodyBytesMax + 1) });
      expect([tooLarge.status, tooLarge.json['code']]).toEqual([413, 'body_too_large']);
    },
  );
});

/** Texts that are valid for some parameters and invalid for others. */
const SAMPLES = [
  'ALLOW',
  'watch',
  'none',
  'fraud',
  'unsure',
  'near_block',
  'failed',
  'extraction.records',
  '0',
  '1',
  '1000',
  '1001',
  '-1',
  '1.5',
  'x y',
  'a'.repeat(65),
  'a'.repeat(101),
  'a'.repeat(201),
];

/** A query parameter is text on the wire, but the schemas of numeric parameters describe numbers. */
function isAccepted(schema: Shape[string], text: string): boolean {
  return schema.safeParse(text).success || schema.safeParse(Number(text)).success;
}

/** Parameters that an endpoint needs, with values that fit each other. */
const REQUIRED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  findLinks: { kind: 'entity.email', value: 'a' },
  removeEntryByQuery: { kind: 'ip', value: '203.0.113.7' },
  readStats: { from: '0', to: '5000' },
  readTop: { by: 'ip', from: '0', to: '5000' },
};

/** All query parameters except the cursor, which is opaque. */
const PARAMETERS = ENTRIES.filter(([, { params }]) => params === undefined).flatMap(([id, endpoint]) =>
  Object.entries(endpoint.query ?? {})
    .filter(([name]) => name !== 'cursor')
    .map(([name, schema]) => [id, name, schema, endpoint] as const),
);

describe('every query parameter is validated as the table of endpoints describes', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each(PARAMETERS)('%s validates the query parameter %s', async (id, name, schema, { method, path }) => {
    for (const text of SAMPLES) {
      const query = new URLSearchParams({ ...REQUIRED[id], [name]: text });
      const target = `${path}?${query.toString()}`;
      const body = method === 'POST' ? { entries: [] } : undefined;
      const { status } = await bearer(server.url, server.secretKey, method, target, body);
      // A well-formed id of no decision is not found, nor an entry that does not exist.
      const accepted = name === 'after' || method === 'DELETE' ? 404 : 200;
      expect([text, status]).toEqual([text, isAccepted(schema, text) ? accepted : 400]);
    }
  });
});

describe.each(['uws', 'node'] as const)('GET /openapi.json by %s', (transport) => {
  test('GET /openapi.json returns docs/openapi.json to callers without a key', async () => {
    const { url } = await sharedServer(transport);
    const { status, headers, text } = await get(url, '/openapi.json');
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    const file = new URL('../../../docs/openapi.json', import.meta.url);
    expect(JSON.parse(text)).toEqual(JSON.parse(readFileSync(file, 'utf8')));
  });
});
