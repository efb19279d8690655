import { afterAll, describe, expect, test } from 'vitest';
import { CONNECTORS } from '../../../../src/extract/connectors/connector-table.ts';
import { extractionBodies } from '../../../../src/api/extractions/extraction-bodies.ts';
import { managementBodies } from '../../../../src/api/kit/body-readers.ts';
import { readBody } from '../../../../src/api/kit/request-body.ts';
import type { BodyPool as Built } from '../../../../src/api/kit/body-pool.ts';

/** Loads the built pool with its real worker. */
const { BodyPool } = (await import(new URL('../../../../dist/src/api/kit/body-pool.js', import.meta.url).href)) as {
  BodyPool: typeof Built;
};

const NOW_MS = 1_795_000_000_000;
const HASH = 'a'.repeat(64);
const pool = new BodyPool({ egressAllow: [] });
afterAll(() => pool.close());

const read = (reader: string, body: unknown): Promise<unknown> => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return pool.run({ reader, body: new Uint8Array(Buffer.from(text)), nowMs: NOW_MS, listening: [] });
};

const extraction = (output: object, input: object = { query: 'bread' }): object => ({
  connector: 'openlibrary',
  operation: 'search.works',
  input,
  output,
});

describe('the worker reads a body as the main thread does', () => {
  const checkTarget = (): null => null;
  const readers = [...managementBodies(checkTarget), ...extractionBodies({ connectors: CONNECTORS, checkTarget })];
  test.each<readonly [reader: string, body: unknown]>([
    ['any', {}],
    ['list_entry', { fingerprint_hash: HASH, action: 'block', note: 'é', expires_at: null }],
    ['list_entry', { fingerprint_hash: 'x', action: 'block' }],
    ['list_entry', '{"a":1,"a":2}'],
    ['list_batch', [{ fingerprint_hash: HASH, action: 'watch' }, { action: 1 }]],
    ['list_batch', Array.from({ length: 1_001 }, () => ({}))],
    ['labelDecision', { request_id: 'req_1', label: 'fraud' }],
    ['judgeShadowReview', { verdict: 'perhaps' }],
    ['rotateSecret', { grace_seconds: 5 }],
    ['webhook', { url: 'https://shop.example/', event_types: ['BLOCK', 'BLOCK'] }],
    ['session', { host: 'shop.example', cookies: [{ name: 'a', value: 'b' }] }],
    ['extraction', extraction({ schema: { properties: { title: { pattern: '^[a-z]{1,255}$' } } } })],
    ['extraction', extraction({ fields: ['nowhere'] })],
  ])('The worker parses a body as the main thread does: %s %j', async (name, body) => {
    const reader = readers.find((one) => one.name === name);
    if (reader === undefined) throw new Error(`there is no reader ${name}`);
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    expect(await read(name, body)).toEqual(readBody(reader, Buffer.from(text), NOW_MS));
  });
});

test('The worker blocks a target on an address that the service listens on', async () => {
  const body = { ...extraction({}), delivery: { type: 'webhook', url: 'http://127.0.0.1:8080/' } };
  expect(await read('extraction', body)).toMatchObject({ value: { checked: { problem: { code: 'blocked_url' } } } });
});

test('The event loop keeps turning while the worker parses a body of 1 MiB', async () => {
  const names = Object.fromEntries(Array.from({ length: 75_000 }, (_, n) => [`name${n}`, 1]));
  let turns = 0;
  const progress = { isRead: false };
  const reading = read('list_entry', names).then(() => (progress.isRead = true));
  while (!progress.isRead) {
    await new Promise((done) => setImmediate(done));
    turns++;
  }
  await reading;
  // Parsing on this thread would take a single turn.
  expect(turns).toBeGreaterThan(100);
});
