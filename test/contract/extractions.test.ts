import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/manage.ts';
import { newCustomer } from '../support/requests.ts';
import { sharedServer, type SharedServer, sharedSource, type SharedSource } from '../support/shared-server.ts';
import { books, EXTRACTION_ID, extractionClient, startExtractingServer } from '../support/extractions.ts';
import { type Receiver, startReceiver } from '../support/webhooks.ts';

/** Contract, 11 to 13: a test for each sentence. */

let server: SharedServer;
let source: SharedSource;
let receiver: Receiver;
let client: ReturnType<typeof extractionClient>;

beforeAll(async () => {
  receiver = await startReceiver();
  source = await sharedSource();
  server = await sharedServer();
  client = extractionClient(server.url, server.secretKey);
});
afterAll(async () => {
  await receiver.close();
});
describe('contract, 1.1: one envelope for search and listing', () => {
  test('An extraction collects records from the selected connector', async () => {
    const job = await client.run(books(3));
    expect(job.status).toBe('succeeded');
    const records = await client.allRecords(job.id);
    expect(records.map(({ id }) => id)).toEqual(['OL27448W', 'OL27449W', 'OL27450W']);
  });

  test('A request consists of operation, input and collect, plus optional output, session and delivery', async () => {
    const { json } = await client.ask('POST', '/v1/sessions', { host: '127.0.0.1', headers: { 'X-A': 'b' } });
    const job = await client.run({
      ...books(50),
      collect: { mode: 'limit', limit: 2 },
      output: { fields: ['id', 'title'] },
      session: json['id'],
      delivery: { type: 'store' },
    });
    expect(job.status).toBe('succeeded');
    const [record] = await client.allRecords(job.id);
    expect(Object.keys(record ?? {})).toEqual(['id', 'title', '_meta']);
  });

  test('The same envelope serves a search with a limit and a listing with mode all', async () => {
    const search = await client.run(books(500, { collect: { mode: 'limit', limit: 120 } }));
    expect(search.counts.collected).toBe(120);
    const listing = await client.run({
      connector: 'wordpress',
      operation: 'site.posts',
      input: { site: source.url },
      collect: { mode: 'all' },
    });
    expect([listing.status, listing.counts.collected]).toEqual(['succeeded', 120]);
  });

  test('A job runs in the background by default and is polled', async () => {
    const { status, json } = await client.create(books(1));
    expect([status, json['status']]).toEqual([202, 'queued']);
    expect((await client.ended(String(json['id']))).status).toBe('succeeded');
  });

  test('A job can be delivered by webhook', async () => {
    const before = receiver.arrivals.length;
    await client.run(books(1, { delivery: { type: 'webhook', url: receiver.url } }));
    const arrivals = await receiver.arrived(before + 1);
    expect(JSON.parse(String(arrivals.at(before)?.body))).toMatchObject({ records: [{ id: 'OL27448W' }] });
  });

  test('A small job can return its records in the response', async () => {
    const { status, json } = await client.create(books(2, { delivery: { type: 'sync' } }));
    expect([status, (json['records'] as unknown[]).length]).toEqual([200, 2]);
  });

  test('A key created by the operator gives access to extractions', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    expect((await extractionClient(server.url, secretKey).create(books(1))).status).toBe(202);
  });
});

