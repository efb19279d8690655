import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MessageChannel } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import type { RecordReader } from '../../../../src/extract/sinks/batches.ts';
import type { UploadTask } from '../../../../src/extract/sinks/upload.ts';
import { UploadRunner } from '../../../../src/extract/sinks/upload-runner.ts';
import { Uploads } from '../../../../src/extract/sinks/uploads.ts';
import { createGuardedClient } from '../../../../src/egress/guarded-client.ts';
import type { ExtractOrder, UploadSignal } from '../../../../src/extract/base/extract-messages.ts';
import { startS3Server } from '../../../support/s3-server.ts';
import { settle, VirtualTime } from '../../webhooks/virtual-time.ts';
import { chunksOf, fileOf, readerOf } from './support.ts';

/** Both sides of uploads, connected by a port as between two threads. */

interface Place {
  readonly url: string;
  readonly bodies: readonly string[];
}

/** Accepts any upload. `status` is its response status; null for no response at all. */
async function startPlace(status: number | null): Promise<Place> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString());
      if (status !== null) response.writeHead(status).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`, bodies };
}

interface Bench {
  readonly uploads: Uploads;
  readonly runner: UploadRunner;
  readonly client: ReturnType<typeof createGuardedClient>;
  readonly time: VirtualTime;
  readonly heard: UploadSignal[];
}

function begin(): Bench {
  const { port1, port2 } = new MessageChannel();
  const time = new VirtualTime();
  const client = createGuardedClient({ allow: ['127.0.0.0/8'] });
  const heard: UploadSignal[] = [];
  const uploads = new Uploads({
    send(order) {
      port1.postMessage(order);
      return true;
    },
    wakeWorker() {},
  });
  const runner = new UploadRunner({
    client,
    nowMs: () => Date.now(),
    random: () => 0.5,
    after: (ms, then) => time.after(ms, then),
    say: (signal) => port2.postMessage(signal),
  });
  port1.on('message', (signal: UploadSignal) => {
    heard.push(signal);
    uploads.hear(signal);
  });
  port2.on('message', (order: Extract<ExtractOrder, { kind: 'upload' | 'answer' }>) => runner.order(order));
  onTestFinished(() => {
    port1.close();
    client.close();
  });
  return { uploads, runner, client, time, heard };
}

function putTask(url: string, records: number): UploadTask {
  return { kind: 'task', file: fileOf(records), to: { kind: 'http_put', url }, uploadId: null };
}

const KEEP_NOTHING = { saveUpload: () => Promise.resolve() };

test('records are transferred in parts and arrive complete, and an upload waits for the worker', async () => {
  const { uploads, heard } = begin();
  const place = await startPlace(204);
  const reader = readerOf(chunksOf([700, 700, 3], () => 'x'.repeat(400)));
  const sending = uploads.run(putTask(place.url, 1_403), { ...KEEP_NOTHING, reader });
  await settle();
  expect(heard).toEqual([]);
  uploads.workerReady();
  const sent = await sending;
  expect(sent).toEqual({ kind: 'sent', bytes: place.bodies[0]?.length });
  const lines = place.bodies[0]?.trimEnd().split('\n') ?? [];
  expect(lines).toHaveLength(1_403);
  expect(JSON.parse(lines[1_402] ?? '')).toMatchObject({ id: 'r1402', _meta: { seq: 1_403 } });
  expect(heard.filter(({ kind }) => kind === 'ask').length).toBeGreaterThan(2);
});

test('a read failure on the main thread ends the attempt, and missing records end the delivery', async () => {
  const { uploads } = begin();
  uploads.workerReady();
  const { url } = await startPlace(204);
  const broken: RecordReader = {
    read() {
      throw new Error('the store is closed');
    },
  };
  expect(await uploads.run(putTask(url, 3), { ...KEEP_NOTHING, reader: broken })).toMatchObject({
    error: 'internal_error',
    isFinal: false,
  });
  const empty: RecordReader = { read: () => ({ chunks: [], nextSeq: null }) };
  expect(await uploads.run(putTask(url, 3), { ...KEEP_NOTHING, reader: empty })).toMatchObject({
    error: 'records_missing',
    isFinal: true,
  });
});

test('the uploads of a worker that dies fail, later ones wait for the next worker, and none starts after a stop', async () => {
  const orders: ExtractOrder['kind'][] = [];
  const uploads = new Uploads({ send: ({ kind }) => orders.push(kind) > 0, wakeWorker() {} });
  uploads.workerReady();
  const source = { ...KEEP_NOTHING, reader: readerOf([]) };
  const first = uploads.run(putTask('http://127.0.0.1:1/', 1), source);
  await settle();
  uploads.workerEnded();
  expect(await first).toMatchObject({ kind: 'failed', error: 'internal_error', isFinal: false });
  const second = uploads.run(putTask('http://127.0.0.1:1/', 1), source);
  await settle();
  expect(orders).toEqual(['upload']);
  uploads.workerReady();
  await settle();
  uploads.hear({ kind: 'uploaded', upload: 1, sentJson: '{"kind":"sent","bytes":1}' });
  uploads.hear({ kind: 'uploaded', upload: 2, sentJson: '{"kind":"sent","bytes":2}' });
  expect(await second).toEqual({ kind: 'sent', bytes: 2 });
  uploads.stop();
  expect(await uploads.run(putTask('http://127.0.0.1:1/', 1), source)).toMatchObject({ error: 'shutdown' });
});

test('a stop ends running uploads, waiting retries and reads as shutdown', async () => {
  const { uploads, runner, client, time } = begin();
  uploads.workerReady();
  const hanging = await startPlace(null);
  const options = { bucket: 'results', region: 'eu-central-1', accessKeyId: 'id', secretAccessKey: 'secret' };
  const s3 = await startS3Server({ ...options, misbehave: () => ({ kind: 'refuse', status: 503, code: 'SlowDown' }) });
  onTestFinished(() => s3.close());
  const reader = readerOf(chunksOf([3]));
  const onItsWay = uploads.run(putTask(hanging.url, 3), { ...KEEP_NOTHING, reader });
  const { bucket, region, accessKeyId, secretAccessKey } = options;
  const to = {
    kind: 's3',
    destination: { endpoint: s3.url, bucket, region, prefix: '' },
    credentials: { accessKeyId, secretAccessKey },
  } as const;
  const waiting = uploads.run({ ...putTask('', 3), to }, { ...KEEP_NOTHING, reader });
  const never: RecordReader = { read: () => new Promise(() => {}) };
  const reading = uploads.run(putTask(hanging.url, 3), { ...KEEP_NOTHING, reader: never });
  while (hanging.bodies.length === 0 || time.timers === 0) await new Promise((turn) => setImmediate(turn));
  void runner.stop();
  client.close();
  for (const sent of await Promise.all([onItsWay, waiting])) expect(sent).toMatchObject({ error: 'shutdown' });
  // The worker ended before it got a response.
  uploads.stop();
  expect(await reading).toMatchObject({ error: 'shutdown' });
});

test('the id of a multipart upload is stored before its first part is sent', async () => {
  const { uploads } = begin();
  uploads.workerReady();
  const options = { bucket: 'results', region: 'eu-central-1', accessKeyId: 'id', secretAccessKey: 'secret' };
  const saved: (string | null)[] = [];
  const s3 = await startS3Server({
    ...options,
    misbehave({ what }) {
      if (what === 'part 1') expect(saved).toHaveLength(1);
      return null;
    },
  });
  onTestFinished(() => s3.close());
  const reader = readerOf(
    chunksOf(
      Array.from({ length: 90 }, () => 100),
      () => 'y'.repeat(1_000),
    ),
  );
  const { bucket, region, accessKeyId, secretAccessKey } = options;
  const destination = { endpoint: s3.url, bucket, region, prefix: '' };
  const to = { kind: 's3', destination, credentials: { accessKeyId, secretAccessKey } } as const;
  const saveUpload = (id: string | null): Promise<void> => {
    saved.push(id);
    return Promise.resolve();
  };
  const sent = await uploads.run({ ...putTask('', 9_000), to }, { reader, saveUpload });
  expect(sent.kind).toBe('sent');
  expect(saved).toEqual([expect.any(String), null]);
});
