import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { afterEach, describe, expect, test } from 'vitest';
import {
  createGuardedClient,
  type GuardedClient,
  type GuardedClientOptions,
} from '../../../src/egress/guarded-client.ts';
import { BodyCutError } from '../../../src/egress/faults.ts';
import type { EgressOutcome, EgressRequest } from '../../../src/egress/egress-outcome.ts';
import {
  answer,
  type HostileServer,
  type Respond,
  startForgetful,
  startHostile,
  startResponder,
} from '../../support/hostile-server.ts';
import { IS_FULL } from '../../support/long.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function kept<T extends { close(): unknown }>(made: T | Promise<T>): Promise<T> {
  const one = await made;
  open.push(one);
  return one;
}

const ok: Respond = (socket) => answer(socket, '200 OK', 'ok');
const serve = (respond: Respond = ok, host?: string): Promise<HostileServer> => kept(startResponder(respond, host));
const client = (options: GuardedClientOptions = {}): Promise<GuardedClient> =>
  kept(createGuardedClient({ allow: ['127.0.0.0/8'], ...options }));

const post = (url: string, more: Partial<EgressRequest> = {}): EgressRequest => ({
  url,
  method: 'POST',
  body: '{"score":97}',
  timeoutMs: 3_000,
  connectMs: 1_000,
  responseBytesMax: 65_536,
  ...more,
});

const statusOf = (outcome: EgressOutcome): number | string =>
  outcome.kind === 'response' ? outcome.status : outcome.error;

