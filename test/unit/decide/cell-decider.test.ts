import { expect, test } from 'vitest';
import { KeyCache } from '../../../src/auth/key-cache.ts';
import { CellDecider, type CellDecisions } from '../../../src/decide/cell-decider.ts';
import type { Journal } from '../../../src/decide/journal.ts';
import { AnswerReader, AnswerWriter, BatchReader, createBatchBuffer } from '../../../src/frames/batch-buffer.ts';
import type { Exchange, RequestHead } from '../../../src/http/exchange.ts';
import { ColdHeaders } from '../../../src/kernel/cold-headers.ts';
import { LocalAdmission } from '../../../src/local/local-admission.ts';
import { ReplayGuard } from '../../../src/local/replay-guard.ts';
import type { AdmittedId } from '../../../src/ports/admission.ts';
import { fakeClock, HEAD, PUBLIC_KEY, SECRET_KEY, signedHead, storedKey } from './support.ts';

const BODY = Buffer.from('{"ip":"192.0.2.1"}');

function setUp() {
  const keyCache = new KeyCache();
  keyCache.load([storedKey(SECRET_KEY)]);
  const journalled: AdmittedId[] = [];
  let staged: AdmittedId[] = [];
  const state = {
    diskIsFull: false,
    throws: false,
    recordThrows: false,
    hasModel: false,
    isBehind: false,
    broken: null as string | null,
  };
  const faults: unknown[] = [];
  const journal: Pick<Journal, 'stage' | 'commit' | 'broken'> = {
    get broken() {
      return state.broken;
    },
    stage: (id) => void staged.push(id),
    commit() {
      if (!state.diskIsFull) journalled.push(...staged);
      staged = [];
      return !state.diskIsFull;
    },
  };
  const frames = [createBatchBuffer()];
  const writers = frames.map((frame) => new AnswerWriter(frame));
  const readers = frames.map((frame) => new BatchReader(frame));
  const recorded: CellDecisions[] = [];
  const order: string[] = [];
  const ids = new ReplayGuard(1_024, Buffer.alloc(16));
  const decider = new CellDecider({
    clock: fakeClock(),
    keyCache,
    refreshKeys: () => {},
    admission: new LocalAdmission(ids, journal),
    journal: journal as Journal,
    hasModel: () => state.hasModel,
    isBehind: () => state.isBehind,
    frames,
    score({ frame, count }) {
      if (state.throws) return Promise.reject(new Error('trapped'));
      writers[frame]?.reset();
      for (let at = 0; at < count; at++) {
        const isOk = readers[frame]?.body(at).toString() !== '{';
        writers[frame]?.write(at, {
          status: isOk ? 200 : 400,
          decision: 0,
          flags: 0,
          score: 0,
          rulesLow: 0,
          rulesHigh: 0,
          text: isOk ? '{"latency_ms":' : '{"status":400,"code":"malformed_json","title":"t","detail":"d"}',
          record: Buffer.from(`record ${at}`),
        });
      }
      return Promise.resolve();
    },
    outputOf: (frame) => writers[frame]?.written() ?? new Uint8Array(0),
    report: (error) => void faults.push(error),
    record(decisions) {
      if (state.recordThrows) throw new Error('trapped');
      order.push('recorded');
      recorded.push(decisions);
    },
    close: () => Promise.resolve(),
  });
  /** Resolves to the status of the response, or to the body that was handed to the main thread. */
  const ask = async (body: Buffer = BODY, head: RequestHead = headOf(body)): Promise<number | string> => {
    if (!decider.wants(head)) return 'not wanted';
    return new Promise((resolve) => {
      const exchange: Partial<Exchange> = {
        remoteAddress: () => '198.51.100.1',
        send(status) {
          if (status === 200 && head.svcRequestId.startsWith('trap')) throw new Error('trapped');
          order.push(`sent ${status}`);
          resolve(status);
        },
      };
      decider.take(head, exchange as Exchange, body, (forwarded) => resolve(Buffer.from(forwarded).toString()));
    });
  };
  return { ask, decider, state, journalled, recorded, order, faults, keyCache };
}

let requests = 0;
function headOf(body: Buffer, requestId = `request-${++requests}`, key = SECRET_KEY): RequestHead {
  return signedHead({ svcKey: key, svcRequestId: requestId, contentLength: body.length }, { body: body.toString() });
}

