import { once } from 'node:events';
import { createServer, get as httpGet, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { Handler } from '../../../src/http/exchange.ts';
import { listen } from '../../../src/http/listen.ts';
import { sendProblem } from '../../../src/http/reply.ts';
import { problem } from '../../../src/contract/problem.ts';
import type { Transport } from '../../../src/http/transport.ts';
import { TrustedProxies } from '../../../src/http/trusted-proxies.ts';

/** Threads that serve HTTP for this one, as the handlers of this thread see them. */

let transport: Transport | null = null;
const crashes: unknown[] = [];
afterEach(async () => {
  await transport?.close?.();
  transport = null;
  crashes.length = 0;
});

async function serve(onRequest: Handler, trustedProxies: readonly string[] = []): Promise<string> {
  const options = {
    host: '127.0.0.1',
    port: 0,
    tls: null,
    trustedProxies: new TrustedProxies(trustedProxies),
    connections: { connectionsMax: 200, sourceConnectionsMax: 100, sourceHandshakesMax: 100 },
    onRequest,
    onCrash(error: unknown, exchange: Parameters<Handler>[1]) {
      crashes.push(error);
      sendProblem(exchange, problem('internal_error', 'The request failed.'));
    },
  };
  const listening = await listen('uws', options, { count: 2, trustedProxies });
  if (listening.kind !== 'listening') throw new Error(JSON.stringify(listening));
  ({ transport } = listening);
  return `http://127.0.0.1:${transport.port}`;
}

async function read(answer: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

async function fetchFrom(url: string, init: { body?: Buffer; headers?: Record<string, string>; method?: string } = {}) {
  const asked = request(url, {
    agent: false,
    method: init.method ?? (init.body === undefined ? 'GET' : 'POST'),
    headers: { ...init.headers, ...(init.body && { 'content-length': init.body.length }) },
  });
  asked.end(init.body);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, body: await read(answer) };
}

test('A handler gets the head and the body of a request, in one piece or in many, and its response arrives', async () => {
  const url = await serve(
    (head, exchange) => {
      exchange.readBody(2_000_000, (body) => {
        const seen = [head.method, head.path, head.query, head.cold.get('user-agent'), exchange.remoteAddress()];
        exchange.addFields('\r\nX-More: yes');
        exchange.send(201, 'application/json\r\nX-Own: 1', JSON.stringify([...seen, body?.length ?? null]));
      });
    },
    ['127.0.0.1/32'],
  );
  const headers = { 'user-agent': 'test', 'x-forwarded-for': '192.0.2.7' };
  for (const bytes of [0, 10, 1_500_000]) {
    const answer = await fetchFrom(`${url}/a?b=c`, { body: Buffer.alloc(bytes, 'x'), headers });
    expect(answer).toMatchObject({ status: 201, headers: { 'x-own': '1', 'x-more': 'yes' } });
    expect(JSON.parse(answer.body.toString())).toEqual(['POST', '/a', 'b=c', 'test', '192.0.2.7', bytes]);
  }
  const tooLarge = await fetchFrom(url, { body: Buffer.alloc(2_000_001) }).catch(() => null);
  if (tooLarge !== null) expect(JSON.parse(tooLarge.body.toString()).at(-1)).toBeNull();
});

test('A streamed body arrives complete, of known and of unknown length, and HEAD has none', async () => {
  const pieces = Array.from({ length: 40 }, (_none, n) => Buffer.alloc(n * 1_000 + 1, n));
  const all = Buffer.concat(pieces);
  const url = await serve((head, exchange) => {
    const bytes = head.path === '/sized' ? all.length : null;
    exchange.readBody(
      0,
      () => void exchange.sendStream(200, 'application/octet-stream', { bytes, pieces: inTurn(pieces) }),
    );
  });
  for (const path of ['/sized', '/chunked']) expect((await fetchFrom(url + path)).body.equals(all)).toBe(true);
  const head = await fetchFrom(`${url}/sized`, { method: 'HEAD' });
  expect([head.headers['content-length'], head.body.length]).toEqual([String(all.length), 0]);
});

async function* inTurn(pieces: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    await new Promise((done) => setImmediate(done));
    yield piece;
  }
}

test('A streamed body that fails is a 500 before its first piece, and cuts the connection after it', async () => {
  async function* failing(after: number): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < after; n++) yield Buffer.alloc(1_000);
    await Promise.resolve();
    throw new Error('failed');
  }
  const url = await serve((head, exchange) => {
    exchange.readBody(0, () => {
      void exchange.sendStream(200, 'text/plain', { bytes: null, pieces: failing(head.path === '/late' ? 3 : 0) });
    });
  });
  expect((await fetchFrom(`${url}/early`)).status).toBe(500);
  await expect(fetchFrom(`${url}/late`)).rejects.toThrow(/aborted|ECONNRESET/);
  expect(crashes).toHaveLength(2);
  // The thread lives on.
  expect((await fetchFrom(`${url}/early`)).status).toBe(500);
});

