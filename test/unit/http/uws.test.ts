import { TrustedProxies } from '../../../src/base/trusted-proxies.ts';
import { expect, test } from 'vitest';
import type { Exchange } from '../../../src/base/exchange.ts';
import { listenUws } from '../../../src/http/uws.ts';
import type { UwsModule, UwsRequest, UwsResponse } from '../../../src/http/uws-types.ts';

/** A response whose socket takes so many bytes at a time. */
class NarrowResponse {
  body = '';
  headers = 0;
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

  /** The client has read. */
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
  const req = { forEach: () => {}, getCaseSensitiveMethod: () => 'GET', getUrl: () => '/', getQuery: () => '' };
  handle(res as unknown as UwsResponse, req);
  if (given === null) throw new Error('there was no request');
  return given;
}

const PIECES = ['one ', 'and another ', 'and the last'].map((text) => Buffer.from(text));
const WHOLE = 'one and another and the last';
const settle = (): Promise<void> => new Promise((done) => setImmediate(done));

test('pieces go on where the socket took no more, each behind the one before', async () => {
  const res = new NarrowResponse(5);
  const exchange = await exchangeOn(res);
  const progress = { isSent: false };
  const sending = exchange.sendPieces(200, 'text/plain', PIECES, settle).then(() => (progress.isSent = true));
  while (!progress.isSent) {
    expect(WHOLE.startsWith(res.body)).toBe(true);
    res.drain();
    await settle();
  }
  await sending;
  expect([res.body, res.headers, exchange.aborted]).toEqual([WHOLE, 1, true]);
});

test('a client that goes away in the middle ends it', async () => {
  const res = new NarrowResponse(5);
  const exchange = await exchangeOn(res);
  const sending = exchange.sendPieces(200, 'text/plain', PIECES, settle);
  await settle();
  res.abort();
  await sending;
  expect(res.body.length).toBeLessThan(WHOLE.length);
});
