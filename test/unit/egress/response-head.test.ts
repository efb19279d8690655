import * as fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { createGuardedClient } from '../../../src/egress/guarded-client.ts';
import type { EgressOutcome } from '../../../src/egress/egress-outcome.ts';
import { type HeadStep, ResponseHead } from '../../../src/egress/response-head.ts';
import { type HostileServer, startResponder } from '../../support/hostile-server.ts';

const BYTES_MAX = 4_096;

/** Adds the chunks until the head is complete, and returns what the parser gets, including the chunks after that. */
function read(chunks: readonly Buffer[]): { readonly step: HeadStep; readonly text: string } {
  const head = new ResponseHead(BYTES_MAX);
  for (const [i, chunk] of chunks.entries()) {
    const step = head.add(chunk);
    if (step.kind === 'incomplete') continue;
    const bytes = step.kind === 'complete' ? Buffer.concat([step.bytes, ...chunks.slice(i + 1)]) : Buffer.alloc(0);
    return { step, text: bytes.toString('latin1') };
  }
  return { step: { kind: 'incomplete' }, text: '' };
}

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');
const readWhole = (text: string): ReturnType<typeof read> => read([bytesOf(text)]);
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

describe('ResponseHead', () => {
  test.each([
    ['with a length', OK],
    ['without headers', 'HTTP/1.0 404 \r\n\r\n'],
    [
      'with chunks and other characters than ASCII',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Text: \xe9\t"a"\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    ['of 3,000 bytes', `HTTP/1.1 200 OK\r\nX-Long: ${'a'.repeat(3_000)}\r\nContent-Length: 2\r\n\r\nok`],
  ])('a head %s that the parser accepts is passed on unchanged', (_name, text) => {
    expect(readWhole(text)).toMatchObject({ step: { kind: 'complete', isRepaired: false }, text });
  });

  test.each([
    ['one response 100', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['a hundred responses', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)],
    [
      'two responses with headers',
      'HTTP/1.1 102 Processing\r\nX-Part: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 9\r\n\r\n',
    ],
    ['a response with bare line feeds', 'HTTP/1.1 199 What\n\n'],
    ['a response between empty lines', '\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\r\n'],
  ])('%s before the final one, all informational, are dropped', (_name, before) => {
    expect(readWhole(before + OK)).toMatchObject({ step: { isRepaired: false }, text: OK });
    expect(readWhole(before).step.kind).toBe('incomplete');
  });

  test.each([
    ['Content-Length: 2\r\ncontent-length: 2', 'Content-Length: 2'],
    ['Content-Length: 2, 2', 'Content-Length: 2'],
    ['Content-Length: 2\r\nTransfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
    ['Set-Cookie: a=b\r\n  c=d; Path=/', 'Set-Cookie: a=b c=d; Path=/'],
    ['X-A: a\r\n\tb\r\n \r\n c', 'X-A: a b  c'],
    ['Content-Length:\r\n 2', 'Content-Length: 2'],
    ['X-A : a', 'X-A: a'],
    ['X-A: a\nX-B: b', 'X-A: a\r\nX-B: b'],
    ['X-A: a\rX-B: b\0c\x01', 'X-A: a X-B: b c'],
    ['X-A: a\r\nno header\r\nTwo words: b\r\n: c\r\nX-D: d', 'X-A: a\r\nX-D: d'],
  ])('headers that browsers read are repaired: %j becomes %j', (sent, right) => {
    const { step, text } = readWhole(`HTTP/1.1 200 OK\r\n${sent}\r\n\r\nbody`);
    expect(step).toMatchObject({ kind: 'complete', isRepaired: true });
    expect(text).toBe(`HTTP/1.1 200 OK\r\n${right}\r\n\r\nbody`);
  });

  test('a line that continues the status line sets no header', () => {
    expect(readWhole('HTTP/1.1 200 OK\r\n X-A: a\r\nX-B: b\r\n\r\n').text).toBe(
      'HTTP/1.1 200 OK X-A: a\r\nX-B: b\r\n\r\n',
    );
  });

  test.each([
    ['two different lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n', 'bad_response'],
    ['a list of different lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\n', 'bad_response'],
    ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\n', 'bad_response'],
    ['a 101 without headers', 'HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\n\r\n', 'bad_response'],
    ['a status below 100', 'HTTP/1.1 020 OK\r\n\r\n', 'bad_response'],
    ['200 informational responses', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(200), 'response_too_large'],
    ['a long head', `HTTP/1.1 200 OK\r\nX-Long: ${'a'.repeat(BYTES_MAX)}\r\n\r\n`, 'response_too_large'],
    ['a long head without an end', `HTTP/1.1 200 OK\r\nX-Long: ${'a'.repeat(BYTES_MAX)}`, 'response_too_large'],
  ])('a response with %s is a fault', (_name, text, error) => {
    expect(readWhole(text).step).toMatchObject({ kind: 'fault', error });
  });

  test.each(['S', 'SSH-2.0-other\r\n', '\0\x01', ' HTTP/1.1 200 OK\r\n\r\n', 'http/1.1 200 OK'])(
    'bytes that are not HTTP are passed on at once, to be refused by the parser: %j',
    (text) => {
      expect(readWhole(text)).toMatchObject({ step: { kind: 'complete' }, text });
    },
  );

  test('wherever the bytes are split, the result is the same', () => {
    const part = fc.constantFrom(
      'HTTP/1.1 100 Continue\r\n\r\n',
      'HTTP/1.1 103 Early Hints\nLink: </a>\r\n\n',
      '\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok',
      'HTTP/1.1 200 OK\nX-A: a\r\n b\nContent-Length: 2\n\nok\n\n',
      'HTTP/1.1 101 Switching\r\n\r\n',
      'HTTP/1.1 20',
      'SSH-2.0\r\n\r\n',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), fc.array(fc.nat(200)), fc.boolean(), (parts, cuts, isBytes) => {
        const bytes = bytesOf(parts.join(''));
        const at = isBytes ? bytes.map((_, i) => i) : cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b);
        const edges = [0, ...at, bytes.length];
        const chunks = edges.slice(1).map((edge, i) => bytes.subarray(edges[i], edge));
        const split = read(chunks);
        const whole = read([bytes]);
        expect([split.step.kind, split.text]).toEqual([whole.step.kind, whole.text]);
      }),
      { numRuns: 500 },
    );
  });
});

