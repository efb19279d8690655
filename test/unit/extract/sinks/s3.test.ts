import { afterEach, describe, expect, test } from 'vitest';
import { PART_BYTES, putToS3, type S3Task, type SentPart } from '../../../../src/extract/sinks/s3.ts';
import { IS_FULL } from '../../../support/long.ts';
import { type Misconduct, type S3Server, type SeenRequest, startS3Server } from '../../../support/s3-server.ts';
import { chunksOf, fileOf, partsOf, readerOf, recordOf, type TestParts } from './support.ts';

const CREDENTIALS = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
const KEY = 'results/exports of/ä+1/ext_01J0000000000000000000DEL0';
const PREFIX = 'exports of/ä+1/';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Run {
  readonly server: S3Server;
  readonly parts: TestParts;
  readonly sent: SentPart;
  readonly seen: readonly string[];
}

/** `misbehave`: maps `what` of a request and its number to a misconduct. */
type Faults = Readonly<Record<string, Misconduct>>;

async function run(
  task: Partial<S3Task> & Pick<S3Task, 'file'>,
  { sizes, text, faults = {} }: { sizes: readonly number[]; text?: () => string; faults?: Faults },
  adapt: (parts: TestParts, server: S3Server) => void = () => {},
): Promise<Run> {
  const misbehave = ({ what, time }: SeenRequest): Misconduct | null =>
    faults[`${what} #${time}`] ?? faults[what] ?? null;
  const server = await startS3Server({ bucket: 'results', region: 'eu-1', ...CREDENTIALS, misbehave });
  const parts = partsOf(readerOf(text === LARGE_JOB.text ? largeChunks(sizes) : chunksOf(sizes, text)));
  closing.push(
    () => parts.client.close(),
    () => server.close(),
  );
  adapt(parts, server);
  const destination = { endpoint: server.url, bucket: 'results', region: 'eu-1', prefix: PREFIX };
  const sent = await putToS3({ destination, credentials: CREDENTIALS, uploadId: null, ...task }, parts);
  const seen = server.requests.map(({ what, status }) => `${what} ${status}`);
  return { server, parts, sent, seen };
}

/** 20 KB per record. */
const LARGE = 'x'.repeat(20_000);
/** Two complete parts and a piece of a third. */
const LARGE_COUNT = 850;
const LARGE_JOB = { sizes: Array.from({ length: 17 }, () => 50), text: () => LARGE };
const LARGE_FILE = fileOf(LARGE_COUNT);

/** Four parts, so that each of the two buffers is used again. Ten in the full run. */
const MANY_COUNT = IS_FULL ? 4_000 : 1_500;

const madeLarge = new Map<readonly number[], ReturnType<typeof chunksOf>>();
/** Created once, because nothing writes to chunks. */
function largeChunks(sizes: readonly number[]): ReturnType<typeof chunksOf> {
  const chunks = madeLarge.get(sizes) ?? chunksOf(sizes, LARGE_JOB.text);
  madeLarge.set(sizes, chunks);
  return chunks;
}

function expectedNdjson(count: number, text: string): string {
  return Array.from({ length: count }, (_, seq) => {
    const { _meta, ...fields } = recordOf(seq, text);
    return `${JSON.stringify({ ...fields, _meta: { ...(_meta as object), seq: seq + 1 } })}\n`;
  }).join('');
}

