import { createHash, createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SaxesParser } from 'saxes';

/**
 * A storage service on a loopback port that implements the part of the S3 interface used by uploads, path style. It enforces the published
 * rules: it verifies every signature, hashes every body, and checks the minimum size and the ETags of parts. Objects are kept in memory.
 * Tests can make it misbehave.
 */
export interface S3Server {
  readonly url: string;
  /** `bucket/key` → last stored object. */
  readonly objects: ReadonlyMap<string, StoredObject>;
  /** Uploads that are neither completed nor aborted: id → parts by number. */
  readonly uploads: ReadonlyMap<string, ReadonlyMap<number, StoredPart>>;
  /** Requests that arrived completely, including rejected ones. */
  readonly requests: readonly SeenRequest[];
  close(): Promise<void>;
}

export interface StoredObject {
  readonly body: Buffer;
  readonly contentType: string;
  readonly etag: string;
}

interface StoredPart {
  readonly body: Buffer;
  readonly etag: string;
}

export interface SeenRequest {
  /** `put`, `begin`, `part 3`, `complete`, `abort` or `head`. */
  readonly what: string;
  /** Counts from 1 over the requests with the same `what`. */
  readonly time: number;
  readonly bodyBytes: number;
  /** Status of the response; 0 when the connection was reset. */
  status: number;
}

export type Misconduct =
  /** Rejects the request without performing it. */
  | { readonly kind: 'refuse'; readonly status: number; readonly code: string; readonly retryAfter?: string }
  /** Resets the connection before (`reset`) or after (`done_then_reset`) performing the request. */
  | { readonly kind: 'reset' }
  | { readonly kind: 'done_then_reset' }
  /** Responds 200 with an error in the body. */
  | { readonly kind: 'error_in_200'; readonly code: string }
  | { readonly kind: 'no_etag' }
  | { readonly kind: 'text_200'; readonly text: string };

export interface S3ServerOptions {
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  nowMs?(): number;
  misbehave?(request: SeenRequest): Misconduct | null;
}

