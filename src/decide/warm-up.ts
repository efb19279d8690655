import { createHmac, hash } from 'node:crypto';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { Clock } from '../kernel/clock.ts';
import { NO_COLD_HEADERS } from '../kernel/cold-headers.ts';
import type { Exchange, Handler, RequestHead } from '../http/exchange.ts';
import { REQUEST_WARM_UP } from '../frames/batch-buffer.ts';
import type { ScorePool } from '../frames/score-pool.ts';
import type { Admission } from '../ports/admission.ts';
import { QUEUE_PLACE_BYTES } from '../kernel/limits.ts';
import type { CellDecider, CellDeciderParts } from './cell-decider.ts';
import { FailedAuthentications } from './failed-authentications.ts';
import type { Journal } from './journal.ts';
import { KeyCache } from '../auth/key-cache.ts';
import type { DecideObserver } from './observer.ts';
import { createDecidePipeline } from './pipeline.ts';
import { canonicalText } from '../auth/signature.ts';
import { WARM_UP_BODIES } from './warm-up-bodies.ts';
import { sendOver } from './warm-up-sockets.ts';

/**
 * Sends synthetic requests through the decide path before the service reports ready, so that the first real requests run compiled code.
 * They take the real path (sockets, verification, admission, batches, the score workers), but with separate instances of everything
 * stateful: key, admission, journal, decision log, metrics. The workers count them in a velocity store that is discarded.
 * Nothing of them is left behind.
 */
export interface WarmUpParts {
  readonly clock: Clock;
  readonly pool: ScorePool;
  /** Used by the warm-up alone; has room for `WARM_UP_IDS`. */
  readonly admission: Admission;
  /** An observer whose counts nobody reads. */
  readonly observer: DecideObserver;
  /** Listens on the loopback with the transport that serves; null if it cannot. Without it, requests bypass the transport. */
  readonly listen: (onRequest: Handler) => Promise<WarmUpListener | null>;
}

export interface WarmUpListener {
  readonly port: number;
  close(): void;
}

export interface WarmUpResult {
  readonly requests: number;
  /** Connections over which they were sent; 0 if they bypassed the transport. */
  readonly connections: number;
  readonly ms: number;
}

/** Choice: V8 optimises code that has run some thousand times. Measured: docs/decisions/decide.md. */
const REQUESTS = 4_096;
/** The table of request ids lets one key hold half of it. */
export const WARM_UP_IDS = REQUESTS * 4;
/** Choice: a slower machine becomes ready without the remaining requests. */
const WARM_UP_MS_MAX = 1_500;
/** Choice: a usual batch of a busy server. */
const REQUESTS_PER_TURN = 8;
const IN_FLIGHT = 64;
/** Choice: further requests, so few at a time that the main thread scores them itself and compiles that code too. */
const INLINE_REQUESTS = 2_048;
const INLINE_IN_FLIGHT = 2;
const ALL_REQUESTS = REQUESTS + INLINE_REQUESTS;
const KEY_NUMBER = 1;
/** Used by no customer: numbers begin at 1. */
const NO_CUSTOMER = 0 as CustomerNumber;
const KEY = `sk_live_${'0'.repeat(38)}`;

export async function warmUp(parts: WarmUpParts): Promise<WarmUpResult> {
  const { pool, observer } = parts;
  const clock = stoppedClock(parts.clock.nowMs());
  const pipeline = createDecidePipeline({
    clock,
    keyCache: warmUpKeys(),
    admission: parts.admission,
    failures: new FailedAuthentications(),
    visitorSource: (address) => address,
    journal: NO_JOURNAL,
    pool,
    decisionSink: { decided: () => {} },
    due: { decided: () => {}, committed: () => {} },
    observer,
    flags: REQUEST_WARM_UP,
  });
  const handler = pipeline.route.methods.POST;
  const startedAtMs = performance.now();
  const listener = await parts.listen(handler);
  const untilMs = startedAtMs + WARM_UP_MS_MAX;
  let answered: number;
  try {
    if (listener === null) answered = await callHandler(handler, clock, untilMs);
    else {
      const textAt = (n: number): Buffer => requestText(n, clock);
      const { port } = listener;
      answered = await sendOver(port, textAt, { requests: REQUESTS, sockets: IN_FLIGHT, untilMs });
      if (pool.inlineBatches !== undefined)
        answered += await sendOver(port, (n) => textAt(REQUESTS + n), {
          requests: INLINE_REQUESTS,
          sockets: INLINE_IN_FLIGHT,
          untilMs,
        });
    }
  } finally {
    listener?.close();
  }
  await pipeline.drain();
  const connections = listener === null ? 0 : IN_FLIGHT;
  return { requests: answered, connections, ms: Math.round(performance.now() - startedAtMs) };
}

/** What the warm-up of a cell replaces. */
export type CellWarmUpParts = Pick<CellDeciderParts, 'clock' | 'keyCache' | 'journal' | 'flags' | 'record' | 'close'>;

