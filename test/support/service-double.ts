import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

/** A server in the place of the service, which behaves as the first segment of the path names it. */

export const KEY = 'sk_live_double';
/** The clock of the behaviour `clock`, Unix seconds. */
export const SERVER_TIME = 2_000_000_000;

export interface DoubleRequest {
  readonly requestId: string;
  readonly idempotencyKey: string;
  readonly timestamp: number;
  readonly isSigned: boolean;
  readonly email: unknown;
}

export interface DoubleServer {
  readonly url: string;
  readonly decides: DoubleRequest[];
  readonly outcomes: { readonly authorization: string | undefined; readonly body: unknown }[];
  forget(): void;
  close(): void;
}

const GOOD = JSON.stringify({ request_id: 'req_double', decision: 'ALLOW_WATCH', score: 31.5, reasons: ['a "b"'] });
const decided = (decision: string): Behaviour => {
  const body = GOOD.replace('ALLOW_WATCH', decision);
  return (response) => send(response, 200, body);
};
const problem = (code: string, more: object = {}): string =>
  JSON.stringify({ type: 'about:blank', title: 't', detail: 'd', code, ...more });

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}

type Behaviour = (response: ServerResponse, request: DoubleRequest) => void;

/** Writes a piece every 50 ms for 20 s. */
function drip(response: ServerResponse, start: string, piece: string): void {
  const { socket } = response;
  socket?.write(start);
  const timer = setInterval(() => socket?.write(piece), 50);
  const end = setTimeout(() => socket?.destroy(), 20_000);
  socket
    ?.on('error', () => {})
    .on('close', () => {
      clearInterval(timer);
      clearTimeout(end);
    });
}

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  good: (response) => send(response, 200, GOOD),
  block: decided('BLOCK'),
  challenge: decided('SOFT_CHALLENGE'),
  review: decided('REVIEW'),
  chunked: (response) => {
    response.writeHead(200).write(GOOD.slice(0, 20));
    setTimeout(() => response.end(GOOD.slice(20)), 100);
  },
  silent: () => {},
  drip: (response) => drip(response, 'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n', ' '),
  'drip-headers': (response) => drip(response, 'HTTP/1.1 200 OK\r\nX-Slow: ', 'a'),
  closed: (response) => void response.socket?.destroy(),
  cut: (response) => void response.socket?.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"decision":'),
  'bad-gateway': (response) => send(response, 502, '<html>', { 'content-type': 'text/html' }),
  busy: (response) => send(response, 503, problem('overloaded'), { 'retry-after': '0' }),
  replayed: (response) => send(response, 401, problem('replayed_request')),
  overloaded: (response) => send(response, 429, problem('overloaded'), { 'retry-after': '60' }),
  limited: (response) => send(response, 429, problem('rate_limited'), { 'retry-after': '60' }),
  broken: (response) => send(response, 500, problem('internal')),
  html: (response) => send(response, 200, '<html>', { 'content-type': 'text/html' }),
  strange: (response) => send(response, 200, '{"decision":1}'),
  invalid: (response) => send(response, 400, problem('invalid_field')),
  forbidden: (response) => send(response, 403, problem('key_not_allowed')),
  redirect: (response) => send(response, 302, '', { location: '/good/v1/decide' }),
  clock: (response, { timestamp }) =>
    Math.abs(timestamp - SERVER_TIME) <= 300
      ? send(response, 200, GOOD)
      : send(response, 401, problem('timestamp_out_of_window', { server_time: SERVER_TIME })),
};

const header = (request: IncomingMessage, name: string): string => String(request.headers[name] ?? '');

function isSigned(request: IncomingMessage, body: string): boolean {
  const hash = createHash('sha256').update(body).digest('hex');
  const signed = ['POST', '/v1/decide', header(request, 'x-svc-ts'), hash, header(request, 'x-svc-rid')].join('\n');
  return createHmac('sha256', KEY).update(signed).digest('hex') === header(request, 'x-svc-sig');
}

/** Starts the double on a free port. A behaviour `<name>-once` is that of the first request with an Idempotency-Key; others are good. */
export async function startDouble(): Promise<DoubleServer> {
  const decides: DoubleRequest[] = [];
  const outcomes: { readonly authorization: string | undefined; readonly body: unknown }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const [, name = '', ...path] = (request.url ?? '').split('/');
      if (path.join('/') === 'v1/outcomes') {
        outcomes.push({ authorization: request.headers.authorization, body: JSON.parse(body) });
        return send(response, 202, '{"accepted":1,"rejected":[]}');
      }
      const { entity_keys: keys } = JSON.parse(body) as { readonly entity_keys?: { readonly email?: unknown } };
      const seen: DoubleRequest = {
        requestId: header(request, 'x-svc-rid'),
        idempotencyKey: header(request, 'idempotency-key'),
        timestamp: Number(header(request, 'x-svc-ts')),
        isSigned: isSigned(request, body),
        email: keys?.email,
      };
      decides.push(seen);
      const isLater =
        name.endsWith('-once') && decides.filter((one) => one.idempotencyKey === seen.idempotencyKey).length > 1;
      BEHAVIOURS[isLater ? 'good' : name.replace(/-once$/, '')]?.(response, seen);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as { readonly port: number }).port}`,
    decides,
    outcomes,
    forget: () => {
      decides.length = 0;
      outcomes.length = 0;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