describe('contract, 11.1 to 11.4: the request', () => {
  test.each(['connector', 'operation', 'input'])('The field %s is required in an extraction request', async (name) => {
    const { json } = await client.create({ ...books(1), [name]: undefined });
    expect(json).toMatchObject({
      status: 422,
      code: 'validation_failed',
      errors: [{ pointer: `/${name}`, code: 'required' }],
    });
  });

  test('The connector generic accepts any URL', async () => {
    const { json } = await client.ask('GET', '/v1/connectors/generic');
    for (const { input_schema: schema } of json['operations'] as { input_schema: { properties: object } }[])
      expect(schema.properties).toHaveProperty('url');
  });

  test('Operations are named <entity>.<kind>', async () => {
    const { json } = await client.ask('GET', '/v1/connectors');
    const names = (json['data'] as { operations: { name: string }[] }[]).flatMap(({ operations }) =>
      operations.map(({ name }) => name),
    );
    expect(names.length).toBeGreaterThan(20);
    for (const name of names) expect(name).toMatch(/^[a-z_]+\.[a-z_]+$/);
    for (const name of ['company.posts', 'search.posts', 'search.products']) expect(names).toContain(name);
  });

  test('The default of collect is mode limit with limit 100', async () => {
    const job = await client.run(books(500));
    expect(job.counts).toMatchObject({ collected: 100, target: 100 });
  });

  test('A job that collects with mode all takes all records', async () => {
    const job = await client.run(books(250, { collect: { mode: 'all' } }));
    expect(job.counts).toMatchObject({ collected: 250, target: 250, pages: 3 });
  });

  test('The output options select fields, set a schema and choose the format', async () => {
    const output = { format: 'csv', fields: ['id'], schema: { properties: { id: { const: 'OL27449W' } } } };
    const job = await client.run(books(3, { output }));
    const { text, headers } = await client.records(job.id);
    expect(headers['content-type']).toMatch(/^text\/csv/);
    expect(text.split('\r\n').slice(0, 2)).toEqual([
      'id,_meta.id,_meta.seq,_meta.source_url,_meta.fetched_at',
      expect.stringMatching(/^OL27449W,OL27449W,1,/) as string,
    ]);
  });
});

describe('contract, 12.1: the job object', () => {
  test('The job object has its fields, and the same request_id as the 202', async () => {
    const { json } = await client.create(books(120, { collect: { mode: 'all' } }));
    const job = await client.ended(String(json['id']));
    expect(job).toMatchObject({
      id: json['id'],
      status: 'succeeded',
      connector: 'openlibrary',
      operation: 'search.works',
      counts: { collected: 120, target: 120, pages: 2, errors: 0, duplicates: 0 },
      usage: { credits: 2, tier: 'basic' },
      request_id: json['request_id'],
    });
    expect(job).not.toHaveProperty('failure');
  });

  test('counts.collected is a partial total while the job runs', async () => {
    const id = await client.started(books(5, {}, 'held-contract-1'));
    const running = await client.inStatus(id, 'running');
    expect(running.counts.collected).toBe(0);
    source.release('held-contract-1');
    expect((await client.ended(id)).counts.collected).toBe(5);
  });
});

describe('contract, 12.2: states', () => {
  test('A new job returns 202 with id and status queued, and a GET immediately finds it', async () => {
    const { status, json, headers } = await client.create(books(1));
    expect(status).toBe(202);
    expect(Object.keys(json)).toEqual(['id', 'status', 'connector', 'operation', 'request_id']);
    expect(json).toMatchObject({ status: 'queued', connector: 'openlibrary', operation: 'search.works' });
    expect(json['id']).toMatch(EXTRACTION_ID);
    expect(headers['location']).toBe(`/v1/extractions/${String(json['id'])}`);
    expect((await client.ask('GET', headers['location'] ?? '')).status).toBe(200);
  });

  test('A job goes from queued to running to succeeded, and never back', async () => {
    const id = await client.started(books(3, {}, 'held-contract-2'));
    const seen = ['queued', (await client.inStatus(id, 'running')).status];
    source.release('held-contract-2');
    seen.push((await client.ended(id)).status, (await client.job(id)).status);
    expect(seen).toEqual(['queued', 'running', 'succeeded', 'succeeded']);
  });

  test('A failed job has a generic reason without details', async () => {
    const job = await client.run({ ...books(1), input: { query: 'missing' } });
    expect(job).toMatchObject({ status: 'failed', failure: { reason: 'source_not_found', retryable: false } });
    expect(JSON.stringify(job)).not.toContain('127.0.0.1');
  });

  test('A cancelled job has status failed', async () => {
    const id = await client.started(books(3, {}, 'held-contract-3'));
    await client.inStatus(id, 'running');
    const { status, json } = await client.ask('POST', `/v1/extractions/${id}/cancel`);
    expect([status, json['status'], json['failure']]).toEqual([
      200,
      'failed',
      { reason: 'cancelled', retryable: false },
    ]);
  });
});

