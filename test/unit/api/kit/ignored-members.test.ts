import * as z from 'zod';
import { describe, expect, test } from 'vitest';
import { LIST_BATCH_BODY, LIST_ENTRY_BODY, schemaBody } from '../../../../src/api/kit/body-readers.ts';
import type { EndpointResponse } from '../../../../src/api/kit/endpoint-types.ts';
import { ignoredMembers } from '../../../../src/api/kit/ignored-members.ts';
import { readBody } from '../../../../src/api/kit/request-body.ts';
import { withWarnings } from '../../../../src/api/kit/response-warnings.ts';
import { OUTCOME_REPORT } from '../../../../src/api/outcome-body.ts';
import { SIMULATION_BODY } from '../../../../src/api/simulation-body.ts';
import { EXTRACTION_REQUEST } from '../../../../src/contract/requests/extraction-requests.ts';
import { SESSION_REQUEST } from '../../../../src/contract/requests/session-requests.ts';

function pointersOf(schema: z.ZodType | undefined, body: unknown): string[] {
  if (schema === undefined) throw new Error('the reader has no schema');
  return ignoredMembers(schema, body).map(({ pointer }) => pointer);
}

describe('members that a schema does not name', () => {
  test('A name that is nearly right has the name that was meant', () => {
    const schema = z.object({ url: z.string(), event_types: z.array(z.string()) });
    expect(ignoredMembers(schema, { url: 'x', event_typs: [], colour: { url: 1 } })).toEqual([
      { pointer: '/event_typs', code: 'unknown_field', did_you_mean: 'event_types' },
      { pointer: '/colour', code: 'unknown_field' },
    ]);
    expect(ignoredMembers(schema, { url: 'x', event_types: [] })).toEqual([]);
  });

  test('Names are found at every depth, in lists, maps and the option that was chosen', () => {
    const extraction = {
      connector: 'web',
      schedule: '* * * * *',
      input: { anything: 1 },
      collect: { limit: 5, pages: 2 },
      output: { schema: { anything: 1 }, csv: { quote: '"' } },
      delivery: {
        type: 'destination',
        destination: { kind: 'http_put', url: 'https://a.example', acl: 'x' },
        url: 'x',
      },
    };
    expect(pointersOf(EXTRACTION_REQUEST, extraction)).toEqual([
      '/schedule',
      '/collect/pages',
      '/output/csv/quote',
      '/delivery/destination/acl',
      '/delivery/url',
    ]);
    expect(pointersOf(EXTRACTION_REQUEST, { delivery: { type: 'store', url: 'x' } })).toEqual(['/delivery/url']);
    expect(pointersOf(SESSION_REQUEST, { host: 'a.example', cookies: [{ name: 'a', same_site: 'lax' }] })).toEqual([
      '/cookies/0/same_site',
    ]);
    expect(pointersOf(z.record(z.string(), z.object({})), { 'a/b': { c: 1 } })).toEqual(['/a~1b/c']);
  });

  test('Readers with several forms of a body warn about the form that was sent', () => {
    const entry = { action: 'block', kind: 'ip', value: '1.1.1.1' };
    expect(pointersOf(LIST_ENTRY_BODY.schema, { ...entry, expires: 5 })).toEqual(['/expires']);
    expect(pointersOf(LIST_BATCH_BODY.schema, { entries: [entry, { ...entry, x: 1 }], dry_run: true })).toEqual([
      '/entries/1/x',
      '/dry_run',
    ]);
    expect(pointersOf(LIST_BATCH_BODY.schema, [{ ...entry, x: 1 }])).toEqual(['/0/x']);
    const report = { request_id: 'req_1', outcome: 'failed' };
    expect(pointersOf(OUTCOME_REPORT.schema, { ...report, at: 5 })).toEqual(['/at']);
    expect(pointersOf(OUTCOME_REPORT.schema, { outcomes: [{ ...report, at: 5 }], ...report })).toEqual([
      '/outcomes/0/at',
      '/request_id',
      '/outcome',
    ]);
    expect(pointersOf(SIMULATION_BODY.schema, { ip: '1.1.1.1', headers: { x: 'y' }, attributes: { z: 1 } })).toEqual(
      [],
    );
    expect(pointersOf(schemaBody('startBacktest').schema, { rules: [{ code: 'own_a', weigth: 1 }] })).toEqual([
      '/rules/0/weigth',
    ]);
  });

  test('At most 32 are named, long names are cut, and inherited names are no members', () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_none, n) => [`n${n}`, 1]));
    expect(pointersOf(z.object({}), many)).toHaveLength(32);
    expect(pointersOf(z.object({ a: z.string() }), { ['a'.repeat(200)]: 1 })).toEqual([`/${'a'.repeat(64)}`]);
    expect(pointersOf(z.object({}), JSON.parse('{"__proto__":1,"toString":1}'))).toEqual(['/__proto__', '/toString']);
  });

  test('A body that is read has them beside its value', () => {
    const read = readBody(LIST_ENTRY_BODY, Buffer.from('{"action":"block","kind":"ip","value":"1.1.1.1","x":1}'), 0);
    expect(read).toMatchObject({ kind: 'read', ignored: [{ pointer: '/x', code: 'unknown_field' }] });
  });
});

