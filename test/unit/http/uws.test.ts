import { TrustedProxies } from '../../../src/http/trusted-proxies.ts';
import { expect, test } from 'vitest';
import type { Exchange, StreamedBody } from '../../../src/http/exchange.ts';
import { listenUws } from '../../../src/http/uws.ts';
import { ANSWER_PIECE_BYTES } from '../../../src/kernel/limits.ts';
import type { UwsModule, UwsRequest, UwsResponse } from '../../../src/http/uws-types.ts';

/** A response whose socket takes `perTurn` bytes at a time. */
class NarrowResponse {
  body = '';
  headers = 0;
  readonly writes: number[] = [];
  bufferedMax = 0;
  isEnded = false;
  buffered = 0;
  #room: number;
  readonly #perTurn: number;
  #onWritable: (offset: number) => boolean = () => true;
  #onAborted = (): void => {};

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
    this.#room = perTurn;
  }

  onAborted(handler: () => void): this {
    this.#onAborted = handler;
    return this;
  }

  onWritable(handler: (offset: number) => boolean): this {
    this.#onWritable = handler;
    return this;
  }

  cork(work: () => void): this {
    work();
    this.#flush();
    return this;
  }

  writeHeader(): this {
    this.headers++;
    return this;
  }

  getWriteOffset(): number {
    return this.body.length;
  }

  tryEnd(part: Uint8Array, total: number): [boolean, boolean] {
    const taken = Buffer.from(part).toString('latin1', 0, this.#room);
    this.#room -= taken.length;
    this.body += taken;
    return [taken.length === part.length, this.body.length === total];
  }

  /** Takes each chunk, as the library does, and buffers what the socket does not take. */
  write(chunk: Uint8Array): boolean {
    this.writes.push(chunk.length);
    this.buffered += chunk.length;
    this.bufferedMax = Math.max(this.bufferedMax, this.buffered);
    this.#flush();
    return this.buffered === 0;
  }

  end(): void {
    this.isEnded = true;
  }

  #flush(): void {
    const taken = Math.min(this.buffered, this.#room);
    this.buffered -= taken;
    this.#room -= taken;
  }

  /** Simulates that the client has read everything so far. */
  drain(): void {
    this.#room = this.#perTurn;
    this.#onWritable(this.body.length);
  }

  abort(): void {
    this.#onAborted();
  }
}

async function exchangeOn(res: NarrowResponse): Promise<Exchange> {
  let given: Exchange | null = null;
  let handle = (_res: UwsResponse, _req: UwsRequest): void => {};
  const app = {
    any: (_path: string, handler: typeof handle) => (handle = handler),
    listen: (_host: string, _port: number, _options: number, done: (socket: object) => void) => done({}),
  };
  const uws = { App: () => app, us_socket_local_port: () => 1, LIBUS_LISTEN_EXCLUSIVE_PORT: 0 };
  await listenUws(uws as unknown as UwsModule, {
    host: '',
    port: 0,
    tls: null,
    trustedProxies: new TrustedProxies([]),
    onRequest: (_head, exchange) => (given = exchange),
    onCrash: () => {},
  });
  const req = { forEach: () => {}, getCaseSensitiveMethod: () => 'GET', getUrl: () => '/', getQuery: () => undefined };
  handle(res as unknown as UwsResponse, req);
  if (given === null) throw new Error('there was no request');
  return given;
}

const PIECES = ['one ', 'and another ', 'and the last'].map((text) => Buffer.from(text));
const WHOLE = 'one and another and the last';
/** Yields each piece in a turn of its own. */
function inTurns(bytes: number | null, pieces: readonly Uint8Array[] = PIECES): StreamedBody {
  async function* given(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) {
      await settle();
      yield piece;
    }
  }
  return { bytes, pieces: given() };
}
const settle = (): Promise<void> => new Promise((done) => setImmediate(done));

test('A response in pieces resumes where the socket stopped, each piece after the one before', async () => {
  const res = new NarrowResponse(5);
  const exchange = await exchangeOn(res);
  const progress = { isSent: false };
  const sending = exchange.sendStream(200, 'text/plain', inTurns(WHOLE.length)).then(() => (progress.isSent = true));
  while (!progress.isSent) {
    expect(WHOLE.startsWith(res.body)).toBe(true);
    res.drain();
    await settle();
  }
  await sending;
  expect([res.body, res.headers, exchange.aborted]).toEqual([WHOLE, 1, true]);
});

test('A response in pieces ends when the client disconnects in the middle', async () => {
  const res = new NarrowResponse(5);
  const exchange = await exchangeOn(res);
  const sending = exchange.sendStream(200, 'text/plain', inTurns(WHOLE.length));
  await settle();
  res.abort();
  await sending;
  expect(res.body.length).toBeLessThan(WHOLE.length);
});

test('A response in chunks never buffers more than one piece and a little, however little the socket takes at a time', async () => {
  const res = new NarrowResponse(2_500);
  const exchange = await exchangeOn(res);
  const pieces = Array.from({ length: 20 }, () => Buffer.alloc(100_000));
  const sending = exchange.sendStream(200, 'text/plain', inTurns(null, pieces));
  for (let turn = 0; !res.isEnded && turn < 10_000; turn++) {
    await settle();
    res.drain();
  }
  await sending;
  expect(res.writes.reduce((sum, bytes) => sum + bytes, 0)).toBe(2_000_000);
  expect([res.headers, res.isEnded, exchange.aborted]).toEqual([1, true, true]);
  expect(res.bufferedMax).toBeLessThanOrEqual(ANSWER_PIECE_BYTES + 1_024);
});

test('Buffered bytes of a chunk leave while the source waits for its next piece', async () => {
  const res = new NarrowResponse(2_500);
  const exchange = await exchangeOn(res);
  async function* waiting(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(10_000);
    await new Promise(() => {});
  }
  void exchange.sendStream(200, 'text/plain', { bytes: null, pieces: waiting() });
  await settle();
  expect(res.buffered).toBe(7_500);
  for (let turn = 0; turn < 3; turn++) {
    res.drain();
    await settle();
  }
  expect([res.buffered, res.isEnded]).toEqual([0, false]);
});