describe('contract, 11.1 and 11.5: POST /v1/extractions', () => {
  test('A request with delivery type sync waits and returns the records', async () => {
    const { status, json } = await client.create(books(3, { delivery: { type: 'sync' } }));
    expect(status).toBe(200);
    expect(json).toMatchObject({ status: 'succeeded', counts: { collected: 3 }, next_cursor: null });
    expect((json['records'] as unknown[]).length).toBe(3);
    expect(await client.job(String(json['id']))).toMatchObject({ status: 'succeeded' });
  });

  test('Delivery type sync returns up to 1,000 records in one response', async () => {
    const delivery = { type: 'sync', wait_seconds: 120 };
    const { json } = await client.create(books(5_000, { delivery, collect: { mode: 'limit', limit: 1_000 } }));
    expect((json['records'] as unknown[]).length).toBe(1_000);
  });

  test('A sync request for more than 1,000 records is rejected before anything is fetched', async () => {
    const asked = source.targets.length;
    const body = books(5_000, { delivery: { type: 'sync' }, collect: { mode: 'limit', limit: 1_001 } });
    expect((await client.create(body)).json).toMatchObject({ status: 422, code: 'sync_limit_exceeded' });
    expect(source.targets.length).toBe(asked);
  });

  test('A sync request is rejected as soon as the source announces more records, without a charge', async () => {
    const body = books(1_001, { delivery: { type: 'sync' }, collect: { mode: 'all' } });
    expect((await client.create(body)).json).toMatchObject({ status: 422, code: 'sync_limit_exceeded' });
    const { json } = await client.ask('GET', '/v1/extractions?limit=1');
    expect(json['data']).toMatchObject([
      { status: 'failed', failure: { reason: 'limit_reached' }, usage: { credits: 0 } },
    ]);
  });

  test('A job that fails during a sync request returns 200 with status failed and no records', async () => {
    const { status, json } = await client.create({
      ...books(1),
      input: { query: 'missing' },
      delivery: { type: 'sync' },
    });
    expect(status).toBe(200);
    expect(json).toMatchObject({ status: 'failed', failure: { reason: 'source_not_found' }, records: [] });
  });

  test('A sync request longer than its wait returns 202 with Retry-After, and the job continues', async () => {
    const answer = await client.create(books(2, { delivery: { type: 'sync', wait_seconds: 1 } }, 'held-contract-4'));
    expect(answer.status).toBe(202);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    source.release('held-contract-4');
    expect((await client.ended(String(answer.json['id']))).status).toBe('succeeded');
  });
});

describe('contract, 12.3: GET /v1/extractions/{id}', () => {
  test('A GET with ?wait= responds when the job ends', async () => {
    const id = await client.started(books(2, {}, 'held-contract-5'));
    const answer = client.job(id, '?wait=60');
    await client.inStatus(id, 'running');
    source.release('held-contract-5');
    expect((await answer).status).toBe('succeeded');
  });

  test('A waiting GET responds immediately when the service stops', async () => {
    const other = await startExtractingServer(source);
    const waiting = extractionClient(other.url, other.secretKey);
    const id = await waiting.started(books(2, {}, 'held-contract-6'));
    await waiting.inStatus(id, 'running');
    const answer = waiting.ask('GET', `/v1/extractions/${id}?wait=120`);
    await waiting.inStatus(id, 'running');
    await other.stop('SIGTERM');
    expect((await answer).json['status']).toBe('running');
  });
});