describe('responses of servers', () => {
  const open: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });

  const serve = async (respond: Parameters<typeof startResponder>[0]): Promise<HostileServer> => {
    const server = await startResponder(respond);
    open.push(server);
    return server;
  };
  const ask = async (server: HostileServer, times = 1): Promise<readonly EgressOutcome[]> => {
    const client = createGuardedClient({ allow: ['127.0.0.0/8'] });
    open.push(client);
    const outcomes: EgressOutcome[] = [];
    for (let i = 0; i < times; i++)
      outcomes.push(
        await client.request({
          url: server.url,
          method: 'POST',
          body: '{"score":97}',
          timeoutMs: 10_000,
          connectMs: 1_000,
          responseBytesMax: 65_536,
          idempotent: true,
        }),
      );
    return outcomes;
  };
  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

  test.each([100, 102, 103])(
    'a response after an unasked %i is read on the first attempt, byte by byte too, and its connection is reused',
    async (status) => {
      const text = `HTTP/1.1 ${status} Wait\r\nX-A: b\r\n\r\n${OK}`;
      const server = await serve((socket, { number }) => {
        const write = (at: number): void => {
          socket.write(text.slice(at, at + 1));
          if (at + 1 < text.length) setTimeout(() => write(at + 1), 1);
        };
        if (number > 1) socket.write(text);
        else write(0);
      });
      expect(await ask(server, 3)).toMatchObject([
        { status: 200, body: Buffer.from('ok'), reused: false },
        { status: 200, body: Buffer.from('ok'), reused: true },
        { status: 200, body: Buffer.from('ok'), reused: true },
      ]);
      expect(server.requests()).toHaveLength(3);
    },
  );

  test('a connection that ends after an informational response fails, and the request is not sent again', async () => {
    const server = await serve((socket, { number }) => (number === 1 ? socket.write(OK) : socket.end(CONTINUE)));
    expect(await ask(server, 2)).toMatchObject([{ status: 200 }, { error: 'connection_reset' }]);
    expect(server.requests()).toHaveLength(2);
  });

  test('a connection whose response head was repaired serves no further request', async () => {
    const server = await serve((socket) => socket.write(OK.replace('Content-Length: 2', '$&\r\n$&')));
    expect(await ask(server, 2)).toMatchObject([
      { status: 200, body: Buffer.from('ok'), reused: false },
      { status: 200, body: Buffer.from('ok'), reused: false },
    ]);
    expect(server.connections()).toBe(2);
  });

  test('a response that arrives before its request is refused', async () => {
    const server = await serve((socket) => {
      socket.write(OK);
      setTimeout(() => socket.write(OK.replace('ok', 'no')), 5);
    });
    const [first] = await ask(server);
    expect(first).toMatchObject({ status: 200, body: Buffer.from('ok') });
    await expect.poll(() => server.open()).toBe(0);
  });
});