describe('warnings in a response', () => {
  const IGNORED = [{ pointer: '/x', code: 'unknown_field' }] as const;
  const JSON_TYPE = 'application/json';

  async function textOf(response: EndpointResponse): Promise<string> {
    if (response.kind === 'json') return JSON.stringify(response.body);
    if (response.kind === 'text') return response.body;
    if (response.kind === 'pieces') return Buffer.concat(response.pieces).toString();
    if (response.kind !== 'stream') return '';
    const pieces: Uint8Array[] = [];
    for await (const piece of response.body.pieces) pieces.push(piece);
    const all = Buffer.concat(pieces);
    expect(all.length).toBe(response.body.bytes ?? all.length);
    return all.toString();
  }

  async function* twoPieces(): AsyncGenerator<Uint8Array> {
    await Promise.resolve();
    yield Buffer.from('{"a":');
    yield Buffer.from('1}');
  }

  const pieces = [Buffer.from('{"a":'), Buffer.from('1}')];
  test.each([
    { kind: 'json', status: 200, body: { a: 1 } },
    { kind: 'text', status: 200, contentType: JSON_TYPE, body: '{"a":1}' },
    { kind: 'pieces', status: 200, contentType: JSON_TYPE, pieces },
    { kind: 'stream', status: 200, contentType: JSON_TYPE, heldBytes: 0, body: { bytes: 7, pieces: twoPieces() } },
    { kind: 'stream', status: 200, contentType: JSON_TYPE, heldBytes: 0, body: { bytes: null, pieces: twoPieces() } },
  ] satisfies EndpointResponse[])('A response of kind $kind has them as its last member', async (response) => {
    const text = await textOf(withWarnings(response, IGNORED));
    expect(JSON.parse(text)).toEqual({ a: 1, warnings: IGNORED });
  });

  test('Warnings of the endpoint come first, and nothing is added without ignored members or to other responses', () => {
    const own = { kind: 'json', status: 200, body: { warnings: [{ code: 'own' }] } } satisfies EndpointResponse;
    expect(withWarnings(own, IGNORED)).toMatchObject({ body: { warnings: [{ code: 'own' }, ...IGNORED] } });
    expect(withWarnings(own, [])).toBe(own);
    const text = { kind: 'text', status: 200, contentType: 'text/csv', body: 'a,b' } satisfies EndpointResponse;
    expect(withWarnings(text, IGNORED)).toBe(text);
    const empty = { kind: 'empty', status: 204 } satisfies EndpointResponse;
    expect(withWarnings(empty, IGNORED)).toBe(empty);
  });
});