describe('contract, 13.1: GET /v1/extractions/{id}/records', () => {
  test('GET records returns each record of a succeeded job once, in order, by cursor', async () => {
    const { id } = await client.run(books(250, { collect: { mode: 'all' } }));
    for (const limit of [7, 100, 1_000]) {
      const records = await client.allRecords(id, limit);
      expect(records.map(({ _meta }) => _meta.seq)).toEqual(Array.from({ length: 250 }, (_, n) => n + 1));
      expect(new Set(records.map((record) => record.id)).size).toBe(250);
    }
  });

  test('A record has the published schema and _meta, and null for unknown values', async () => {
    const { id } = await client.run(books(1));
    const [record] = await client.allRecords(id);
    const { json } = await client.ask('GET', '/v1/connectors/openlibrary');
    const [operation] = json['operations'] as { record_schema: { required: string[] } }[];
    expect(Object.keys(record ?? {})).toEqual([...(operation?.record_schema.required ?? []), '_meta']);
    expect(record).toMatchObject({ subtitle: null });
    expect(Object.keys(record?._meta ?? {}).sort()).toEqual(['fetched_at', 'id', 'seq', 'source_url']);
    expect(new Date(record?._meta.fetched_at ?? '').toISOString()).toBe(record?._meta.fetched_at);
  });

  test('GET records is rejected when a webhook was chosen', async () => {
    const { id } = await client.run(books(1, { delivery: { type: 'webhook', url: receiver.url } }));
    expect((await client.records(id)).json).toMatchObject({ status: 409, code: 'records_delivered' });
  });
});

describe('contract, 3.1: authentication', () => {
  test('A request signed with a secret key is accepted on extraction endpoints', async () => {
    expect((await call(server.url, server.secretKey, 'POST', '/v1/extractions', books(1))).status).toBe(202);
  });

  test('A request without credentials is rejected', async () => {
    const headers = { authorization: null };
    const { json } = await client.ask('POST', '/v1/extractions', books(1), { headers });
    expect(json).toMatchObject({ status: 401, code: 'missing_credentials' });
  });

  test('A customer cannot see another customer’s jobs', async () => {
    const { id } = await client.run(books(1));
    const other = extractionClient(server.url, (await newCustomer(server.url, server.dataDir)).secretKey);
    for (const path of [`/v1/extractions/${id}`, `/v1/extractions/${id}/records`])
      expect((await other.ask('GET', path)).json).toMatchObject({ status: 404, code: 'not_found' });
    expect((await other.ask('GET', '/v1/extractions')).json['data']).toEqual([]);
  });
});

describe('contract, 13.3: results by webhook', () => {
  test('A webhook gets the records with its own secret, independent of the job’s status', async () => {
    const { json } = await client.create(books(3, { delivery: { type: 'webhook', url: receiver.url } }));
    const { secret } = json['delivery'] as { secret: string };
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const id = String(json['id']);
    expect((await client.ended(id)).status).toBe('succeeded');
    // Records may come in several requests, and those of an earlier job may come late.
    const bodies = (): readonly Record<string, unknown>[] =>
      receiver.arrivals
        .map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
        .filter((body) => body['extraction_id'] === id);
    await expect
      .poll(() => bodies().flatMap((body) => (body['records'] as unknown[] | undefined) ?? []).length)
      .toBe(3);
    expect(bodies()[0]).toMatchObject({ request_id: json['request_id'], sequence: 1 });
  });
});

describe('contract, 2.4 and 12.4: errors', () => {
  test('A failed job shows only reason and retryable to the customer', async () => {
    const job = await client.run({ ...books(1), input: { query: 'missing' } });
    expect(job.request_id).toMatch(/^req_/);
    expect(Object.keys(job.failure ?? {})).toEqual(['reason', 'retryable']);
  });

  test('The log contains the detail of a failed job, without the query of the address', async () => {
    const job = await client.run({ ...books(1), input: { query: 'missing' } });
    const lineOf = (): string | undefined =>
      server
        .stdout()
        .split('\n')
        .find((line) => line.includes('"msg":"extraction"') && line.includes(job.request_id));
    await expect.poll(lineOf).toBeDefined();
    expect(JSON.parse(lineOf() ?? '')).toMatchObject({
      id: job.id,
      status: 'failed',
      reason: 'source_not_found',
      detail: expect.stringMatching(`^${source.url}/search.json\\?… status 404`) as unknown,
    });
  });
});

describe('contract, 1.3: versions', () => {
  test('Extraction paths require the prefix /v1', async () => {
    expect((await client.ask('POST', '/extractions', books(1))).status).toBe(404);
  });
});