test('A decision is journalled, then recorded, then answered', async () => {
  const { ask, journalled, recorded, order } = setUp();
  expect(await Promise.all([ask(), ask()])).toEqual([200, 200]);
  expect(journalled).toHaveLength(2);
  expect(order).toEqual(['recorded', 'sent 200', 'sent 200']);
  const answers = new AnswerReader(createBatchBuffer());
  const [{ output, keys } = { output: new Uint8Array(0), keys: [] }] = recorded;
  answers.fill(output);
  expect(keys.map((_key, at) => answers.record(at).toString())).toEqual(['record 0', 'record 1']);
});

test('A wrong body is answered here: its request has used up its id', async () => {
  const { ask, journalled, recorded } = setUp();
  expect(await ask(Buffer.from('{'))).toBe(400);
  expect([journalled.length, recorded.length]).toEqual([1, 1]);
});

test('What the cell would refuse goes to the main thread: an unknown key, a wrong signature, a replay, a rate', async () => {
  const { ask, keyCache } = setUp();
  const head = headOf(BODY);
  expect(await ask(BODY, head)).toBe(200);
  expect(await ask(BODY, head)).toBe(BODY.toString());
  expect(await ask(BODY, { ...headOf(BODY), svcSignature: '0'.repeat(64) })).toBe(BODY.toString());
  expect(await ask(BODY, headOf(BODY, 'of-a-visitor', PUBLIC_KEY))).toBe(BODY.toString());
  keyCache.load([storedKey(SECRET_KEY, { rateLimit: 1 })]);
  expect(await ask()).toBe(BODY.toString());
  keyCache.load([]);
  expect(await ask()).toBe(BODY.toString());
});

test('It wants only small, plain requests, and none while there is a model or too much is unrecorded', async () => {
  const { ask, state } = setUp();
  const head = headOf(BODY);
  const cold = (name: string): ColdHeaders => new ColdHeaders([name, 'https://shop.example']);
  for (const change of [
    { path: '/v1/simulate' },
    { method: 'GET' },
    { contentLength: 4_097 },
    { svcRequestId: '' },
    { cold: cold('origin') },
    { cold: cold('idempotency-key') },
  ])
    expect(await ask(BODY, { ...head, ...change })).toBe('not wanted');
  expect(HEAD.path).toBe('/v1/decide');
  for (const reason of ['hasModel', 'isBehind'] as const) {
    state[reason] = true;
    expect(await ask(BODY, head)).toBe('not wanted');
    state[reason] = false;
  }
  expect(await ask(BODY, head)).toBe(200);
});

test.each(['diskIsFull', 'throws', 'recordThrows'] as const)(
  'A batch that fails (%s) is decided by the main thread, with the same ids',
  async (fault) => {
    const { ask, state, recorded, faults } = setUp();
    state[fault] = true;
    const head = headOf(BODY);
    expect(await ask(BODY, head)).toBe(BODY.toString());
    expect(recorded).toEqual([]);
    expect(faults).toHaveLength(fault === 'diskIsFull' ? 0 : 1);
    state[fault] = false;
    expect(await ask(BODY, head)).toBe(200);
  },
);

test('A response that throws costs only its request, which is recorded, and not decided again', async () => {
  const { ask, recorded, faults } = setUp();
  const outcomes = await Promise.all([ask(), ask(BODY, headOf(BODY, 'trap-1')), ask()]);
  expect(outcomes).toEqual([200, 500, 200]);
  expect(recorded.map(({ keys }) => keys.length)).toEqual([3]);
  expect(faults).toEqual([new Error('trapped')]);
  expect(await ask()).toBe(200);
});

test('While the journal is broken the main thread decides', async () => {
  const { ask, state, journalled } = setUp();
  state.broken = 'no space';
  expect(await ask()).toBe(BODY.toString());
  expect(journalled).toEqual([]);
});

test('Requests beyond the batches that may wait go to the main thread', async () => {
  const { ask } = setUp();
  const outcomes = await Promise.all(Array.from({ length: 33 }, () => ask()));
  expect(outcomes.filter((outcome) => outcome === 200)).toHaveLength(32);
  expect(outcomes.at(-1)).toBe(BODY.toString());
});

test('A close waits until everything is answered', async () => {
  const { ask, decider } = setUp();
  const asked = ask();
  await decider.close();
  expect(await Promise.race([asked, Promise.resolve('unanswered')])).toBe(200);
});
