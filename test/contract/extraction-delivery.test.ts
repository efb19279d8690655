import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  books,
  type ExtractedRecord,
  extractionClient,
  type Job,
  type SourceServer,
  startExtractingServer,
  startSource,
} from '../support/extractions.ts';
import { type S3Server, type S3ServerOptions, startS3Server } from '../support/s3-server.ts';
import type { RunningServer } from '../support/server.ts';
import {
  type Arrival,
  eventually,
  type Receiver,
  startReceiver,
  webhookClient,
  WHOLE_SECRET,
} from '../support/webhooks.ts';

/** Contract, 11.4 and 13.3: the records of finished jobs reach their destination, and the job reports the result. */

const ALL = { collect: { mode: 'all' } };
/** Number of wide books, more bytes than fit into one part. */
const LARGE_COUNT = 2_100;
const LARGE = { collect: { mode: 'limit', limit: LARGE_COUNT } };

let source: SourceServer;
let dataDir: string;
let server: RunningServer;
let secretKey = '';
let receiver: Receiver;
let client: ReturnType<typeof extractionClient>;

beforeAll(async () => {
  source = await startSource();
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-delivery-'));
  await start();
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());
afterAll(async () => {
  await server.stop('SIGKILL');
  await source.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Starts the server, at first and after its end. */
async function start(): Promise<void> {
  server = await startExtractingServer(source, {}, dataDir);
  if (server.secretKey !== '') ({ secretKey } = server);
  client = extractionClient(server.url, secretKey);
}

interface Payload {
  readonly event: string;
  readonly extraction_id: string;
  readonly request_id: string;
  readonly sequence: number;
  readonly final: boolean;
  readonly counts: Job['counts'];
  readonly records: readonly ExtractedRecord[];
  readonly timestamp: number;
}

function payloadOf({ body }: Arrival): Payload {
  return JSON.parse(body.toString()) as Payload;
}

function toWebhook(more: object = {}): object {
  return { delivery: { type: 'webhook', url: receiver.url, ...more } };
}

/** Waits until the delivery of the job has ended, and returns the job. */
function delivered(id: string): Promise<Job> {
  return eventually(`the delivery of ${id}`, async () => {
    const job = await client.job(id);
    return job.delivery.status === 'pending' ? null : job;
  });
}

function seqsOf(records: readonly ExtractedRecord[]): number[] {
  return records.map(({ _meta }) => _meta.seq);
}

function oneTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** Verifies both signatures of a delivery. */
function verify({ headers, body }: Arrival, secret: string): void {
  new StandardWebhook(secret).verify(body.toString(), headers as Record<string, string>);
  expect(headers['x-svc-webhook-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'));
}

describe('to a webhook', () => {
  test('A webhook gets 250 records in batches of 100, in order, then the end of the job, each signed twice', async () => {
    const created = await client.create(books(250, { ...ALL, ...toWebhook({ batch_size: 100 }) }));
    const {
      id,
      request_id: requestId,
      delivery,
    } = created.json as unknown as {
      id: string;
      request_id: string;
      delivery: { type: string; secret: string };
    };
    expect(delivery).toEqual({ type: 'webhook', secret: expect.stringMatching(WHOLE_SECRET) as string });
    const job = await delivered(id);
    expect(job).toMatchObject({ status: 'succeeded', delivery: { type: 'webhook', status: 'delivered' } });
    expect(JSON.stringify(job)).not.toContain(delivery.secret);

    expect(receiver.arrivals).toHaveLength(4);
    for (const arrival of receiver.arrivals) verify(arrival, delivery.secret);
    const payloads = receiver.arrivals.map(payloadOf);
    expect(payloads.map(({ event, sequence, final, records }) => [event, sequence, final, records.length])).toEqual([
      ['extraction.records', 1, false, 100],
      ['extraction.records', 2, false, 100],
      ['extraction.records', 3, false, 50],
      ['extraction.completed', 4, true, 0],
    ]);
    expect(seqsOf(payloads.flatMap(({ records }) => records))).toEqual(oneTo(250));
    for (const payload of payloads)
      expect(payload).toMatchObject({
        extraction_id: id,
        request_id: requestId,
        counts: job.counts,
        timestamp: job.finished_at,
      });
  });

  test('Deliveries of a job are in the log without a webhook, and cannot be retried', async () => {
    const job = await delivered(await client.started(books(3, toWebhook())));
    const { deliveries, ask } = webhookClient(server.url, secretKey);
    const rows = await deliveries(`?request_id=${job.request_id}`);
    expect(rows.map(({ event, webhook_id, status, trigger }) => [event, webhook_id, status, trigger])).toEqual([
      ['extraction.completed', null, 'succeeded', 'extraction'],
      ['extraction.records', null, 'succeeded', 'extraction'],
    ]);
    expect(await deliveries(`?request_id=${job.request_id}&event=extraction.records`)).toEqual([rows[1]]);
    // Bodies of records are not kept.
    expect(await ask('GET', `/v1/webhooks/deliveries/${rows[1]?.id}`)).toEqual({ ...rows[1], body: null });
    const retried = await client.ask('POST', `/v1/webhooks/deliveries/${rows[1]?.id}/retry`);
    expect(retried.json).toMatchObject({ status: 404, code: 'not_found' });
    expect(receiver.arrivals).toHaveLength(2);
  });

  test('A delivery can be signed with the caller’s secret, which no response contains', async () => {
    const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    const { json } = await client.create(books(1, toWebhook({ secret })));
    expect(json).not.toHaveProperty('delivery');
    await delivered(String(json['id']));
    for (const arrival of receiver.arrivals) verify(arrival, secret);
  });

  test('Records delivered by webhook cannot be fetched as well', async () => {
    const { id } = await delivered(await client.started(books(1, toWebhook())));
    expect((await client.records(id)).json).toMatchObject({ status: 409, code: 'records_delivered' });
  });

  test('A failing receiver gets the same batch again after 5 s, and then the following ones in order', async () => {
    receiver.answers(503, 200);
    const { id, request_id: requestId } = await client.run(books(3, toWebhook()));
    await receiver.arrived(1);
    expect((await client.job(id)).delivery.status).toBe('pending');
    expect((await delivered(id)).delivery.status).toBe('delivered');
    const [first, second, third] = receiver.arrivals;
    expect(second?.body).toEqual(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(4_990);
    expect(third && payloadOf(third)).toMatchObject({ event: 'extraction.completed', sequence: 2 });
    const rows = await webhookClient(server.url, secretKey).deliveries(`?request_id=${requestId}`);
    expect(rows.map(({ attempt_count }) => attempt_count)).toEqual([1, 2]);
  });

  test('A failed job leads to one delivery without records, and counts as delivered', async () => {
    const made = { ...books(1, toWebhook()), input: { query: 'missing' } };
    const job = await delivered(await client.started(made));
    expect(job).toMatchObject({ status: 'failed', delivery: { status: 'delivered' } });
    expect(receiver.arrivals.map(payloadOf)).toMatchObject([
      { event: 'extraction.failed', sequence: 1, final: true, records: [], extraction_id: job.id },
    ]);
  });

  test('A cancelled job leads to one delivery without records, and counts as delivered', async () => {
    const id = await client.started(books(1, toWebhook(), 'held'));
    await client.inStatus(id, 'running');
    await client.ask('POST', `/v1/extractions/${id}/cancel`);
    expect((await delivered(id)).delivery.status).toBe('delivered');
    expect(receiver.arrivals.map(payloadOf)).toMatchObject([{ event: 'extraction.failed', final: true }]);
  });

  test('After a permanent failure of a delivery nothing follows, and the records can be fetched', async () => {
    receiver.answers(200, 410);
    const job = await delivered(await client.started(books(30, toWebhook({ batch_size: 10 }))));
    expect(job).toMatchObject({ status: 'succeeded', delivery: { status: 'failed' } });
    expect(receiver.arrivals.map((arrival) => payloadOf(arrival).sequence)).toEqual([1, 2]);
    expect(seqsOf(await client.allRecords(job.id))).toEqual(oneTo(30));
  });

  test('The log of the service contains neither the secret nor the URL of a delivery', async () => {
    receiver.answers(410);
    const { json } = await client.create(books(1, toWebhook({ url: `${receiver.url}?token=hidden` })));
    await delivered(String(json['id']));
    const line = await eventually('the line', () =>
      Promise.resolve(server.stdout().includes('could not be delivered') ? true : null),
    );
    expect(line).toBe(true);
    expect(server.stdout()).not.toContain('hidden');
    expect(server.stdout()).not.toContain((json['delivery'] as { secret: string }).secret);
  });
});

describe('a process that ends', () => {
  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'After %s between two batches and during an upload, all deliveries continue after the next start, without gaps or abandoned parts',
    async (signal) => {
      let isDown = true;
      const [s3, request] = await startStorage(({ what }) =>
        isDown && what.startsWith('part') ? { kind: 'refuse', status: 503, code: 'SlowDown' } : null,
      );
      const uploaded = await client.started(books(LARGE_COUNT, { ...LARGE, ...request }, 'wide'));
      await eventually('a part on its way', () =>
        Promise.resolve(s3.requests.some(({ what }) => what === 'part 1') ? true : null),
      );
      receiver.answers(200, 503, 200);
      const posted = await client.started(books(250, { ...ALL, ...toWebhook({ batch_size: 100 }) }));
      await receiver.arrived(2);
      expect(await server.stop(signal)).toBe(signal === 'SIGKILL' ? null : 0);
      isDown = false;
      expect(s3.uploads.size).toBe(1);

      await start();
      for (const id of [posted, uploaded]) expect((await delivered(id)).delivery.status).toBe('delivered');
      const payloads = receiver.arrivals.map(payloadOf);
      const bySequence = new Map(payloads.map((payload) => [payload.sequence, payload]));
      expect(new Set(bySequence.keys())).toEqual(new Set([1, 2, 3, 4]));
      expect(seqsOf([...bySequence.values()].flatMap(({ records }) => records))).toEqual(oneTo(250));
      // Repeated deliveries had the same body and id.
      expect(new Set(receiver.arrivals.map(({ body }) => body.toString())).size).toBe(4);
      expect(new Set(receiver.arrivals.map(({ headers }) => headers['webhook-id'])).size).toBe(4);
      expect(s3.uploads.size).toBe(0);
      expect(seqsOf(storedLines(s3, uploaded))).toEqual(oneTo(LARGE_COUNT));
    },
    180_000,
  );
});

const STORAGE = {
  bucket: 'results',
  region: 'eu-central-1',
  accessKeyId: 'AKIAEXAMPLE',
  secretAccessKey: 'secret/Of+The=Bucket',
};

/** Starts a storage server on this machine. Returns it with the part of a request that delivers to it. */
async function startStorage(
  misbehave?: S3ServerOptions['misbehave'],
): Promise<[s3: S3Server, request: { output: object; delivery: object }]> {
  const s3 = await startS3Server({ ...STORAGE, ...(misbehave !== undefined && { misbehave }) });
  onTestFinished(() => s3.close());
  const destination = {
    kind: 's3',
    endpoint: s3.url,
    bucket: STORAGE.bucket,
    region: STORAGE.region,
    prefix: 'runs/',
    access_key_id: STORAGE.accessKeyId,
    secret_access_key: STORAGE.secretAccessKey,
  };
  return [s3, { output: { format: 'ndjson' }, delivery: { type: 'destination', destination } }];
}

function storedLines(s3: S3Server, id: string): readonly ExtractedRecord[] {
  const object = s3.objects.get(`${STORAGE.bucket}/runs/${id}.ndjson`);
  return (object?.body.toString().trimEnd().split('\n') ?? []).map((line) => JSON.parse(line) as ExtractedRecord);
}

describe('to S3', () => {
  test('A small result is stored in S3 as one object, under the prefix and the job’s id', async () => {
    const [s3, request] = await startStorage();
    const job = await delivered(await client.started(books(250, { ...ALL, ...request })));
    expect(job).toMatchObject({ status: 'succeeded', delivery: { type: 'destination', status: 'delivered' } });
    expect([...s3.objects.keys()]).toEqual([`results/runs/${job.id}.ndjson`]);
    expect(seqsOf(storedLines(s3, job.id))).toEqual(oneTo(250));
    expect(s3.requests.map(({ what }) => what)).toEqual(['put']);
    expect((await client.records(job.id)).json).toMatchObject({ status: 409, code: 'records_delivered' });
  });

  test('A CSV result in S3 has its header and the columns of the job', async () => {
    const [s3, { delivery }] = await startStorage();
    const output = { format: 'csv', fields: ['id', 'title'] };
    const job = await delivered(await client.started(books(2, { output, delivery })));
    const lines = s3.objects.get(`results/runs/${job.id}.csv`)?.body.toString().split('\r\n') ?? [];
    expect(lines[0]).toBe('id,title,_meta.id,_meta.seq,_meta.source_url,_meta.fetched_at');
    expect(lines.slice(1, 3).map((line) => line.split(',')[0])).toEqual(['OL27448W', 'OL27449W']);
  });

  test('A large result is uploaded to S3 in parts and becomes one object', async () => {
    const [s3, request] = await startStorage();
    const job = await delivered(await client.started(books(LARGE_COUNT, { ...LARGE, ...request }, 'wide')));
    expect(job.delivery.status).toBe('delivered');
    expect(seqsOf(storedLines(s3, job.id))).toEqual(oneTo(LARGE_COUNT));
    expect(s3.requests.map(({ what }) => what)).toEqual(['begin', 'part 1', 'part 2', 'complete']);
    expect(s3.uploads.size).toBe(0);
  }, 180_000);

  test('An upload to a storage that fails temporarily is retried', async () => {
    const [s3, request] = await startStorage(({ what, time }) =>
      what === 'put' && time <= 2 ? { kind: 'refuse', status: 503, code: 'SlowDown' } : null,
    );
    const job = await delivered(await client.started(books(1, request)));
    expect(job.delivery.status).toBe('delivered');
    expect(s3.requests.map(({ status }) => status)).toEqual([503, 503, 200]);
  });

  test('A permanent rejection by the storage ends the delivery, and the records can be fetched', async () => {
    const [s3, request] = await startStorage(() => ({ kind: 'refuse', status: 403, code: 'AccessDenied' }));
    const job = await delivered(await client.started(books(3, request)));
    expect(job).toMatchObject({ status: 'succeeded', delivery: { status: 'failed' } });
    expect(s3.requests).toHaveLength(1);
    expect((await client.records(job.id, '?format=json')).json['records']).toHaveLength(3);
    expect(server.stdout()).not.toContain(STORAGE.secretAccessKey);
  });

  test('Nothing is uploaded for a failed job', async () => {
    const [s3, request] = await startStorage();
    const job = await client.run({ ...books(1, request), input: { query: 'missing' } });
    expect(job).toMatchObject({ status: 'failed', delivery: { type: 'destination', status: 'failed' } });
    expect(s3.requests).toEqual([]);
  });
});

describe('by PUT', () => {
  test('A result by PUT is the body of one request, whose URL keeps its query and appears in no response or log', async () => {
    const arrivals: { method: string; target: string; type: string; body: Buffer }[] = [];
    const place = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url: target = '', headers } = request;
        arrivals.push({ method, target, type: headers['content-type'] ?? '', body: Buffer.concat(chunks) });
        response.writeHead(201).end();
      });
    });
    place.listen(0, '127.0.0.1');
    await once(place, 'listening');
    onTestFinished(() => void place.close());
    const url = `http://127.0.0.1:${(place.address() as AddressInfo).port}/out.json?signature=hidden`;
    const delivery = { type: 'destination', destination: { kind: 'http_put', url } };
    const job = await delivered(await client.started(books(120, { ...ALL, delivery })));
    expect(job.delivery).toEqual({ type: 'destination', status: 'delivered' });
    expect(arrivals).toMatchObject([{ method: 'PUT', target: '/out.json?signature=hidden', type: 'application/json' }]);
    const records = JSON.parse(arrivals[0]?.body.toString() ?? '[]') as ExtractedRecord[];
    expect(seqsOf(records)).toEqual(oneTo(120));
    expect(JSON.stringify(job)).not.toContain('hidden');
    expect(server.stdout()).not.toContain('hidden');
  });
});

