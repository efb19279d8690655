import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { putResult } from '../../../../src/extract/sinks/http-put.ts';
import { upload, uploadTaskOf } from '../../../../src/extract/sinks/upload.ts';
import { chunksOf, COLUMNS, deliveryOf, fileOf, jobOf, partsOf, readerOf, type TestParts } from './support.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly type: string;
  readonly length: string;
  readonly body: string;
}

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function receiver(listener: RequestListener): Promise<{ readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const body = Buffer.concat(chunks).toString();
      seen.push({ method, url, body, type: headers['content-type'] ?? '', length: headers['content-length'] ?? '' });
      listener(request, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/put?token=t`, seen };
}

function parts(sizes: readonly number[]): TestParts {
  const made = partsOf(readerOf(chunksOf(sizes)));
  closing.push(() => made.client.close());
  return made;
}

test('putResult sends the whole result, with its type and length, to the unchanged URL', async () => {
  const { url, seen } = await receiver((_, response) => response.writeHead(201).end());
  const sent = await putResult(fileOf(3, { format: 'csv', columns: COLUMNS }), url, parts([1, 2]));
  const [request] = seen;
  expect(request).toMatchObject({ method: 'PUT', url: '/put?token=t', type: 'text/csv; charset=utf-8' });
  expect(request?.body.split('\r\n')[0]).toBe('id,text,_meta.id,_meta.seq,_meta.source_url,_meta.fetched_at');
  expect(Number(request?.length)).toBe(Buffer.byteLength(request?.body ?? ''));
  expect(sent).toEqual({ kind: 'sent', bytes: Number(request?.length) });
});

test.each([
  [500, 'http_status', false],
  [404, 'http_status', false],
  [307, 'redirect_blocked', false],
  [410, 'gone', true],
])('putResult fails on the response status %i', async (status, error, isFinal) => {
  const { url, seen } = await receiver((_, response) => response.writeHead(status, { location: '/else' }).end());
  const sent = await putResult(fileOf(1), url, parts([1]));
  expect(sent).toEqual({ kind: 'failed', error, detail: `PUT answered ${status}`, isFinal });
  expect(seen).toHaveLength(1);
});

test('putResult fails for a blocked address', async () => {
  const sent = await putResult(fileOf(1), 'http://169.254.169.254/latest', parts([1]));
  expect(sent).toMatchObject({ kind: 'failed', error: 'blocked_address' });
});

test('putResult sends a result up to the size limit and not beyond', async () => {
  const { url, seen } = await receiver((_, response) => response.end());
  await putResult(fileOf(4), url, parts([4]));
  const bytes = Number(seen[0]?.length);
  expect(await putResult(fileOf(4), url, parts([4]), bytes)).toEqual({ kind: 'sent', bytes });
  expect(await putResult(fileOf(4), url, parts([4]), bytes - 1)).toMatchObject({ error: 'too_large', isFinal: true });
  expect(seen).toHaveLength(2);
});

test('missing records and other failures are returned as outcomes', async () => {
  const { url } = await receiver((_, response) => response.end());
  const task = { file: fileOf(9), to: { kind: 'http_put', url }, uploadId: null } as const;
  expect(await upload(task, parts([4]))).toMatchObject({ error: 'records_missing', isFinal: true });
  const broken = { ...parts([4]), reader: { read: () => Promise.reject(new Error('the store is stuck')) } };
  expect(await upload(task, broken)).toMatchObject({ error: 'internal_error', isFinal: false });
});

test('uploadTaskOf includes the separately stored secrets, and fails without them', () => {
  const put = jobOf(3, { delivery: deliveryOf({ kind: 'http_put', url: 'https://files.example/x' }) });
  const whole = 'https://files.example/x?signature=s';
  expect(uploadTaskOf(put, { url: whole }, COLUMNS, null)).toMatchObject({
    kind: 'task',
    file: { records: 3, format: 'json', columns: COLUMNS },
    to: { kind: 'http_put', url: whole },
  });
  const s3 = { endpoint: 'https://s3.example', bucket: 'b', region: 'r', prefix: '' };
  const toS3 = jobOf(3, { delivery: deliveryOf({ kind: 's3', s3 }) });
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
  expect(uploadTaskOf(toS3, credentials, [], 'open')).toMatchObject({
    to: { kind: 's3', destination: s3, credentials },
    uploadId: 'open',
  });
  for (const job of [put, toS3])
    expect(uploadTaskOf(job, null, [], null)).toMatchObject({ error: 'bad_destination', isFinal: true });
});
