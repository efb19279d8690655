import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { array, assert, asyncProperty, boolean, constantFrom, nat, oneof } from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Exchange, Handler, StreamedBody } from '../../../src/http/exchange.ts';
import { ANSWER_PIECE_BYTES } from '../../../src/kernel/limits.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { type HandlersServer, ObservedBody, serveHandlers } from '../../support/handlers-server.ts';
import { TRANSPORTS } from '../../support/requests.ts';

/** More than the sockets of both sides hold together. */
const LARGE_BYTES = 64 * 1_048_576;
/** Choice: what the sockets of both sides hold at most on a Linux machine as installed, 4 and 6 MiB, and as much again. */
const SOCKETS_BYTES_MAX = 20 * 1_048_576;

/** Bytes that differ from position to position, so that a lost or repeated piece is noticed. */
function patterned(bytes: number, from = 0): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  for (let at = 0; at < bytes; at++) buffer[at] = ((from + at) * 31 + ((from + at) >> 8)) & 0xff;
  return buffer;
}

function* pieces(count: number, bytes: number): Generator<Uint8Array> {
  for (let n = 0; n < count; n++) yield patterned(bytes, n * bytes);
}

const FIELDS = 'text/plain\r\nCache-Control: no-store';
const PLAIN: Handler = (_head, exchange) => exchange.send(200, FIELDS, 'plain');