test('A client that has gone ends its stream, and is reported to a handler that waits for its body', async () => {
  let isCancelled = false;
  let isGone = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield await Promise.resolve(Buffer.alloc(60_000));
    } finally {
      isCancelled = true;
    }
  }
  const url = await serve((head, exchange) => {
    if (head.path === '/stream')
      exchange.readBody(0, () => void exchange.sendStream(200, 'text/plain', { bytes: null, pieces: endless() }));
    else
      exchange.readBody(
        1_000_000,
        () => {},
        undefined,
        () => (isGone = true),
      );
  });
  const streaming = httpGet(`${url}/stream`, { agent: false });
  const [answer] = (await once(streaming, 'response')) as [IncomingMessage];
  await once(answer, 'data');
  answer.destroy();
  await expect.poll(() => isCancelled).toBe(true);
  const uploading = request(url, { agent: false, method: 'POST', headers: { 'content-length': 500_000 } });
  uploading.on('error', () => {});
  uploading.write(Buffer.alloc(10_000));
  await expect.poll(() => transport?.connections?.open).toBe(1);
  uploading.destroy();
  await expect.poll(() => isGone).toBe(true);
  await expect.poll(() => transport?.connections?.open).toBe(0);
});

test('A paused request is read on when its pause ends', async () => {
  let end = (): void => {};
  let pieces = 0;
  const url = await serve((_head, exchange) => {
    const pause = new Promise<void>((resolve) => (end = resolve));
    exchange.readBody(
      8_000_000,
      (body) => exchange.send(200, 'text/plain', String(body?.length)),
      () => (++pieces === 1 ? pause : null),
    );
  });
  const bytes = 5_000_000;
  let answer: IncomingMessage | null = null;
  const uploading = request(url, { agent: false, method: 'POST', headers: { 'content-length': bytes } });
  uploading.on('response', (arrived: IncomingMessage) => (answer = arrived));
  uploading.write(Buffer.alloc(1_000));
  await expect.poll(() => pieces).toBe(1);
  // The pause is on its way to the thread.
  await new Promise((done) => setTimeout(done, 50));
  uploading.end(Buffer.alloc(bytes - 1_000));
  await new Promise((done) => setTimeout(done, 200));
  expect([pieces, answer]).toEqual([1, null]);
  end();
  await expect.poll(() => answer?.statusCode).toBe(200);
});

test('A handler that throws loses only its request', async () => {
  const url = await serve((head, exchange) => {
    if (head.path === '/throws') throw new Error('trapped');
    exchange.readBody(10, () => {
      if (head.path === '/later') throw new Error('trapped later');
      exchange.send(200, 'text/plain', 'fine');
    });
  });
  const statuses: unknown[] = [];
  for (const path of ['/throws', '/later', '/']) statuses.push((await fetchFrom(url + path)).status);
  expect(statuses).toEqual([500, 500, 200]);
});

test('While this thread reads nothing, requests wait up to a bound, and further ones are refused', async () => {
  const url = await serve((_head, exchange) =>
    exchange.readBody(1_000_000, () => exchange.send(200, 'text/plain', 'read')),
  );
  const { Worker } = await import('node:worker_threads');
  const refused = new SharedArrayBuffer(4);
  // In another thread, because this one stands still until a request is refused.
  const client = new Worker(
    `const { workerData: { url, refused }, parentPort } = require('node:worker_threads');
     const ask = (bytes) => fetch(url, { method: 'POST', body: new Uint8Array(bytes) }).then((answer) => answer.status, () => 0);
     const large = Array.from({ length: 60 }, () => ask(900000));
     const timer = setInterval(async () => {
       if ((await ask(10)) !== 429 || Atomics.exchange(new Int32Array(refused), 0, 1) !== 0) return;
       clearInterval(timer);
       Atomics.notify(new Int32Array(refused), 0);
       parentPort.postMessage(await Promise.all(large));
     }, 20);`,
    { eval: true, workerData: { url, refused } },
  );
  const statuses = once(client, 'message') as Promise<[number[]]>;
  await once(client, 'online');
  expect(Atomics.wait(new Int32Array(refused), 0, 0, 20_000)).toBe('ok');
  const [large] = await statuses;
  expect(large.filter((status) => status === 200).length).toBeGreaterThan(10);
  await client.terminate();
  expect((await fetchFrom(url)).status).toBe(200);
});

test('A port that another server has is refused', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const options = {
    host: '127.0.0.1',
    port,
    tls: null,
    trustedProxies: new TrustedProxies([]),
    onRequest() {},
    onCrash() {},
  };
  expect(await listen('uws', options, { count: 2, trustedProxies: [] })).toEqual({
    kind: 'refused',
    code: 'EADDRINUSE',
  });
  other.close();
});