describe('putToS3 with a result smaller than a part', () => {
  test('a small result is put as one object in one request, under prefix, id and extension', async () => {
    const { server, sent, seen } = await run({ file: fileOf(5) }, { sizes: [2, 3] });
    expect(seen).toEqual(['put 200']);
    const object = server.objects.get(`${KEY}.ndjson`);
    const expected = expectedNdjson(5, 'ä "quoted", two\nlines');
    expect(object?.body.toString()).toBe(expected);
    expect(object?.contentType).toBe('application/x-ndjson');
    expect(sent).toEqual({ kind: 'sent', bytes: Buffer.byteLength(expected) });
  });

  test('a result without records is an empty file', async () => {
    const { server } = await run({ file: fileOf(0, { format: 'json' }) }, { sizes: [] });
    expect(server.objects.get(`${KEY}.json`)).toMatchObject({
      body: Buffer.from('[]'),
      contentType: 'application/json',
    });
  });

  test('a request is retried with growing waits while the service is slow, and then succeeds', async () => {
    const slow: Misconduct = { kind: 'refuse', status: 503, code: 'SlowDown' };
    const faults = { 'put #1': slow, 'put #2': { kind: 'reset' }, 'put #3': { ...slow, status: 500 } } as const;
    const { sent, seen, parts } = await run({ file: fileOf(1) }, { sizes: [1], faults });
    expect(sent.kind).toBe('sent');
    expect(seen).toEqual(['put 503', 'put 0', 'put 500', 'put 200']);
    // When a kept connection was cut, the client repeats the request on a new one without a wait.
    expect(parts.waits.map(Math.round)).toEqual([500, 999]);
  });

  test('a request waits as long as the service asks, within limits', async () => {
    const busy: Misconduct = { kind: 'refuse', status: 503, code: 'SlowDown', retryAfter: '7' };
    const { parts } = await run(
      { file: fileOf(1) },
      { sizes: [1], faults: { 'put #1': busy, 'put #2': { ...busy, retryAfter: '86400' } } },
    );
    expect(parts.waits).toEqual([7_000, 20_000]);
  });

  test('a 200 response with an error in its body does not count as success', async () => {
    const faults: Faults = { 'put #1': { kind: 'error_in_200', code: 'InternalError' } };
    const { seen, server } = await run({ file: fileOf(1) }, { sizes: [1], faults });
    expect(seen).toEqual(['put 200', 'put 200']);
    expect(server.objects.size).toBe(1);
  });

  test('an upload is given up for now after five attempts', async () => {
    const slow: Misconduct = { kind: 'refuse', status: 503, code: 'SlowDown' };
    const { sent, seen } = await run({ file: fileOf(1) }, { sizes: [1], faults: { put: slow } });
    expect(seen).toHaveLength(5);
    expect(sent).toMatchObject({ kind: 'failed', error: 'http_status', isFinal: false });
  });

  test.each([
    ['a wrong secret', { credentials: { ...CREDENTIALS, secretAccessKey: 'another' } }, 'SignatureDoesNotMatch'],
    ['an unknown key', { credentials: { ...CREDENTIALS, accessKeyId: 'AKIDOTHER' } }, 'InvalidAccessKeyId'],
  ])('an upload with %s is rejected at once and permanently, and no secret is repeated', async (_name, task, code) => {
    const { sent, seen } = await run({ file: fileOf(1), ...task }, { sizes: [1] });
    expect(seen).toEqual(['put 403']);
    expect(sent).toMatchObject({
      kind: 'failed',
      error: 'http_status',
      isFinal: true,
      detail: `PUT answered 403 ${code}`,
    });
    expect(JSON.stringify(sent)).not.toMatch(/another|AKID|leaked|wJalr/);
  });

  test('nothing is sent to an invalid destination', async () => {
    const { sent, seen } = await run(
      { file: fileOf(1), credentials: { ...CREDENTIALS, accessKeyId: 'two\nlines' } },
      { sizes: [1] },
    );
    expect(seen).toEqual([]);
    expect(sent).toMatchObject({ error: 'bad_destination', isFinal: true });
  });

  test('nothing is put when a record is missing', async () => {
    const attempt = run({ file: fileOf(9) }, { sizes: [2, 3] });
    await expect(attempt).rejects.toThrow('the job has no record 5');
  });

  test('a request is not retried when the service stops meanwhile', async () => {
    const slow: Misconduct = { kind: 'refuse', status: 503, code: 'SlowDown' };
    const { sent, seen } = await run({ file: fileOf(1) }, { sizes: [1], faults: { put: slow } }, (parts) => {
      parts.stopping = true;
    });
    expect(seen).toHaveLength(1);
    expect(sent).toMatchObject({ kind: 'failed', error: 'shutdown' });
  });
});