describe.each(TRANSPORTS)('streamed bodies over %s', (name) => {
  let server: HandlersServer;
  let body: ObservedBody;
  /** Settles when the response to the last request has been sent or given up. */
  let sent: Promise<void>;
  let isGeneratorClosed = false;
  let reused: StreamedBody;
  let paces: (exchange: Exchange) => void = () => {};
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield patterned(10_000);
    } finally {
      isGeneratorClosed = true;
    }
  }
  const handlers: Readonly<Record<string, Handler>> = {
    '/plain': PLAIN,
    '/stream': (_head, exchange) => void (sent = exchange.sendStream(200, FIELDS, body)),
    '/endless': (_head, exchange) => void (sent = exchange.sendStream(200, FIELDS, { bytes: null, pieces: endless() })),
    '/paced': (_head, exchange) => paces(exchange),
    '/reused': (_head, exchange) => void exchange.sendStream(200, FIELDS, reused),
    '/created': (_head, exchange) => {
      exchange.addFields('\r\nX-Added: yes');
      void (sent = exchange.sendStream(201, FIELDS, body));
    },
  };
  beforeAll(async () => {
    server = await serveHandlers(name, handlers);
  });
  afterAll(() => server.transport.drain());

  test.each([
    ['unknown', null, /^transfer-encoding: chunked$/im],
    ['known', 300_000, /^content-length: 300000$/im],
  ])(
    'A body of %s length arrives completely, and its connection serves the next request',
    async (_name, bytes, framing) => {
      body = new ObservedBody(pieces(3, 100_000), bytes);
      const client = server.open('GET /created');
      const { status, header, body: received } = await client.response();
      expect([status, header]).toEqual([201, expect.stringMatching(framing)]);
      expect(header).toMatch(/^content-type: text\/plain\r\ncache-control: no-store\r\nx-added: yes$/im);
      expect(received.equals(Buffer.concat([...pieces(3, 100_000)]))).toBe(true);
      await sent;
      expect([body.isCancelled, server.crashes]).toEqual([false, []]);
      client.send('GET /plain');
      expect(String((await client.response()).body)).toBe('plain');
      client.socket.destroy();
    },
  );

  test('Pieces of any size, empty ones included, arrive in order and once', async () => {
    await assert(
      asyncProperty(
        array(oneof(constantFrom(0, 1, 1_024, ANSWER_PIECE_BYTES, ANSWER_PIECE_BYTES + 1), nat(200_000)), {
          maxLength: 6,
        }),
        boolean(),
        async (sizes, isSized) => {
          const parts = sizes.map((size, at) => patterned(size, at * 7));
          const whole = Buffer.concat(parts);
          body = new ObservedBody(parts, isSized ? whole.length : null);
          const client = server.open('GET /stream');
          const { body: received } = await client.response();
          client.socket.destroy();
          expect(received.equals(whole)).toBe(true);
        },
      ),
      { numRuns: 30 },
    );
  });

  test.each([
    ['unknown', null],
    ['known', LARGE_BYTES],
  ])('A slow client of a body of %s length holds no more than the sockets and one piece', async (_name, bytes) => {
    const pieceBytes = 262_144;
    const piece = patterned(pieceBytes);
    body = new ObservedBody(
      Array.from({ length: LARGE_BYTES / pieceBytes }, () => piece),
      bytes,
    );
    const client = server.open('GET /stream');
    let received = 0;
    let aheadMax = 0;
    for await (const chunk of client.socket) {
      received += (chunk as Buffer).length;
      aheadMax = Math.max(aheadMax, body.produced - received);
      if (received >= LARGE_BYTES) break;
      // The server gets more turns of the event loop than the client.
      for (let turn = 0; turn < 3; turn++) await new Promise((done) => setImmediate(done));
    }
    expect(aheadMax).toBeLessThan(SOCKETS_BYTES_MAX);
    expect(body.produced).toBe(LARGE_BYTES);
    client.socket.destroy();
    await sent;
  });

  test('A paced body waits for each piece, arrives completely, and its connection serves the next request', async () => {
    const body = patterned(1_048_576);
    const paced = { asked: 0, go: (): void => {} };
    const free = new Promise<void>((resolve) => (paced.go = resolve));
    let received: Buffer | null = null;
    paces = (exchange) =>
      exchange.readBody(
        body.length,
        (bytes) => {
          received = bytes && Buffer.from(bytes);
          exchange.send(200, FIELDS, 'read');
        },
        () => {
          paced.asked++;
          return free;
        },
      );
    const client = server.open();
    client.socket.write(`POST /paced HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`);
    client.socket.write(body);
    await vi.waitFor(() => expect(paced.asked).toBeGreaterThan(0));
    // As many turns as the whole body would take several times over.
    for (let turn = 0; turn < 200; turn++) await new Promise((done) => setImmediate(done));
    expect(received).toBeNull();
    paced.go();
    expect(String((await client.response()).body)).toBe('read');
    expect(body.equals(received ?? Buffer.alloc(0))).toBe(true);
    client.send('GET /plain');
    expect(String((await client.response()).body)).toBe('plain');
    client.socket.destroy();
  });

  test('A body whose client disconnects is reported as gone, and a complete one is not', async () => {
    const seen: string[] = [];
    paces = (exchange) =>
      exchange.readBody(
        100_000,
        () => {
          seen.push('read');
          exchange.send(200, FIELDS, 'read');
        },
        undefined,
        () => seen.push('gone'),
      );
    const client = server.open();
    client.socket.write(`POST /paced HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`);
    client.socket.write(patterned(100_000));
    await client.response();
    client.socket.destroy();
    const leaving = server.open();
    leaving.socket.write(`POST /paced HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`);
    leaving.socket.write(patterned(50_000));
    // Not before the handler was called.
    await new Promise((done) => setTimeout(done, 50));
    leaving.socket.destroy();
    await vi.waitFor(() => expect(seen).toEqual(['read', 'gone']));
  });

  test('A paused request is refused without the rest of its body, and the connection is closed', async () => {
    const paused = { asked: 0, go: (): void => {} };
    const free = new Promise<void>((resolve) => (paused.go = resolve));
    paces = (exchange) => {
      paused.asked++;
      exchange.pauseUntil(free);
      void free.then(() => exchange.send(429, FIELDS, 'refused', true));
    };
    const client = server.open();
    client.socket.on('error', () => {});
    client.socket.write(`POST /paced HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`);
    client.socket.write(patterned(50_000));
    await vi.waitFor(() => expect(paused.asked).toBe(1));
    const closed = new Promise((done) => client.socket.once('close', done));
    paused.go();
    expect(String((await client.response()).body)).toBe('refused');
    await closed;
  });

  test.each([
    ['unknown', null],
    ['known', 8 * 1_048_576],
  ])('Memory that the transport has given back may be overwritten, for a body of %s length', async (_name, bytes) => {
    const count = 8;
    let returned = 0;
    async function* fresh(): AsyncGenerator<Uint8Array> {
      for (let n = 0; n < count; n++) yield patterned(1_048_576, n);
    }
    const onWritten = (piece: Uint8Array): void => {
      returned++;
      piece.fill(0);
    };
    reused = { bytes, pieces: fresh(), onWritten };
    const client = server.open('GET /reused');
    const { body: received } = await client.response();
    const wanted = Buffer.concat(Array.from({ length: count }, (_, n) => patterned(1_048_576, n)));
    expect(received.equals(wanted)).toBe(true);
    expect(returned).toBe(name === 'uws' ? count : 0);
    client.socket.destroy();
  });

  test('A client that reads nothing makes the source stop, and its end cancels the source', async () => {
    const piece = patterned(ANSWER_PIECE_BYTES);
    body = new ObservedBody(Array.from({ length: LARGE_BYTES / piece.length }, () => piece));
    const client = server.open('GET /stream');
    client.socket.pause();
    await vi.waitFor(() => expect(body.produced).toBeGreaterThan(0));
    client.socket.resume();
    client.socket.destroy();
    await Promise.all([body.cancelled, sent]);
    expect(body.produced).toBeLessThan(SOCKETS_BYTES_MAX);
    expect(server.crashes).toEqual([]);
  });

  test.each([
    ['before its first piece', []],
    ['between two pieces', [Buffer.from('first')]],
  ])('A client that disconnects while the source waits %s cancels it at once', async (_name, first) => {
    body = new ObservedBody([...first, 'never']);
    const client = server.open('GET /stream');
    await vi.waitFor(() => expect(body.requests).toBe(first.length + 1));
    client.socket.destroy();
    await Promise.all([body.cancelled, sent]);
    expect(server.crashes).toEqual([]);
  });

  test('A generator whose client disconnects runs its finally block', async () => {
    const client = server.open('GET /endless');
    await new Promise((done) => client.socket.once('data', done));
    client.socket.destroy();
    await sent;
    await vi.waitFor(() => expect(isGeneratorClosed).toBe(true));
  });

  test('A body that fails before its first piece is answered with 500', async () => {
    body = new ObservedBody([new Error('no first piece')]);
    const client = server.open('GET /stream');
    const { status, header } = await client.response();
    expect([status, header]).toEqual([500, expect.stringMatching(/^connection: close$/im)]);
    await Promise.all([client.closed, sent]);
    expect(server.crashes.splice(0)).toEqual([new Error('no first piece')]);
  });

  test.each([
    ['unknown', null],
    ['known', 1_000],
  ])(
    'A body of %s length that fails later cuts its connection, so that nobody takes it for complete',
    async (_name, bytes) => {
      body = new ObservedBody([Buffer.from('half of it'), new Error('no second piece')], bytes);
      const client = server.open('GET /stream');
      await expect(client.response()).rejects.toThrow('closed before the response was complete');
      await sent;
      expect(await client.rest()).not.toContain('0\r\n\r\n');
      expect(server.crashes.splice(0)).toEqual([new Error('no second piece')]);
    },
  );

  test.each([
    ['fewer', 1_001, 'ended at 1000'],
    ['more', 999, 'has more'],
  ])('A body with %s bytes than announced cuts its connection', async (_name, bytes, message) => {
    body = new ObservedBody([patterned(500), patterned(500)], bytes);
    const client = server.open('GET /stream');
    await expect(client.response()).rejects.toThrow('closed before the response was complete');
    await sent;
    expect(String(server.crashes.splice(0))).toContain(message);
    expect(body.isCancelled).toBe(message === 'has more');
  });

  test('A source that fails after its last announced byte is reported, and the complete response stays valid', async () => {
    body = new ObservedBody([Buffer.from('complete'), new Error('too late')], 8);
    const client = server.open('GET /stream');
    expect(String((await client.response()).body)).toBe('complete');
    await sent;
    expect(server.crashes.splice(0)).toEqual([new Error('too late')]);
    client.socket.destroy();
  });

  test.each([
    ['known', 12_345, /^content-length: 12345$/im],
    ['unknown', null, /^content-type: text\/plain$/im],
  ])(
    'HEAD of a body of %s length has its fields, requests no piece and cancels the body',
    async (_name, bytes, field) => {
      body = new ObservedBody(['never'], bytes);
      const client = server.open('HEAD /stream');
      const { status, header } = await client.response(true);
      expect([status, header]).toEqual([200, expect.stringMatching(field)]);
      if (bytes === null) expect(header).not.toMatch(/^content-length/im);
      await body.cancelled;
      expect(body.requests).toBe(0);
      client.send('GET /plain');
      expect(String((await client.response()).body)).toBe('plain');
      client.socket.destroy();
    },
  );

  test.each([null, 0])('A body without pieces, announced with %s bytes, is an empty response', async (bytes) => {
    body = new ObservedBody([], bytes);
    const client = server.open('GET /stream');
    expect((await client.response()).body).toHaveLength(0);
    client.send('GET /plain');
    expect(String((await client.response()).body)).toBe('plain');
    client.socket.destroy();
  });

  test('A second response to the same request is not sent', async () => {
    const other = new ObservedBody([Buffer.from('other')]);
    const own = await serveHandlers(name, {
      '/twice': (_head, exchange) => {
        void exchange.sendStream(200, FIELDS, body);
        void exchange.sendStream(200, FIELDS, other);
        exchange.send(200, FIELDS, 'other');
      },
    });
    body = new ObservedBody([Buffer.from('one')]);
    const client = own.open('GET /twice');
    expect(String((await client.response()).body)).toBe('one');
    await other.cancelled;
    expect([other.requests, own.crashes]).toEqual([0, []]);
    client.socket.destroy();
    own.transport.drain();
  });

  test('While the service stops, a stream is complete and announces the end of its connection', async () => {
    const own = await serveHandlers(name, handlers);
    const clients = [own.open('GET /plain'), own.open('GET /plain')];
    for (const client of clients) await client.response();
    own.transport.drain();
    for (const [at, client] of clients.entries()) {
      body = new ObservedBody(pieces(3, 100_000), at === 0 ? null : 300_000);
      client.send('GET /stream');
      const { header, body: received } = await client.response();
      expect(header.match(/^connection: close$/gim)).toHaveLength(1);
      expect(received.equals(Buffer.concat([...pieces(3, 100_000)]))).toBe(true);
      client.socket.destroy();
    }
  });
});

