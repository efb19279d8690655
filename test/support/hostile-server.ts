import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';

/**
 * Misbehaving receivers on a loopback port, for tests of outgoing requests. Each counts the requests and the bytes that the caller read,
 * because a caller that stops in time must also stop reading.
 */

export interface HostileServer {
  /** `http://127.0.0.1:port`, or https when it speaks TLS or must be called with https. */
  readonly url: string;
  readonly port: number;
  connections(): number;
  /** Requests that arrived completely. */
  requests(): readonly HostileRequest[];
  /** Bytes that the operating system accepted from the receiver: at most one socket buffer more than the caller read. */
  bytesTaken(): number;
  /** Number of open connections. */
  open(): number;
  close(): Promise<void>;
}

export interface HostileRequest {
  /** Request line (`POST /path HTTP/1.1`) and header lines. */
  readonly head: string;
  readonly body: Buffer;
  /** Counts from 1 on its connection. */
  readonly numberOnConnection: number;
  /** Counts from 1 over all connections. */
  readonly number: number;
}

interface Conduct {
  /** Scheme of the URL; default http. */
  readonly scheme?: 'https';
  /** Speaks TLS with this key and certificate. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Does not listen at all. */
  readonly isClosed?: boolean;
  readonly onConnection?: (socket: Socket) => void;
  readonly onRequest?: (socket: Socket, request: HostileRequest) => void;
}

export type Respond = (socket: Socket, request: HostileRequest) => void;

const DRIP_MS = 100;
const CHUNK = Buffer.alloc(65_536, 0x61);
let bomb: Buffer | null = null;