describe('putToS3 with a larger result', () => {
  test('a large result is sent completely in parts, and the upload id is stored only while the upload is open', async () => {
    const { server, sent, seen, parts } = await run({ file: LARGE_FILE }, LARGE_JOB);
    const expected = expectedNdjson(LARGE_COUNT, LARGE);
    expect(seen).toEqual(['begin 200', 'part 1 200', 'part 2 200', 'part 3 200', 'complete 200']);
    expect(server.requests.slice(1, 4).map(({ bodyBytes }) => bodyBytes)).toEqual([
      PART_BYTES,
      PART_BYTES,
      expected.length - 2 * PART_BYTES,
    ]);
    const object = server.objects.get(`${KEY}.ndjson`);
    expect(object?.body.equals(Buffer.from(expected))).toBe(true);
    expect(object?.contentType).toBe('application/x-ndjson');
    expect(sent).toEqual({ kind: 'sent', bytes: expected.length });
    expect(parts.saved).toEqual([expect.stringContaining('+/=.~'), null]);
  });

  test('at most two parts are in memory, however large the result is', async () => {
    const buffers = new Set<ArrayBufferLike>();
    const { sent } = await run(
      { file: fileOf(MANY_COUNT) },
      { sizes: Array.from({ length: MANY_COUNT / 100 }, () => 100), text: () => LARGE },
      (parts) => {
        const { client } = parts;
        const request: typeof client.request = (given) => {
          if (given.method === 'PUT' && typeof given.body === 'object' && given.body !== null)
            buffers.add(given.body.buffer);
          return client.request(given);
        };
        Object.assign(parts, { client: { ...client, request } });
      },
    );
    expect(sent).toMatchObject({ kind: 'sent' });
    expect(buffers.size).toBe(2);
    expect([...buffers].map((buffer) => buffer.byteLength)).toEqual([PART_BYTES, PART_BYTES]);
  });

  test('each part is retried separately', async () => {
    const faults: Faults = {
      'part 1 #1': { kind: 'reset' },
      'part 2 #1': { kind: 'refuse', status: 500, code: 'InternalError' },
      'part 2 #2': { kind: 'no_etag' },
      'part 3 #1': { kind: 'done_then_reset' },
    };
    const { server, sent, seen } = await run({ file: LARGE_FILE }, { ...LARGE_JOB, faults: { ...faults } });
    // A part without an ETag is invalid: the upload ends, and the schedule repeats it.
    expect(sent).toMatchObject({ kind: 'failed', isFinal: false, detail: 'the response to a part has no ETag' });
    expect(seen.at(-1)).toBe('abort 204');
    expect(server.uploads.size).toBe(0);
    const { 'part 2 #2': _, ...passing } = faults;
    const page: Misconduct = { kind: 'text_200', text: '<html>proxy</html>' };
    const second = await run({ file: LARGE_FILE }, { ...LARGE_JOB, faults: { ...passing, 'begin #1': page } });
    expect(second.sent.kind).toBe('sent');
    expect(second.seen).toEqual([
      'begin 200',
      'begin 200',
      'part 1 0',
      'part 1 200',
      'part 2 500',
      'part 2 200',
      'part 3 0',
      'part 3 200',
      'complete 200',
    ]);
    expect(second.server.objects.get(`${KEY}.ndjson`)?.body.toString()).toBe(expectedNdjson(LARGE_COUNT, LARGE));
  });

  test('completing is retried when the response is 200 with an error in its body', async () => {
    const faults: Faults = {
      'complete #1': { kind: 'error_in_200', code: 'InternalError' },
      'complete #2': { kind: 'text_200', text: '' },
    };
    const { sent, seen, server } = await run({ file: LARGE_FILE }, { ...LARGE_JOB, faults });
    // The second attempt succeeded, so the third finds no upload. The object has the right length and checksum.
    expect(seen.slice(-4)).toEqual(['complete 200', 'complete 200', 'complete 404', 'head 200']);
    expect(sent.kind).toBe('sent');
    expect(server.uploads.size).toBe(0);
  });

  test('a result counts as delivered when only the response to its completion was lost', async () => {
    const { sent, seen } = await run(
      { file: LARGE_FILE },
      { ...LARGE_JOB, faults: { 'complete #1': { kind: 'done_then_reset' } } },
    );
    expect(seen.slice(-3)).toEqual(['complete 0', 'complete 404', 'head 200']);
    expect(sent.kind).toBe('sent');
  });

  test('a result does not count as delivered when the upload is gone and there is no object', async () => {
    const faults: Faults = {
      'complete #1': { kind: 'reset' },
      'complete #2': { kind: 'refuse', status: 404, code: 'NoSuchUpload' },
    };
    const { sent, seen } = await run({ file: LARGE_FILE }, { ...LARGE_JOB, faults });
    expect(seen).toContain('head 404');
    expect(sent).toMatchObject({ kind: 'failed', isFinal: false });
  });

  test('a permanent failure leaves no parts behind', async () => {
    const denied: Misconduct = { kind: 'refuse', status: 403, code: 'AccessDenied' };
    const { sent, seen, server, parts } = await run(
      { file: LARGE_FILE },
      { ...LARGE_JOB, faults: { 'part 2': denied } },
    );
    expect(sent).toMatchObject({ kind: 'failed', isFinal: true });
    expect(seen).toEqual(['begin 200', 'part 1 200', 'part 2 403', 'abort 204']);
    expect(server.uploads.size).toBe(0);
    expect(parts.saved.at(-1)).toBeNull();
  });

  test('missing records in the middle leave no parts behind', async () => {
    const parts: { saved: readonly (string | null)[]; server?: S3Server } = { saved: [] };
    const attempt = run({ file: fileOf(2_000) }, LARGE_JOB, (test, server) =>
      Object.assign(parts, { saved: test.saved, server }),
    );
    await expect(attempt).rejects.toThrow('the job has no record 850');
    expect(parts.server?.uploads.size).toBe(0);
    expect(parts.saved.at(-1)).toBeNull();
  });

  test('an upload that could not be aborted is stored, and the next attempt aborts it first', async () => {
    const slow: Misconduct = { kind: 'refuse', status: 503, code: 'SlowDown' };
    const faults: Faults = {
      'part 1': slow,
      'abort #1': slow,
      'abort #2': slow,
      'abort #3': slow,
      'abort #4': slow,
      'abort #5': slow,
    };
    const { server, sent, parts } = await run({ file: LARGE_FILE }, { ...LARGE_JOB, faults });
    expect(sent).toMatchObject({ kind: 'failed', isFinal: false });
    expect(server.uploads.size).toBe(1);
    expect(parts.saved).toEqual([...server.uploads.keys()]);
    const destination = { endpoint: server.url, bucket: 'results', region: 'eu-1', prefix: PREFIX };
    const [uploadId = null] = parts.saved;
    const again = await putToS3({ file: fileOf(5), destination, credentials: CREDENTIALS, uploadId }, parts);
    expect(again.kind).toBe('sent');
    expect(server.requests.slice(-2).map(({ what }) => what)).toEqual(['abort', 'put']);
    expect(server.uploads.size).toBe(0);
    expect(parts.saved.at(-1)).toBeNull();
  });

  test('an upload that the stop of the service interrupts stays open and stored', async () => {
    const { sent, server, parts } = await run(
      { file: LARGE_FILE },
      { ...LARGE_JOB, faults: { 'part 2': { kind: 'reset' } } },
      (parts) => {
        parts.stopping = true;
      },
    );
    expect(sent).toMatchObject({ kind: 'failed', error: 'shutdown' });
    expect(parts.saved).toEqual([...server.uploads.keys()]);
  });

  test('the server rejects a body that was changed in transit', async () => {
    const { sent } = await run({ file: fileOf(1) }, { sizes: [1] }, (parts) => {
      const { client } = parts;
      Object.assign(parts, {
        client: {
          ...client,
          request: (given: Parameters<typeof client.request>[0]) => client.request({ ...given, body: 'changed' }),
        },
      });
    });
    expect(sent).toMatchObject({ kind: 'failed', detail: 'PUT answered 400 XAmzContentSHA256Mismatch' });
  });
});