test('Requests pipelined behind a stream are answered in order by node:http', async () => {
  const server = await serveHandlers('node', {
    '/plain': PLAIN,
    '/stream': (_head, exchange) => void exchange.sendStream(200, FIELDS, new ObservedBody(pieces(20, 100_000))),
  });
  const client = server.open('GET /stream', 'GET /stream', 'GET /plain');
  const whole = Buffer.concat([...pieces(20, 100_000)]);
  for (let n = 0; n < 2; n++) expect((await client.response()).body.equals(whole)).toBe(true);
  expect(String((await client.response()).body)).toBe('plain');
  client.socket.destroy();
  server.transport.drain();
});

test('A stream that waits behind another one is cancelled by node:http when its client disconnects', async () => {
  const bodies: ObservedBody[] = [];
  const server = await serveHandlers('node', {
    '/stream': (_head, exchange) => {
      const body = new ObservedBody([patterned(ANSWER_PIECE_BYTES), 'never']);
      bodies.push(body);
      void exchange.sendStream(200, FIELDS, body);
    },
  });
  const client = server.open('GET /stream', 'GET /stream');
  await vi.waitFor(() => expect(bodies.map(({ requests }) => requests > 0)).toEqual([true, true]));
  client.socket.destroy();
  await Promise.all(bodies.map(({ cancelled }) => cancelled));
  server.transport.drain();
});