/** Name → behaviour. `answers` and the well-behaved TLS servers are for comparison. */
const CONDUCTS = {
  answers: { onRequest: (socket) => answer(socket, '200 OK', 'ok') },
  no_content: { onRequest: (socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n') },
  server_error: { onRequest: (socket) => answer(socket, '500 Internal Server Error', 'no') },
  gone: { onRequest: (socket) => answer(socket, '410 Gone', '') },
  refuses: { isClosed: true },
  resets_at_accept: { onConnection: (socket) => socket.resetAndDestroy() },
  resets_on_request: { onRequest: (socket) => socket.resetAndDestroy() },
  closes_on_request: { onRequest: (socket) => socket.end() },
  resets_mid_body: {
    onRequest: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of it');
      setTimeout(() => socket.resetAndDestroy(), 20).unref();
    },
  },
  closes_mid_body: {
    onRequest: (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of it'),
  },
  never_answers: { onRequest: () => {} },
  drips_headers: { onRequest: (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nX-Drip: ') },
  drips_body: { onRequest: (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n') },
  huge_body: { onRequest: (socket) => pour(socket, 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n', CHUNK) },
  huge_chunked_body: {
    onRequest: (socket) =>
      pour(
        socket,
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
        Buffer.from(`10000\r\n${CHUNK.toString()}\r\n`),
      ),
  },
  huge_announced_body: {
    onRequest: (socket) => pour(socket, `HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 30}\r\n\r\n`, CHUNK),
  },
  huge_chunk_extensions: {
    onRequest: (socket) => pour(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=', CHUNK),
  },
  tiny_chunks_with_extensions: {
    onRequest: (socket) =>
      pour(
        socket,
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
        Buffer.from(`1;${'a'.repeat(8000)}\r\nx\r\n`),
      ),
  },
  huge_trailers: {
    onRequest: (socket) =>
      pour(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n', Buffer.from('X-Trailer: a\r\n')),
  },
  /** 50 MiB of zeros, 50 KB on the wire. */
  gzip_bomb: {
    onRequest: (socket) => {
      bomb ??= gzipSync(Buffer.alloc(50 * 2 ** 20));
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    },
  },
  huge_headers: {
    onRequest: (socket) => {
      const line = `X-Filler: ${'a'.repeat(1000)}\r\n`;
      socket.write(`HTTP/1.1 200 OK\r\n${line.repeat(1000)}Content-Length: 0\r\n\r\n`);
    },
  },
  redirects_302: { onRequest: (socket) => redirect(socket, '302 Found') },
  redirects_307: { onRequest: (socket) => redirect(socket, '307 Temporary Redirect') },
  garbage: { onRequest: (socket) => socket.write('\x00\x01SSH-2.0-nothing of HTTP\r\n\r\n\xff\xfe') },
  garbage_at_accept: { onConnection: (socket) => socket.write('220 mail.example ESMTP\r\n') },
  /** An informational response that was not asked for, and the final one. */
  continues: {
    onRequest: (socket) => {
      socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      answer(socket, '200 OK', 'ok');
    },
  },
  continue_flood: { onRequest: (socket) => pour(socket, '', Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'.repeat(100))) },
  early_hints_flood: {
    onRequest: (socket) => pour(socket, '', Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100))),
  },
  bad_chunks: {
    onRequest: (socket) => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n'),
  },
  conflicting_lengths: {
    onRequest: (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\nok'),
  },
  two_answers: {
    onRequest: (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'.repeat(2)),
  },
  upgrades: {
    onRequest: (socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: upgrade\r\n\r\n'),
  },
  tls_answers: { scheme: 'https', tls: 'good', onRequest: (socket) => answer(socket, '200 OK', 'ok') },
  tls_self_signed: { scheme: 'https', tls: 'self', onRequest: (socket) => answer(socket, '200 OK', 'ok') },
  tls_wrong_host: { scheme: 'https', tls: 'other', onRequest: (socket) => answer(socket, '200 OK', 'ok') },
  /** Speaks HTTP where TLS is expected. */
  tls_plain: { scheme: 'https', onConnection: (socket) => answer(socket, '400 Bad Request', 'no TLS here') },
  /** Accepts the connection and never performs the handshake. */
  tls_silent: { scheme: 'https', onConnection: () => {} },
} as const satisfies Readonly<Record<string, NamedConduct>>;

type NamedConduct = Omit<Conduct, 'tls'> & { readonly tls?: 'good' | 'self' | 'other' };
export type HostileConduct = keyof typeof CONDUCTS;

/** Starts a receiver on a free port of 127.0.0.1, or of `host`. */
export function startHostile(conduct: HostileConduct, host = '127.0.0.1'): Promise<HostileServer> {
  const { tls, ...rest }: NamedConduct = CONDUCTS[conduct];
  return start(tls === undefined ? rest : { ...rest, tls: IDENTITIES[tls] }, host);
}

/** Starts a receiver with a custom response, for behaviour that the table lacks. */
export function startResponder(respond: Respond, host = '127.0.0.1'): Promise<HostileServer> {
  return start({ onRequest: respond }, host);
}

/** Responds to `requestsMax` requests of a connection and closes it without a response to the next. */
export function startForgetful(requestsMax: number): Promise<HostileServer> {
  return startResponder((socket, { numberOnConnection }) => {
    if (numberOnConnection > requestsMax) socket.destroy();
    else answer(socket, '200 OK', 'ok');
  });
}

export function answer(socket: Socket, status: string, body: string, headers = ''): void {
  socket.write(`HTTP/1.1 ${status}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`);
}

async function start(conduct: Conduct, host: string): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  const requests: HostileRequest[] = [];
  let connections = 0;
  let bytesOfClosed = 0;
  const onConnection = (socket: Socket): void => {
    connections++;
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.once('close', () => {
      sockets.delete(socket);
      bytesOfClosed += taken(socket);
    });
    conduct.onConnection?.(socket);
    readRequests(socket, (head, body, numberOnConnection) => {
      const request = { head, body, numberOnConnection, number: requests.length + 1 };
      requests.push(request);
      conduct.onRequest?.(socket, request);
    });
  };
  const server: Server =
    conduct.tls === undefined ? createServer(onConnection) : createTlsServer(conduct.tls, onConnection);
  server.on('tlsClientError', () => {});
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  if (conduct.isClosed === true) await close();
  return {
    url: `${conduct.scheme ?? 'http'}://${host}:${port}`,
    port,
    connections: () => connections,
    requests: () => requests,
    bytesTaken: () => [...sockets].reduce((sum, socket) => sum + taken(socket), bytesOfClosed),
    open: () => sockets.size,
    close,
  };
}

function taken(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength;
}

type OnRequest = (head: string, body: Buffer, numberOnConnection: number) => void;

/** Parses heads and bodies with a Content-Length, which is sufficient for the callers in these tests. */
function readRequests(socket: Socket, onRequest: OnRequest): void {
  let seen: Buffer = Buffer.alloc(0);
  let count = 0;
  socket.on('data', (chunk: Buffer) => {
    seen = Buffer.concat([seen, chunk]);
    for (let at = seen.indexOf('\r\n\r\n'); at >= 0; at = seen.indexOf('\r\n\r\n')) {
      const head = seen.toString('latin1', 0, at);
      const end = at + 4 + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      if (seen.length < end) return;
      const body = seen.subarray(at + 4, end);
      seen = seen.subarray(end);
      onRequest(head, body, ++count);
    }
  });
}

function drip(socket: Socket, head: string): void {
  socket.write(head);
  const timer = setInterval(() => socket.write('a'), DRIP_MS);
  socket.once('close', () => clearInterval(timer));
}

/** Writes 1 GiB as fast as the caller reads it. */
function pour(socket: Socket, head: string, chunk: Buffer): void {
  let left = 2 ** 30;
  const more = (): void => {
    while (left > 0 && !socket.destroyed) {
      left -= chunk.length;
      if (!socket.write(chunk)) return;
    }
  };
  socket.write(head);
  socket.on('drain', more);
  more();
}

function redirect(socket: Socket, status: string): void {
  answer(socket, status, '', `Location: http://127.0.0.1:${socket.localPort ?? 80}/moved\r\n`);
}

/** The authority that signed `good` and `other`; the caller under test must trust it. Valid from 2020 to 2120, like the others. */
export const TEST_AUTHORITY = `-----BEGIN CERTIFICATE-----
MIIBejCCAR+gAwIBAgIBATAKBggqhkjOPQQDAjAjMSEwHwYDVQQDDBhHYXRlaG91
c2UgdGVzdCBhdXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAw
MDBaMCMxITAfBgNVBAMMGEdhdGVob3VzZSB0ZXN0IGF1dGhvcml0eTBZMBMGByqG
SM49AgEGCCqGSM49AwEHA0IABMYS28NwqI5r1tQsNoaD4IzX2tyJOX1PCyONvblM
puoYYAN8eOPaTE+9Q7eYqeX+TD70PB4p0WjfJXbnWkaMOXqjQjBAMA8GA1UdEwEB
/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMB0GA1UdDgQWBBR7ik7oDpCIGU3yjHrJ
2hhyRxB5KjAKBggqhkjOPQQDAgNJADBGAiEAzT8+LGpkD5urQE2Lx3A0iWNj3O/l
4MoWIuh/SChnu7ACIQCkkzDO/ywxEKsuO4zWYCt/uW/XfRYK2NaArRFJWgbJvw==
-----END CERTIFICATE-----
`;

/** Keys and certificates for tests only: `good` is for receiver.test, *.receiver.test and 127.0.0.1, `other` for other.test. */
export const IDENTITIES = {
  good: {
    key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgX4DJF9Imyno19Ui/
LJCxs37uqwqNzqHfko7crj8qryGhRANCAAQ7NbFwDseCQI209g3htpTXuxXYrkVh
6BpjLMGu1iSuhBlrgIMvfL0x4Rc+TJV2UBhnUSLUGWp+zyM1n7BiAC5T
-----END PRIVATE KEY-----
`,
    cert: `-----BEGIN CERTIFICATE-----
MIIBnzCCAUWgAwIBAgIBAjAKBggqhkjOPQQDAjAjMSEwHwYDVQQDDBhHYXRlaG91
c2UgdGVzdCBhdXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAw
MDBaMBgxFjAUBgNVBAMMDXJlY2VpdmVyLnRlc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQ7NbFwDseCQI209g3htpTXuxXYrkVh6BpjLMGu1iSuhBlrgIMvfL0x
4Rc+TJV2UBhnUSLUGWp+zyM1n7BiAC5To3MwcTAvBgNVHREEKDAmgg1yZWNlaXZl
ci50ZXN0gg8qLnJlY2VpdmVyLnRlc3SHBH8AAAEwHQYDVR0OBBYEFIax8pa3fM3b
yAHOldOPiegckUX7MB8GA1UdIwQYMBaAFHuKTugOkIgZTfKMesnaGHJHEHkqMAoG
CCqGSM49BAMCA0gAMEUCIQCUHFjivsBoqWGvcaSp2cXGDYW2Tbsar1zaNQPD/aK1
bAIgD3wN7C/IgCkwpiR3SEtqeUdE0RWwXX9AC9ahj0UQsPg=
-----END CERTIFICATE-----
`,
  },
  other: {
    key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgzkWJ7y8DldtpqlSu
KTrV+d6aeSloptmlq5CsvE9Yd/+hRANCAARMqdHdtLSNo2FdqmYB2j6Dly4P+TXq
tzCHsMzpjkb43pHSW6ydiwZEBLQjbTJ58jEz0v1CfHR+Tw0mAg4WNBZg
-----END PRIVATE KEY-----
`,
    cert: `-----BEGIN CERTIFICATE-----
MIIBgTCCASigAwIBAgIBAzAKBggqhkjOPQQDAjAjMSEwHwYDVQQDDBhHYXRlaG91
c2UgdGVzdCBhdXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAw
MDBaMBUxEzARBgNVBAMMCm90aGVyLnRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMB
BwNCAARMqdHdtLSNo2FdqmYB2j6Dly4P+TXqtzCHsMzpjkb43pHSW6ydiwZEBLQj
bTJ58jEz0v1CfHR+Tw0mAg4WNBZgo1kwVzAVBgNVHREEDjAMggpvdGhlci50ZXN0
MB0GA1UdDgQWBBRsM6jnYMmZuKgMyvVG2Snv+bcJ5TAfBgNVHSMEGDAWgBR7ik7o
DpCIGU3yjHrJ2hhyRxB5KjAKBggqhkjOPQQDAgNHADBEAiATXcTc2Ttv6ZYLjSiS
1pFtvQwp72Y0b7FikbaA2b30owIgfuAJMgJNCRYWOHPF/e2OBe/fDBxNcatHY+s5
vns2R9M=
-----END CERTIFICATE-----
`,
  },
  self: {
    key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgy18Mfo9p/J7JMnD2
X3aK+6O5AkkqrwVedRN6INV1q1WhRANCAAQAwjinNKIobr8vJkOIszxBklujZ6kV
qSsMvJsuR6375i5z2u6CX0sy5fQX2bSSquLl1XznuKthUbkQ2Tme6dLk
-----END PRIVATE KEY-----
`,
    cert: `-----BEGIN CERTIFICATE-----
MIIBYjCCAQigAwIBAgIBBDAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA1yZWNlaXZl
ci50ZXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYD
VQQDDA1yZWNlaXZlci50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEAMI4
pzSiKG6/LyZDiLM8QZJbo2epFakrDLybLket++Yuc9rugl9LMuX0F9m0kqri5dV8
57irYVG5ENk5nunS5KNBMD8wHgYDVR0RBBcwFYINcmVjZWl2ZXIudGVzdIcEfwAA
ATAdBgNVHQ4EFgQUSFAdj95qzwVArKjlPBoWTcA/qLEwCgYIKoZIzj0EAwIDSAAw
RQIhAO69Sd+/AmbzPBaTgmVVbj1RS4ukQ722D1p0NoKcAJt9AiAdrX2qVPs4Bm+T
UYiQzc88TnNdhx4HIXcfWm1aJ8VK7A==
-----END CERTIFICATE-----
`,
  },
} as const;