describe('request', () => {
  test('a request is sent as given, and its response is returned completely', async () => {
    const server = await serve((socket) =>
      socket.write(
        'HTTP/1.1 201 Created\r\nX-Part: a\r\nx-part: b\r\nX-One: c\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n',
      ),
    );
    const guarded = await client();
    const headers = {
      'Content-Type': 'application/json',
      'X-SVC-Sig': 'abc',
      Host: 'elsewhere.test',
      connection: 'upgrade',
    };
    const outcome = await guarded.request(
      post(`${server.url}/a/b?c=d%20e#part`, { headers, body: Buffer.from('{"a":"é"}') }),
    );
    expect(outcome).toMatchObject({ kind: 'response', status: 201, reused: false, remoteAddress: '127.0.0.1' });
    if (outcome.kind !== 'response') return;
    expect(outcome.headers).toMatchObject({ 'x-part': ['a', 'b'], 'x-one': 'c' });
    expect(outcome.body.toString()).toBe('abcde');
    const [sent] = server.requests();
    expect(sent?.head.split('\r\n')).toEqual([
      'POST /a/b?c=d%20e HTTP/1.1',
      `host: 127.0.0.1:${server.port}`,
      'connection: keep-alive',
      'Content-Type: application/json',
      'X-SVC-Sig: abc',
      'content-length: 10',
    ]);
    expect(sent?.body.toString()).toBe('{"a":"é"}');
  });

  describe('with a body larger than the buffer', () => {
    const long = (socket: Socket, bytes: number, sent = bytes): unknown =>
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(sent)}`);
    const ask = async (
      server: HostileServer,
      guarded: GuardedClient,
      more: Partial<EgressRequest> = {},
    ): Promise<{ readonly body: Buffer; readonly rest: Readable }> => {
      const outcome = await guarded.request(
        post(server.url, { method: 'GET', body: null, responseBytesMax: 2 ** 26, wholeBytesMax: 2 ** 20, ...more }),
      );
      if (outcome.kind !== 'response' || outcome.rest === undefined) throw new Error(`no rest: ${statusOf(outcome)}`);
      return { body: outcome.body, rest: outcome.rest };
    };
    const bytesOf = async (rest: Readable): Promise<number> => {
      let bytes = 0;
      for await (const chunk of rest as AsyncIterable<Buffer>) bytes += chunk.length;
      return bytes;
    };

    test('the rest of a large body is streamed while it arrives, and its connection is reused afterwards', async () => {
      const server = await serve((socket) => long(socket, 20_000_000));
      const guarded = await client();
      for (let i = 0; i < 2; i++) {
        const { body, rest } = await ask(server, guarded);
        expect(body.length).toBeLessThanOrEqual(2 ** 20);
        expect(body.length + (await bytesOf(rest))).toBe(20_000_000);
      }
      expect(guarded.stats()).toMatchObject({ inFlight: 0, connectionsOpened: 1, connectionsReused: 1 });
    });

    test('a body that just fits into the buffer is returned without a rest', async () => {
      const server = await serve((socket) => long(socket, 2 ** 20));
      const outcome = await (
        await client()
      ).request(post(server.url, { responseBytesMax: 2 ** 26, wholeBytesMax: 2 ** 20 }));
      expect(outcome).not.toHaveProperty('rest');
      expect(outcome.kind === 'response' && outcome.body.length).toBe(2 ** 20);
    });

    test("the time that the reader takes does not count towards the request's timeout", async () => {
      const server = await serve((socket) => long(socket, 12_000_000));
      const guarded = await client();
      const { body, rest } = await ask(server, guarded, { timeoutMs: 1_500 });
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      expect(body.length + (await bytesOf(rest))).toBe(12_000_000);
    });

    test('small chunks that arrive together are joined into one', async () => {
      const server = await serve((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${(2_000_000).toString(16)}\r\n`);
        socket.write(`${'x'.repeat(2_000_000)}\r\n${'1\r\nx\r\n'.repeat(200_000)}0\r\n\r\n`);
      });
      const { body, rest } = await ask(server, await client());
      let [pieces, bytes] = [0, body.length];
      for await (const piece of rest as AsyncIterable<Buffer>) {
        pieces++;
        bytes += piece.length;
      }
      expect(bytes).toBe(2_200_000);
      expect(pieces).toBeLessThan(1_000);
    });

    test('a body whose connection is reset loses none of the bytes that arrived before', async () => {
      const server = await serve((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${'x'.repeat(1_100_000)}`);
        let bursts = 0;
        const timer = setInterval(() => {
          if (++bursts < 20) socket.write('x'.repeat(10_000));
          else {
            clearInterval(timer);
            socket.resetAndDestroy();
          }
        }, 5);
      });
      const guarded = await client();
      for (const pauseMs of [0, 5, 200]) {
        const { body, rest } = await ask(server, guarded);
        let bytes = body.length;
        const read = async (): Promise<number> => {
          for await (const piece of rest as AsyncIterable<Buffer>) {
            bytes += piece.length;
            if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
          }
          return bytes;
        };
        const ended = await read().catch((error: unknown) => (error instanceof BodyCutError ? 'cut' : String(error)));
        expect([1_290_000, 'cut']).toContain(ended);
      }
    });

    test('a large body is read no faster than its reader takes it, and destroying it closes the connection', async () => {
      const server = await serve((socket) => long(socket, 60_000_000));
      const guarded = await client();
      const { rest } = await ask(server, guarded);
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(rest.readableLength).toBeLessThanOrEqual(5);
      expect(server.bytesTaken()).toBeLessThan(20_000_000);
      rest.destroy();
      await expect.poll(() => server.open()).toBe(0);
      expect(guarded.stats()).toMatchObject({ inFlight: 0, sockets: 0 });
    });

    test.each([
      ['its time is up', 'timeout', {}, (_server: HostileServer, _guarded: GuardedClient): unknown => null],
      [
        'the client is closed',
        'shutdown',
        { timeoutMs: 30_000 },
        (_server: HostileServer, guarded: GuardedClient) => guarded.close(),
      ],
    ])('the rest of a body fails with a BodyCutError when %s', async (_what, error, more, then) => {
      const server = await serve((socket) => long(socket, 3_000_000, 2_000_000));
      const guarded = await client();
      const { rest } = await ask(server, guarded, { timeoutMs: 500, ...more });
      then(server, guarded);
      await expect(bytesOf(rest)).rejects.toMatchObject({ fault: { error } });
      expect(guarded.stats().inFlight).toBe(0);
    });

    test.each([
      ['more comes than may', 'response_too_large', (socket: Socket): unknown => socket.write('x'.repeat(3_000_000))],
      ['the other side breaks off', 'connection_reset', (socket: Socket): unknown => socket.end()],
    ])('the rest of a body fails with a BodyCutError when %s', async (_what, error, then) => {
      const server = await serve((socket) => {
        socket.write(
          `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${(4_000_000).toString(16)}\r\n${'x'.repeat(2_000_000)}`,
        );
        setTimeout(() => then(socket), 100);
      });
      const guarded = await client();
      const { rest } = await ask(server, guarded, { responseBytesMax: 3_500_000 });
      await expect(bytesOf(rest)).rejects.toMatchObject({ fault: { error } });
      expect(guarded.stats().inFlight).toBe(0);
    });
  });

  test('a request that discards the body counts its bytes and keeps none', async () => {
    const server = await serve((socket) => answer(socket, '200 OK', 'x'.repeat(5000)));
    const guarded = await client();
    const kept = await guarded.request(post(server.url, { discardBody: true, responseBytesMax: 5000 }));
    expect(kept.kind === 'response' && kept.body.length).toBe(0);
    expect(statusOf(await guarded.request(post(server.url, { discardBody: true, responseBytesMax: 4999 })))).toBe(
      'response_too_large',
    );
  });

  test.each(['Content-Length', 'content-length'])(
    'a request that discards the body fails at once when %s announces too much',
    async (name) => {
      const server = await serve((socket) => socket.write(`HTTP/1.1 200 OK\r\nX-A: b\r\n${name}: 5000\r\n\r\n`));
      const guarded = await client();
      const request = post(server.url, { discardBody: true, responseBytesMax: 4999, timeoutMs: 60_000 });
      expect(statusOf(await guarded.request(request))).toBe('response_too_large');
    },
  );

  test('a body of exactly the size limit is accepted, with Content-Length or in chunks, and a body one byte longer is not', async () => {
    const chunked: Respond = (socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(3000)}0\r\n\r\n`);
    for (const respond of [chunked, ((socket) => answer(socket, '200 OK', 'x'.repeat(3000))) as Respond]) {
      const server = await serve(respond);
      const guarded = await client();
      expect(statusOf(await guarded.request(post(server.url, { responseBytesMax: 3000 })))).toBe(200);
      expect(statusOf(await guarded.request(post(server.url, { responseBytesMax: 2999 })))).toBe('response_too_large');
    }
  });

  test('the response to HEAD has no body, whatever Content-Length it has', async () => {
    const server = await serve((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n'));
    const guarded = await client();
    expect(await guarded.request(post(server.url, { method: 'HEAD', body: null }))).toMatchObject({ status: 200 });
  });

  test('a request with a header that cannot be sent rejects and costs no connection', async () => {
    const server = await serve();
    const guarded = await client();
    for (const headers of [{ 'x-a': 'b\r\nx-c: d' }, { 'x a': 'b' }, { 'x-a': 'b\u0000' }])
      await expect(guarded.request(post(server.url, { headers }))).rejects.toThrow(TypeError);
    expect(statusOf(await guarded.request(post(server.url)))).toBe(200);
    expect(guarded.stats()).toMatchObject({ inFlight: 0, sockets: 1, connectionsOpened: 1 });
  });
});

describe('connections', () => {
  test('a connection is kept and reused', async () => {
    const server = await serve();
    const guarded = await client();
    const reused: boolean[] = [];
    for (let i = 0; i < 20; i++) {
      const outcome = await guarded.request(post(server.url));
      if (outcome.kind === 'response') reused.push(outcome.reused);
    }
    expect(reused).toEqual([false, ...Array.from({ length: 19 }, () => true)]);
    expect(server.connections()).toBe(1);
    expect(guarded.stats()).toEqual({
      connectionsOpened: 1,
      connectionsReused: 19,
      blockedAddresses: 0,
      inFlight: 0,
      sockets: 1,
      origins: 1,
    });
  });

  test('an origin never has more connections than allowed, and further requests wait in order', async () => {
    const order: string[] = [];
    const server = await serve((socket, { body }) => {
      order.push(body.toString());
      setTimeout(() => answer(socket, '200 OK', ''), 5);
    });
    const guarded = await client({ connectionsPerOriginMax: 3 });
    const bodies = Array.from({ length: 30 }, (_, i) => String(i).padStart(2, '0'));
    const all = Promise.all(bodies.map((body) => guarded.request(post(server.url, { body }))));
    expect(guarded.stats()).toMatchObject({ inFlight: 30, sockets: 3 });
    expect((await all).map(statusOf)).toEqual(bodies.map(() => 200));
    expect(server.connections()).toBe(3);
    expect(order.slice(3)).toEqual(order.slice(3).toSorted());
  });

  test('requests that wait behind a hanging receiver time out at their own deadlines', async () => {
    const server = await serve(() => {});
    const healthy = await serve();
    const guarded = await client({ connectionsPerOriginMax: 2 });
    const hanging = Array.from({ length: 6 }, () => guarded.request(post(server.url, { timeoutMs: 200 })));
    expect(statusOf(await guarded.request(post(healthy.url)))).toBe(200);
    const outcomes = await Promise.all(hanging);
    expect(outcomes.map(statusOf)).toEqual(outcomes.map(() => 'timeout'));
    // One after the other on two connections, six would take 600 ms at least.
    for (const { durationMs } of outcomes) expect(durationMs).toBeGreaterThanOrEqual(200);
    expect(Math.max(...outcomes.map(({ durationMs }) => durationMs))).toBeLessThan(
      Math.min(...outcomes.map(({ durationMs }) => durationMs)) + 200,
    );
    expect(guarded.stats().inFlight).toBe(0);
  });

  test('the number of connections to a thousand origins is bounded', async () => {
    const server = await serve(ok, '0.0.0.0');
    const guarded = await client({ idleSocketsMax: 50 });
    const hosts = Array.from({ length: 1000 }, (_, i) => `127.1.${i >> 8}.${i & 255}`);
    for (let from = 0; from < hosts.length; from += 100) {
      const some = hosts
        .slice(from, from + 100)
        .map((host) => guarded.request(post(`http://${host}:${server.port}/`, { timeoutMs: 60_000 })));
      expect(new Set((await Promise.all(some)).map(statusOf))).toEqual(new Set([200]));
      expect(guarded.stats().sockets).toBeLessThanOrEqual(50);
      expect(guarded.stats().origins).toBeLessThanOrEqual(50);
    }
    expect(guarded.stats().connectionsOpened).toBe(1000);
    await expect.poll(() => server.open()).toBeLessThanOrEqual(50);
  });

  test('failed connections leave no state behind, however many origins they belong to', async () => {
    const guarded = await client({ connect: () => new Socket().destroy(new Error('no route')) });
    for (let from = 0; from < (IS_FULL ? 20_000 : 4_000); from += 1000) {
      const some = Array.from({ length: 1000 }, (_, i) => {
        const number = from + i;
        return guarded.request(post(`http://8.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}/`));
      });
      await Promise.all(some);
    }
    expect(guarded.stats()).toMatchObject({ sockets: 0, origins: 0, inFlight: 0 });
  });

  test('a connection that the server wants closed is not kept', async () => {
    const server = await serve((socket) => answer(socket, '200 OK', 'ok', 'Connection: close\r\n'));
    const guarded = await client();
    for (let i = 0; i < 3; i++)
      expect(await guarded.request(post(server.url))).toMatchObject({ status: 200, reused: false });
    expect(guarded.stats()).toMatchObject({ sockets: 0, origins: 0, connectionsOpened: 3 });
  });

  test('an idle connection that the server closes is dropped, and the next request does not notice', async () => {
    const server = await serve((socket) => {
      answer(socket, '200 OK', 'ok');
      setTimeout(() => socket.destroy(), 10);
    });
    const guarded = await client();
    expect(statusOf(await guarded.request(post(server.url)))).toBe(200);
    await expect.poll(() => guarded.stats().sockets).toBe(0);
    expect(statusOf(await guarded.request(post(server.url)))).toBe(200);
  });
});

describe('a kept connection that ends before a response begins', () => {
  test('an idempotent request is sent once more on a new connection when its kept connection ends before a response', async () => {
    const server = await kept(startForgetful(1));
    const guarded = await client();
    for (let i = 0; i < 4; i++)
      expect(await guarded.request(post(server.url, { idempotent: true }))).toMatchObject({
        status: 200,
        reused: false,
      });
    expect(server.connections()).toBe(4);
    expect(server.requests()).toHaveLength(7);
  });

  test('a request that is not idempotent fails when its kept connection ends before a response', async () => {
    const server = await kept(startForgetful(1));
    const guarded = await client();
    expect(statusOf(await guarded.request(post(server.url)))).toBe(200);
    expect(statusOf(await guarded.request(post(server.url)))).toBe('connection_reset');
    expect(server.requests()).toHaveLength(2);
  });

  test('a request is never sent a third time, and a new connection is never tried twice', async () => {
    const server = await serve((socket, { number }) =>
      number === 1 ? answer(socket, '200 OK', '') : socket.destroy(),
    );
    const guarded = await client();
    await guarded.request(post(server.url, { idempotent: true }));
    expect(statusOf(await guarded.request(post(server.url, { idempotent: true })))).toBe('connection_reset');
    expect(server.requests()).toHaveLength(3);
    expect(statusOf(await guarded.request(post(server.url, { idempotent: true })))).toBe('connection_reset');
    expect(server.requests()).toHaveLength(4);
  });

  test('a request is not sent again when its kept connection ends within the response', async () => {
    const server = await serve((socket, { numberOnConnection }) => {
      if (numberOnConnection === 1) answer(socket, '200 OK', '');
      else socket.end('HTTP/1.1 200 OK\r\nContent-Le');
    });
    const guarded = await client();
    await guarded.request(post(server.url, { idempotent: true }));
    expect(statusOf(await guarded.request(post(server.url, { idempotent: true })))).toBe('connection_reset');
    expect(server.requests()).toHaveLength(2);
  });

  test('the second sending of a request has only what is left of its deadline', async () => {
    const server = await serve((socket, { number, numberOnConnection }) => {
      if (number === 1) answer(socket, '200 OK', '');
      else if (numberOnConnection > 1) setTimeout(() => socket.destroy(), 1_000);
    });
    const guarded = await client();
    await guarded.request(post(server.url));
    const outcome = await guarded.request(post(server.url, { idempotent: true, timeoutMs: 2_000 }));
    expect(statusOf(outcome)).toBe('timeout');
    expect(outcome.durationMs).toBeLessThan(2_900);
    expect(server.requests()).toHaveLength(3);
  });
});

describe('the client as a whole', () => {
  test('the client does not call its own service, even if loopback is allowed', async () => {
    const own = await kept(startHostile('answers'));
    const other = await kept(startHostile('answers'));
    const guarded = await client();
    expect(statusOf(await guarded.request(post(own.url)))).toBe(200);
    guarded.setForbidden([{ host: '127.0.0.1', port: own.port }]);
    const spellings = ['127.0.0.1', '127.1', '2130706433', '[::ffff:127.0.0.1]', '0.0.0.0', 'localhost'];
    for (const host of spellings) {
      const outcome = await guarded.request(post(`http://${host}:${own.port}/`));
      expect([host, statusOf(outcome)]).toEqual([host, 'blocked_address']);
    }
    expect(own.requests()).toHaveLength(1);
    expect(statusOf(await guarded.request(post(other.url)))).toBe(200);
  });

  test('closing the client ends running and waiting requests, and later requests are refused', async () => {
    const server = await serve(() => {});
    const guarded = await client({ connectionsPerOriginMax: 1 });
    const underWay = [guarded.request(post(server.url)), guarded.request(post(server.url))];
    await expect.poll(() => server.requests().length).toBe(1);
    const connecting = guarded.request(post('http://127.0.0.1:1/'));
    guarded.close();
    expect((await Promise.all([...underWay, connecting])).map(statusOf)).toEqual(['shutdown', 'shutdown', 'shutdown']);
    expect(statusOf(await guarded.request(post(server.url)))).toBe('shutdown');
    await expect.poll(() => [server.open(), guarded.stats().sockets]).toEqual([0, 0]);
  });

  test('the client cannot be created with an invalid network', () => {
    expect(() => createGuardedClient({ allow: ['10/8'] })).toThrow(TypeError);
  });
});