/**
 * Sends the same requests to a decider that `open` makes for them, in the thread that will decide. They bypass its transport. Resolves to
 * the number of answers when nothing of them is left in the batch buffers.
 */
export async function warmUpCell(nowMs: number, open: (parts: CellWarmUpParts) => CellDecider): Promise<number> {
  const clock = stoppedClock(nowMs);
  const decider = open({
    clock,
    keyCache: warmUpKeys(),
    journal: NO_JOURNAL,
    flags: REQUEST_WARM_UP,
    record: () => {},
    close: () => Promise.resolve(),
  });
  const handler: Handler = (head, exchange) => {
    exchange.readBody(QUEUE_PLACE_BYTES, (body) => {
      if (body !== null) decider.take(head, exchange, body, () => exchange.send(500, '', ''));
    });
  };
  const answered = await callHandler(handler, clock, performance.now() + WARM_UP_MS_MAX);
  await decider.close();
  return answered;
}

function warmUpKeys(): KeyCache {
  const keyCache = new KeyCache();
  keyCache.load([
    {
      hash: hash('sha256', KEY, 'hex'),
      kind: 'secret',
      customer: NO_CUSTOMER,
      number: KEY_NUMBER,
      prefix: KEY.slice(0, 12),
      rateLimit: ALL_REQUESTS,
      revokedAtSeconds: null,
      origins: [],
    },
  ]);
  return keyCache;
}

/** Calls the handler directly, without a transport. */
async function callHandler(handler: Handler, clock: Clock, untilMs: number): Promise<number> {
  let sent = 0;
  let answered = 0;
  while (sent < REQUESTS && performance.now() < untilMs) {
    for (let n = 0; n < REQUESTS_PER_TURN && sent - answered < IN_FLIGHT; n++) {
      const body = bodyOf(sent);
      handler(headOf(sent++, body, clock), new WarmUpExchange(body, () => answered++));
    }
    await new Promise((done) => setImmediate(done));
  }
  return answered;
}

function bodyOf(n: number): Uint8Array {
  return WARM_UP_BODIES[n % WARM_UP_BODIES.length] ?? WARM_UP_BODIES[0];
}

/** Returns the request as it is sent over a socket. */
function requestText(n: number, clock: Clock): Buffer {
  const body = bodyOf(n);
  const { svcTimestamp, svcRequestId, svcSignature } = headOf(n, body, clock);
  const head = [
    'POST /v1/decide HTTP/1.1',
    'Host: 127.0.0.1',
    `X-SVC-Key: ${KEY}`,
    `X-SVC-Ts: ${svcTimestamp}`,
    `X-SVC-Rid: ${svcRequestId}`,
    `X-SVC-Sig: ${svcSignature}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    '',
  ];
  return Buffer.concat([Buffer.from(head.join('\r\n'), 'latin1'), body]);
}

/** A separate clock: a clock that follows timestamps must not follow synthetic ones. */
function stoppedClock(nowMs: number): Clock {
  return { nowMs: () => nowMs, observe: () => {}, followsTimestamps: false };
}

const NO_JOURNAL: Journal = {
  broken: null,
  stage: () => {},
  commit: () => true,
  prune: () => {},
  tend: () => Promise.resolve(),
  close: () => {},
};

function headOf(n: number, body: Uint8Array, clock: Clock): RequestHead {
  const svcTimestamp = String(Math.floor(clock.nowMs() / 1_000));
  const svcRequestId = `warm-up-${n}`;
  const text = canonicalText('POST', '/v1/decide', svcTimestamp, hash('sha256', body, 'hex'), svcRequestId);
  return {
    method: 'POST',
    path: '/v1/decide',
    query: '',
    target: '/v1/decide',
    svcKey: KEY,
    svcTimestamp,
    svcRequestId,
    svcSignature: createHmac('sha256', KEY).update(text).digest('hex'),
    authorization: '',
    contentType: 'application/json',
    host: '127.0.0.1',
    cold: NO_COLD_HEADERS,
    contentLength: body.length,
    lengthFault: null,
    formFault: null,
    params: {},
  };
}

/** Accepts a response and discards it. */
class WarmUpExchange implements Exchange {
  aborted = false;
  readonly #body: Uint8Array;
  readonly #onAnswer: () => void;

  constructor(body: Uint8Array, onAnswer: () => void) {
    this.#body = body;
    this.#onAnswer = onAnswer;
  }

  remoteAddress(): string {
    return '127.0.0.1';
  }

  peerAddress(): string {
    return '127.0.0.1';
  }

  pauseUntil(): void {}

  readBody(_bytesMax: number, done: (body: Uint8Array | null) => void): void {
    done(this.#body);
  }

  addFields(): void {}

  sendStream(): Promise<void> {
    this.send();
    return Promise.resolve();
  }

  send(): void {
    if (this.aborted) return;
    this.aborted = true;
    this.#onAnswer();
  }
}