test('A request pipelined behind a stream ends the connection with uWebSockets.js, and the stream is cancelled', async () => {
  const body = new ObservedBody(['never']);
  const server = await serveHandlers('uws', {
    '/plain': PLAIN,
    '/stream': (_head, exchange) => void exchange.sendStream(200, FIELDS, body),
  });
  const client = server.open('GET /stream', 'GET /plain');
  expect(await client.rest()).toBe('');
  await body.cancelled;
  expect(server.crashes).toEqual([]);
  server.transport.drain();
});

describe('streamed bodies over TLS', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-tls-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(TRANSPORTS)('Bodies of known and unknown length arrive completely over TLS by %s', async (name) => {
    const whole = Buffer.concat([...pieces(80, 100_000)]);
    const server = await serveHandlers(
      name,
      {
        '/sized': (_head, exchange) =>
          void exchange.sendStream(200, FIELDS, new ObservedBody(pieces(80, 100_000), whole.length)),
        '/chunked': (_head, exchange) => void exchange.sendStream(200, FIELDS, new ObservedBody(pieces(80, 100_000))),
      },
      makeCertificate(folder),
    );
    const client = server.open('GET /sized');
    expect((await client.response()).body.equals(whole)).toBe(true);
    client.send('GET /chunked');
    expect((await client.response()).body.equals(whole)).toBe(true);
    client.socket.destroy();
    server.transport.drain();
  });
});