/** Source: Amazon S3 user guide, "Multipart upload limits". */
const PART_BYTES_MIN = 5 * 1024 * 1024;
const CLOCK_SKEW_MS_MAX = 15 * 60 * 1000;

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
  readonly key: string;
  readonly query: ReadonlyMap<string, string>;
  readonly conduct: Misconduct | null;
  readonly seen: SeenRequest;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message = '') {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export async function startS3Server(options: S3ServerOptions): Promise<S3Server> {
  const objects = new Map<string, StoredObject>();
  const uploads = new Map<string, Map<number, StoredPart>>();
  const types = new Map<string, string>();
  const requests: SeenRequest[] = [];

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    const { path, query } = readTarget(request.url ?? '');
    const what = whatOf(request.method ?? '', query);
    const time = requests.filter((other) => other.what === what).length + 1;
    const seen: SeenRequest = { what, time, bodyBytes: body.length, status: 0 };
    requests.push(seen);
    const conduct = options.misbehave?.(seen) ?? null;
    if (conduct?.kind === 'reset') {
      request.socket.resetAndDestroy();
      return;
    }
    const key = path.slice(1);
    const call: Call = { request, response, body, key, query, conduct, seen };
    try {
      verify(call, options);
      if (conduct?.kind === 'refuse') throw new Refusal(conduct.status, conduct.code);
      if (conduct?.kind === 'error_in_200') throw new Refusal(200, conduct.code);
      if (!key.startsWith(`${options.bucket}/`)) throw new Refusal(404, 'NoSuchBucket');
      const act = actions[seen.what.replace(/ .*/, '')];
      if (act === undefined) throw new Refusal(405, 'MethodNotAllowed');
      act(call);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (conduct?.kind === 'refuse' && conduct.retryAfter !== undefined)
        response.setHeader('retry-after', conduct.retryAfter);
      answer(call, error.status, {}, errorXml(error));
    }
  };

  const put = (call: Call): void => {
    const etag = md5Tag(call.body);
    objects.set(call.key, { body: call.body, etag, contentType: call.request.headers['content-type'] ?? '' });
    answer(call, 200, { etag }, '');
  };

  const begin = (call: Call): void => {
    // Ids of real services contain characters that are special in a query.
    const id = `${randomBytes(12).toString('base64')}+/=.~`;
    uploads.set(id, new Map());
    types.set(id, call.request.headers['content-type'] ?? '');
    const [bucket, ...rest] = call.key.split('/');
    const inner = `<Bucket>${bucket}</Bucket><Key>${escapeXml(rest.join('/'))}</Key><UploadId>${escapeXml(id)}</UploadId>`;
    answer(
      call,
      200,
      {},
      `${XML}<InitiateMultipartUploadResult xmlns="${NAMESPACE}">${inner}</InitiateMultipartUploadResult>`,
    );
  };

  const uploadOf = ({ query }: Call): { readonly id: string; readonly parts: Map<number, StoredPart> } => {
    const id = query.get('uploadId') ?? '';
    const parts = uploads.get(id);
    if (parts === undefined) throw new Refusal(404, 'NoSuchUpload');
    return { id, parts };
  };

  const part = (call: Call): void => {
    const number = Number(call.query.get('partNumber'));
    if (!Number.isInteger(number) || number < 1 || number > 10_000) throw new Refusal(400, 'InvalidArgument');
    const etag = md5Tag(call.body);
    uploadOf(call).parts.set(number, { body: call.body, etag });
    answer(call, 200, call.conduct?.kind === 'no_etag' ? {} : { etag }, '');
  };

  const complete = (call: Call): void => {
    const { id, parts } = uploadOf(call);
    const named = readComplete(call.body.toString());
    if (named.length === 0) throw new Refusal(400, 'MalformedXML');
    const chosen = named.map(({ number, etag }, index) => {
      if (index > 0 && number <= (named[index - 1]?.number ?? 0)) throw new Refusal(400, 'InvalidPartOrder');
      const stored = parts.get(number);
      if (stored === undefined || stored.etag !== etag) throw new Refusal(400, 'InvalidPart');
      if (index < named.length - 1 && stored.body.length < PART_BYTES_MIN) throw new Refusal(400, 'EntityTooSmall');
      return stored;
    });
    uploads.delete(id);
    const sums = chosen.map(({ body }) => createHash('md5').update(body).digest());
    const etag = `"${createHash('md5').update(Buffer.concat(sums)).digest('hex')}-${chosen.length}"`;
    const body = Buffer.concat(chosen.map((stored) => stored.body));
    objects.set(call.key, { body, etag, contentType: types.get(id) ?? '' });
    const inner = `<ETag>${escapeXml(etag)}</ETag>`;
    // Whitespace after the declaration keeps the connection of a long request alive in real services.
    answer(call, 200, {}, `${XML}\n  \n<CompleteMultipartUploadResult>${inner}</CompleteMultipartUploadResult>`);
  };

  const abort = (call: Call): void => {
    uploads.delete(uploadOf(call).id);
    answer(call, 204, {}, '');
  };

  const head = (call: Call): void => {
    const object = objects.get(call.key);
    if (object === undefined) throw new Refusal(404, 'NoSuchKey');
    call.response.setHeader('content-length', object.body.length);
    answer(call, 200, { etag: object.etag }, '');
  };

  const actions: Readonly<Record<string, (call: Call) => void>> = { put, begin, part, complete, abort, head };

  const server = createServer((request, response) => {
    handle(request, response).catch(() => request.socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    uploads,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const XML = '<?xml version="1.0" encoding="UTF-8"?>';
const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

function answer(
  { request, response, conduct, seen }: Call,
  status: number,
  headers: Readonly<Record<string, string>>,
  text: string,
): void {
  if (conduct?.kind === 'done_then_reset') {
    request.socket.resetAndDestroy();
    return;
  }
  seen.status = status;
  response.writeHead(status, headers).end(conduct?.kind === 'text_200' ? conduct.text : text);
}

function whatOf(method: string, query: ReadonlyMap<string, string>): string {
  if (method === 'HEAD') return 'head';
  if (method === 'DELETE' && query.has('uploadId')) return 'abort';
  if (method === 'POST' && query.has('uploads')) return 'begin';
  if (method === 'POST' && query.has('uploadId')) return 'complete';
  if (method === 'PUT') return query.has('uploadId') ? `part ${query.get('partNumber')}` : 'put';
  return method;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function md5Tag(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`;
}

/** Formats an error as a real service does for a wrong signature: it includes signed data, which the caller must not store. */
function errorXml({ code, message }: Refusal): string {
  return `${XML}\n<Error><Code>${code}</Code><Message>${escapeXml(message)}</Message><AWSAccessKeyId>leaked-id</AWSAccessKeyId></Error>`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function readComplete(text: string): { readonly number: number; readonly etag: string }[] {
  const parts: { number: number; etag: string }[] = [];
  const parser = new SaxesParser();
  let inner = '';
  parser.on('opentag', ({ name }) => {
    if (name === 'Part') parts.push({ number: 0, etag: '' });
    inner = '';
  });
  parser.on('text', (more) => {
    inner += more;
  });
  parser.on('closetag', ({ name }) => {
    const last = parts.at(-1);
    if (last === undefined) return;
    if (name === 'PartNumber') last.number = Number(inner);
    if (name === 'ETag') last.etag = inner;
  });
  parser.write(text).close();
  return parts;
}

/** Decodes the path once, and the names and values of the query. */
function readTarget(target: string): { readonly path: string; readonly query: ReadonlyMap<string, string> } {
  const [path = '', search = ''] = target.split('?');
  return { path: decodeURIComponent(path), query: new Map(pairsOf(search)) };
}

function pairsOf(search: string): [string, string][] {
  return search
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = '', value = ''] = pair.split('=');
      return [decodeURIComponent(name), decodeURIComponent(value)];
    });
}

/** Verifies a request's signature and rejects the same errors as Amazon's services, with their codes. */
function verify({ request, body }: Call, options: S3ServerOptions): void {
  const headers = headersOf(request);
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/;
  const [, keyId, day, region, names = '', signature] = form.exec(headers.get('authorization') ?? '') ?? [];
  if (keyId === undefined) throw new Refusal(403, 'AccessDenied', 'no readable authorization');
  if (keyId !== options.accessKeyId) throw new Refusal(403, 'InvalidAccessKeyId');
  if (region !== options.region) throw new Refusal(400, 'AuthorizationHeaderMalformed');
  const stamp = headers.get('x-amz-date') ?? '';
  if (!stamp.startsWith(`${day}T`)) throw new Refusal(403, 'SignatureDoesNotMatch', 'the scope has a different day');
  const atMs = Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  const nowMs = options.nowMs?.() ?? Date.now();
  if (!(Math.abs(nowMs - atMs) <= CLOCK_SKEW_MS_MAX)) throw new Refusal(403, 'RequestTimeTooSkewed');
  const signedHeaders = names.split(';');
  const needed = [...headers.keys()].filter(
    (name) => name === 'host' || name === 'content-type' || name.startsWith('x-amz-'),
  );
  if (needed.some((name) => !signedHeaders.includes(name)))
    throw new Refusal(403, 'AccessDenied', 'not everything is signed');
  const payloadHash = headers.get('x-amz-content-sha256') ?? '';
  if (payloadHash !== createHash('sha256').update(body).digest('hex'))
    throw new Refusal(400, 'XAmzContentSHA256Mismatch');
  const expected = sigV4Signature({
    method: request.method ?? '',
    target: request.url ?? '',
    headers: signedHeaders.map((name) => [name, headers.get(name) ?? '']),
    payloadHash,
    stamp,
    region,
    service: 's3',
    secret: options.secretAccessKey,
  });
  if (signature !== expected) throw new Refusal(403, 'SignatureDoesNotMatch');
}

function headersOf({ rawHeaders }: IncomingMessage): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    if (headers.has(name)) throw new Refusal(400, 'InvalidRequest', `${name} twice`);
    headers.set(name, rawHeaders[at + 1] ?? '');
  }
  return headers;
}

export interface SigV4Input {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Signed headers, names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly payloadHash: string;
  /** `20130524T000000Z` */
  readonly stamp: string;
  readonly region: string;
  readonly service: string;
  readonly secret: string;
}

/** AWS Signature Version 4, implemented from its published description, for paths that need no normalisation. Returns hex. */
export function sigV4Signature(input: SigV4Input): string {
  const { method, target, payloadHash, stamp, region, service, secret } = input;
  const [path = '', search = ''] = target.split('?');
  const headers = [...input.headers].sort(([a], [b]) => (a < b ? -1 : 1));
  const canonical = [
    method,
    path
      .split('/')
      .map((segment) => encode(decodeURIComponent(segment)))
      .join('/'),
    pairsOf(search)
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .sort()
      .join('&'),
    ...headers.map(([name, value]) => `${name}:${value.trim().replaceAll(/ +/g, ' ')}`),
    '',
    headers.map(([name]) => name).join(';'),
    payloadHash,
  ].join('\n');
  const scope = [stamp.slice(0, 8), region, service, 'aws4_request'];
  const toSign = ['AWS4-HMAC-SHA256', stamp, scope.join('/'), createHash('sha256').update(canonical).digest('hex')];
  let key: Buffer = Buffer.from(`AWS4${secret}`);
  for (const step of scope) key = createHmac('sha256', key).update(step).digest();
  return createHmac('sha256', key).update(toSign.join('\n')).digest('hex');
}

/** Percent-encodes each byte except letters, digits and `-._~`. */
function encode(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[A-Za-z0-9._~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}