describe('to a blocked address', () => {
  const BLOCKED = 'http://169.254.169.254/latest';
  test.each([
    ['/delivery/url', { type: 'webhook', url: BLOCKED }],
    ['/delivery/destination/url', { type: 'destination', destination: { kind: 'http_put', url: BLOCKED } }],
    [
      '/delivery/destination/endpoint',
      {
        type: 'destination',
        destination: {
          kind: 's3',
          endpoint: BLOCKED,
          bucket: 'results',
          access_key_id: 'a',
          secret_access_key: 'b',
        },
      },
    ],
  ])(
    'A job with a blocked address at %s is rejected with 422 blocked_url before anything is fetched',
    async (pointer, delivery) => {
      const asked = source.targets.length;
      const { json } = await client.create(books(1, { delivery }));
      expect(json).toMatchObject({ status: 422, code: 'blocked_url', errors: [{ pointer }] });
      expect(source.targets).toHaveLength(asked);
    },
  );
});

describe('no external delivery', () => {
  test('A job without external delivery is delivered as soon as it has succeeded', async () => {
    expect((await client.run(books(1))).delivery).toEqual({ type: 'store', status: 'delivered' });
    const { json } = await client.create(books(1, { delivery: { type: 'sync' } }));
    expect(json['delivery']).toEqual({ type: 'sync', status: 'delivered' });
  });

  test('The delivery of a job without external delivery is pending before its end, and failed when the job fails', async () => {
    const id = await client.started(books(1, {}, 'held'));
    expect((await client.job(id)).delivery).toEqual({ type: 'store', status: 'pending' });
    await client.ask('POST', `/v1/extractions/${id}/cancel`);
    expect((await client.job(id)).delivery).toEqual({ type: 'store', status: 'failed' });
  });
});
